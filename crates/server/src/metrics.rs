//! Counters in Prometheus' text form.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

/// Upper bounds of the duration buckets in seconds.
const BUCKETS: [f64; 8] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0];

#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) connections: AtomicI64,
    pub(crate) refused_connections: AtomicU64,
    routes: Mutex<BTreeMap<(&'static str, &'static str, u16), Series>>,
}

#[derive(Clone, Copy, Default)]
struct Series {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

impl Metrics {
    pub(crate) fn served(
        &self,
        method: &'static str,
        route: &'static str,
        status: u16,
        took: Duration,
    ) {
        let seconds = took.as_secs_f64();
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let series = routes.entry((method, route, status)).or_default();
        series.count += 1;
        series.seconds += seconds;
        for (bucket, bound) in series.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// `work` is how many transactions shared how many commits, where the store knows.
    pub(crate) fn render(&self, work: Option<(u64, u64)>) -> String {
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
        let _ = writeln!(out, "# TYPE campanile_request_seconds histogram");
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        for ((method, route, status), series) in routes.iter() {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            for (count, bound) in series.buckets.iter().zip(BUCKETS) {
                let _ = writeln!(
                    out,
                    "campanile_request_seconds_bucket{{{labels},le=\"{bound}\"}} {count}"
                );
            }
            let Series { count, seconds, .. } = series;
            let _ = writeln!(
                out,
                "campanile_request_seconds_bucket{{{labels},le=\"+Inf\"}} {count}\n\
                 campanile_request_seconds_sum{{{labels}}} {seconds}\n\
                 campanile_request_seconds_count{{{labels}}} {count}"
            );
        }
        out
    }
}
