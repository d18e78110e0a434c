//! Clients: each tells one story of a post after the other, and writes down what it was answered.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use campanile_model::time::{self, HOUR, Millis, SECOND};
use serde_json::{Value, json};

use crate::{api::Reply, chance::Chance, diary::Entry, now, world::World};

pub(crate) struct Client {
    world: Arc<World>,
    chance: Chance,
}

impl Client {
    pub(crate) fn new(world: Arc<World>, number: u64) -> Self {
        let chance = Chance::new(world.seed, &format!("client {number}"));
        Self { world, chance }
    }

    pub(crate) async fn work(mut self) {
        while !self.world.stop.load(Ordering::Relaxed) {
            let entry = self.story().await;
            self.world.keep(entry);
            self.pause(0, 800).await;
        }
    }

    async fn story(&mut self) -> Entry {
        let mut entry = self.invent();
        match self.chance.below(100) {
            0..30 => drop(self.schedule(&mut entry).await),
            30..48 => self.publish_now(&mut entry).await,
            48..62 => self.edit(&mut entry).await,
            62..74 => self.cancel(&mut entry).await,
            74..86 => self.reschedule(&mut entry).await,
            86..94 => self.delete(&mut entry).await,
            _ => self.change_mind(&mut entry).await,
        }
        entry
    }

    /// A new post to one or several accounts, sometimes a thread.
    fn invent(&mut self) -> Entry {
        let names: Vec<&String> = self.world.connections.keys().collect();
        let wanted = if self.chance.percent(70) { 1 } else { 2 + self.chance.index(2) };
        let mut accounts: Vec<String> = Vec::new();
        while accounts.len() < wanted {
            let name = names[self.chance.index(names.len())];
            if !accounts.contains(name) {
                accounts.push(name.clone());
            }
        }
        let parts = if self.chance.percent(12) { 2 } else { 1 };
        Entry::new(self.world.next_number(), accounts, parts, now())
    }

    fn document(&self, entry: &Entry) -> Value {
        let options = match entry.parts {
            1 => json!({}),
            _ => json!({ "thread": [entry.text(1)] }),
        };
        let connection = |name: &String| self.world.connections.get(name);
        let targets = entry.accounts.iter().filter_map(connection);
        let targets = targets.map(|id| json!({ "connection_id": id, "options": options }));
        json!({ "content": entry.text(0), "targets": targets.collect::<Vec<_>>() })
    }

    /// Plans the post for a few seconds ahead. `None` when its time had passed before the
    /// service could be reached: then there is no such post.
    async fn schedule(&mut self, entry: &mut Entry) -> Option<Millis> {
        let ahead = self.chance.between(1_200, 5_000);
        self.schedule_at(entry, now() + Millis::try_from(ahead).unwrap_or(0)).await
    }

    async fn schedule_at(&mut self, entry: &mut Entry, at: Millis) -> Option<Millis> {
        let mut document = self.document(entry);
        document["scheduled_at"] = json!(time::format(at));
        let reply = self.world.api.ask("POST", "/posts", Some(&document)).await;
        match reply.status {
            201 => {
                entry.id = text(&reply.json["post"]["id"]);
                entry.planned = true;
                entry.not_before = at;
                Some(at)
            }
            422 if now() > at - SECOND => None,
            _ => self.unexpected("planning", &reply),
        }
    }

    async fn publish_now(&mut self, entry: &mut Entry) {
        let document = self.document(entry);
        let reply = self.world.api.ask("POST", "/posts", Some(&document)).await;
        if reply.status != 201 {
            return self.unexpected("writing", &reply).unwrap_or_default();
        }
        entry.id = text(&reply.json["post"]["id"]);
        self.send_out(entry).await;
    }

    async fn send_out(&mut self, entry: &mut Entry) {
        let path = format!("/posts/{}/publish-now", entry.id);
        let reply = self.world.api.ask("POST", &path, None).await;
        match reply.status {
            202 => entry.planned = true,
            _ => self.unexpected("publishing now", &reply).unwrap_or_default(),
        }
    }

