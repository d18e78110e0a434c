//! Counters in Prometheus' text form.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use campanile_store::publish::queue::Ages;

/// Upper bounds of the duration buckets in seconds.
const BUCKETS: [f64; 8] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0];

#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) connections: AtomicI64,
    pub(crate) refused_connections: AtomicU64,
    routes: RwLock<BTreeMap<Name, Arc<Series>>>,
}

/// Method, route and status.
type Name = (&'static str, &'static str, u16);

#[derive(Default)]
struct Series {
    micros: AtomicU64,
    /// Requests up to each bound that were longer than the bound before, and the rest.
    buckets: [AtomicU64; BUCKETS.len() + 1],
}

impl Metrics {
    pub(crate) fn served(
        &self,
        method: &'static str,
        route: &'static str,
        status: u16,
        took: Duration,
    ) {
        let series = self.series((method, route, status));
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        series.micros.fetch_add(micros, Ordering::Relaxed);
        let seconds = took.as_secs_f64();
        let bucket = BUCKETS.iter().position(|bound| seconds <= *bound).unwrap_or(BUCKETS.len());
        series.buckets[bucket].fetch_add(1, Ordering::Relaxed);
    }

    fn series(&self, name: Name) -> Arc<Series> {
        let known = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(&name) {
            return series.clone();
        }
        drop(known);
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.entry(name).or_default().clone()
    }

    /// `work` is how many transactions shared how many commits, where the store knows; `ages`
    /// is how long publishing is behind.
    pub(crate) fn render(&self, work: Option<(u64, u64)>, ages: &Ages) -> String {
        let mut out = String::new();
        let open = self.connections.load(Ordering::Relaxed);
        let refused = self.refused_connections.load(Ordering::Relaxed);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "# TYPE campanile_connections gauge\ncampanile_connections {open}");
        let _ = writeln!(
            out,
            "# TYPE campanile_refused_connections_total counter\n\
             campanile_refused_connections_total {refused}"
        );
        if let Some((transactions, commits)) = work {
            let _ = writeln!(
                out,
                "# TYPE campanile_store_transactions_total counter\n\
                 campanile_store_transactions_total {transactions}\n\
                 # TYPE campanile_store_commits_total counter\n\
                 campanile_store_commits_total {commits}"
            );
        }
        for (name, age) in [
            ("campanile_publish_oldest_due_seconds", ages.oldest_due),
            ("campanile_publish_oldest_undecided_seconds", ages.oldest_undecided),
        ] {
            let seconds = age.map_or(0.0, |age| age as f64 / 1000.0);
            let _ = writeln!(out, "# TYPE {name} gauge\n{name} {seconds}");
        }
        let _ = writeln!(out, "# TYPE campanile_request_seconds histogram");
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        for ((method, route, status), series) in routes.iter() {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            series.render(&labels, &mut out);
        }
        out
    }
}

impl Series {
    fn render(&self, labels: &str, out: &mut String) {
        let mut count = 0;
        let bounds = BUCKETS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bucket, bound) in self.buckets.iter().zip(bounds) {
            count += bucket.load(Ordering::Relaxed);
            let _ = writeln!(
                out,
                "campanile_request_seconds_bucket{{{labels},le=\"{bound}\"}} {count}"
            );
        }
        let seconds = Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64();
        let _ = writeln!(
            out,
            "campanile_request_seconds_sum{{{labels}}} {seconds}\n\
             campanile_request_seconds_count{{{labels}}} {count}"
        );
    }
}
