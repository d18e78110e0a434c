//! `GET /whoami` and `GET /posts` against a bare route that returns the same bytes.

use tokio::runtime::Runtime;

use crate::{
    Outcome, bare,
    load::{Contender, Pace, race},
    report::{Target, line, number, section},
    request,
    service::{BASE, Log, Service},
    store::{Engine, Store},
};

pub(crate) const CONNECTIONS: usize = 32;
pub(crate) const WHOAMI: &str = "/whoami";
pub(crate) const LIST: &str = "/posts?limit=50";

pub(crate) fn measure(runtime: &Runtime, stores: &[Store<'_>], pace: &Pace) -> Outcome {
    section("Against a bare axum route with the same bytes, 32 connections, 100,000 posts");
    for store in stores {
        let engine = store.engine;
        let list_target = match engine {
            Engine::Sqlite => Target::AtLeast(15.0),
            Engine::Postgres => Target::AtLeast(8.0),
        };
        let service = Service::start(store, Log::Info)?;
        let yard = Yard { runtime, store, service: &service, pace };
        yard.compare(&format!("whoami, {engine}"), WHOAMI, Target::AtLeast(80.0))?;
        yard.compare(&format!("list, {engine}"), LIST, list_target)?;
        service.stop()?;
        // What the line per request costs: to know it is to know where time goes.
        let service = Service::start(store, Log::Warn)?;
        let yard = Yard { runtime, store, service: &service, pace };
        yard.compare(&format!("whoami, {engine}, log=warn"), WHOAMI, Target::None)?;
        service.stop()?;
    }
    Ok(())
}

/// Where one service and a bare one run side by side.
struct Yard<'a> {
    runtime: &'a Runtime,
    store: &'a Store<'a>,
    service: &'a Service,
    pace: &'a Pace,
}

impl Yard<'_> {
    fn compare(&self, name: &str, path: &str, target: Target) -> Outcome {
        let body = request::body(self.service.address, &format!("{BASE}{path}"), &self.store.key)?;
        let bytes = number(body.len() as f64);
        let route = path.split('?').next().unwrap_or(path);
        let address = bare::serve_bytes(self.runtime, &format!("{BASE}{route}"), body)?;
        let ours = self.store.contender(self.service, path, CONNECTIONS);
        let bare = Contender { address, pid: std::process::id(), ..ours.clone() };
        let speeds = race(&[bare, ours], self.pace)?;
        let [bare, ours] = speeds.as_slice() else { return Err("a contender is missing".into()) };
        let detail = format!("{bytes} bytes: {}; bare {}", ours.shown(), bare.shown());
        line(name, &detail, ours.times(bare) * 100.0, " %", target);
        Ok(())
    }
}