    async fn edit(&mut self, entry: &mut Entry) {
        // The parts of a thread stand in the targets, which stay as they are.
        entry.parts = 1;
        let Some(due) = self.schedule(entry).await else { return };
        while now() < due + SECOND {
            self.pause(50, 700).await;
            entry.sent += 1;
            let path = format!("/posts/{}", entry.id);
            let change = json!({ "content": entry.text(0) });
            let reply = self.world.api.ask("PATCH", &path, Some(&change)).await;
            match reply.status {
                200 => entry.acknowledged = entry.sent,
                409 => return,
                _ => return self.unexpected("editing", &reply).unwrap_or_default(),
            }
        }
    }

    async fn cancel(&mut self, entry: &mut Entry) {
        let Some(due) = self.schedule(entry).await else { return };
        let Some(job) = self.job(entry).await else { return };
        self.near(due).await;
        self.cancel_job(entry, &job).await;
    }

    async fn cancel_job(&mut self, entry: &mut Entry, job: &str) {
        entry.may_be_canceled = true;
        let reply = self.world.api.ask("DELETE", &format!("/schedule/{job}"), None).await;
        match (reply.status, reply.json["status"].as_str()) {
            (200, Some("canceled")) => entry.stopped_at = Some(now()),
            (202, Some("cancel_requested")) | (409, _) => {}
            _ => self.unexpected("canceling", &reply).unwrap_or_default(),
        }
    }

    async fn reschedule(&mut self, entry: &mut Entry) {
        let Some(mut due) = self.schedule(entry).await else { return };
        let Some(job) = self.job(entry).await else { return };
        for _ in 0..self.chance.between(1, 4) {
            self.near(due).await;
            let ahead = Millis::try_from(self.chance.between(800, 3_000)).unwrap_or(0);
            let at = now() + ahead;
            // Until it is answered, either time may be the one that counts.
            let before = entry.not_before;
            entry.not_before = before.min(at);
            let change = json!({ "scheduled_at": time::format(at) });
            let path = format!("/schedule/{job}");
            let reply = self.world.api.ask("PATCH", &path, Some(&change)).await;
            match reply.status {
                200 => (entry.not_before, due) = (at, at),
                409 => return,
                // The time had passed before the service could be reached.
                422 if now() > at - SECOND => {}
                _ => return self.unexpected("moving", &reply).unwrap_or_default(),
            }
        }
    }

    async fn delete(&mut self, entry: &mut Entry) {
        let Some(due) = self.schedule(entry).await else { return };
        self.near(due).await;
        let reply = self.world.api.ask("DELETE", &format!("/posts/{}", entry.id), None).await;
        match reply.status {
            200 => (entry.deleted, entry.stopped_at) = (true, Some(now())),
            404 if reply.repeated => (entry.deleted, entry.stopped_at) = (true, Some(now())),
            409 => {}
            _ => self.unexpected("deleting", &reply).unwrap_or_default(),
        }
    }

    /// Plans for later, cancels that, and publishes at once.
    async fn change_mind(&mut self, entry: &mut Entry) {
        if self.schedule_at(entry, now() + HOUR).await.is_none() {
            return;
        }
        let Some(job) = self.job(entry).await else { return };
        self.cancel_job(entry, &job).await;
        if entry.stopped_at.is_none() {
            return self.world.api.complain(format!("a job of tomorrow was not canceled: {job}"));
        }
        (entry.stopped_at, entry.not_before, entry.may_be_canceled) = (None, 0, false);
        self.send_out(entry).await;
    }

    async fn job(&self, entry: &Entry) -> Option<String> {
        let job = self.world.jobs(&entry.id).await.into_iter().next();
        if job.is_none() {
            self.world.api.complain(format!("{} was planned and has no job", entry.id));
        }
        job.map(|job| job.id)
    }

    /// Waits until shortly before or after a moment.
    async fn near(&mut self, at: Millis) {
        let wait = (at - now()).max(0);
        let early = Millis::try_from(self.chance.below(600)).unwrap_or(0);
        let late = self.chance.below(500);
        let wait = u64::try_from((wait - early).max(0)).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(wait + late)).await;
    }

    async fn pause(&mut self, least: u64, most: u64) {
        tokio::time::sleep(Duration::from_millis(self.chance.between(least, most))).await;
    }

    /// An answer that no client should get is a finding.
    fn unexpected<T>(&self, doing: &str, reply: &Reply) -> Option<T> {
        let Reply { status, json, .. } = reply;
        let code = reply.code();
        self.world.api.complain(format!("{doing}: {status} {code}: {json}"));
        None
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
