//! Kills processes, at random moments and at the points where it hurts most.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use campanile_engine::crash::POINTS;

use crate::{
    Outcome,
    chance::Chance,
    process::{Process, Role, Service, aborted},
};

/// A process that does not come to its point gets a random death after so long.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Killer {
    service: Arc<Service>,
    seed: u64,
    left: AtomicI64,
    deaths: Mutex<BTreeMap<&'static str, u32>>,
}

impl Killer {
    pub(crate) fn new(service: Arc<Service>, seed: u64, kills: u32) -> Self {
        let left = AtomicI64::new(i64::from(kills));
        Self { service, seed, left, deaths: Mutex::default() }
    }

    /// Kills and starts a process until there were enough kills; returns one that may live.
    pub(crate) async fn haunt(&self, role: Role) -> Outcome<Process> {
        let mut chance = Chance::new(self.seed, &format!("killer of {role:?}"));
        while self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            let name = match role {
                Role::Server => self.at_random(role, chance.between(2_000, 9_000)).await?,
                _ if chance.percent(60) => {
                    self.at_point(role, POINTS[chance.index(POINTS.len())]).await?
                }
                _ => self.at_random(role, chance.between(20, 1_600)).await?,
            };
            self.count(name);
        }
        self.service.start(role, None)
    }

    async fn at_random(&self, role: Role, millis: u64) -> Outcome<&'static str> {
        let mut process = self.service.start(role, None)?;
        if let Some(status) = process.ends_within(Duration::from_millis(millis)).await? {
            let folder = self.service.folder.display();
            return Err(format!("the service ended by itself ({status}); see {folder}").into());
        }
        process.kill().await?;
        Ok(if role == Role::Server { "server, any moment" } else { "any moment" })
    }

    async fn at_point(&self, role: Role, point: &'static str) -> Outcome<&'static str> {
        let mut process = self.service.start(role, Some(point))?;
        match process.ends_within(PATIENCE).await? {
            Some(status) if aborted(status) => Ok(point),
            Some(status) => Err(format!("the service ended by itself ({status})").into()),
            None => {
                process.kill().await?;
                Ok("any moment")
            }
        }
    }

    fn count(&self, death: &'static str) {
        let mut deaths = self.deaths.lock().unwrap_or_else(PoisonError::into_inner);
        *deaths.entry(death).or_default() += 1;
    }

    /// How often the service died of what.
    pub(crate) fn deaths(&self) -> BTreeMap<&'static str, u32> {
        self.deaths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
