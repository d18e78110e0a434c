//! Who may do what: every route with every credential, every kind of id and every brand.

mod cases;
mod client;
mod credentials;
mod expected;
mod request;
mod world;

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

pub(crate) use self::credentials::unknown_key;
use self::{
    cases::{Brand, Case, Credential, Door},
    client::Client,
    expected::Expected,
    world::World,
};
use crate::lab::{Lab, Reply, both};

const THREADS: usize = 4;
const FEWEST_CASES: usize = 8_000;

both! {
    fn every_route_treats_every_caller_as_the_contract_says(lab: Lab) {
        let world = World::make(&lab);
        let before = world.what_the_neighbour_sees();
        let cases = cases::all();
        let (started, findings) = (Instant::now(), Findings::default());

        run(&world, &cases, &findings);

        let took = started.elapsed();
        // Past the test runner, which keeps what a test prints to itself.
        let engine = lab.engine;
        writeln!(std::io::stderr(), "{} cases on {engine:?} in {took:.1?}", cases.len()).unwrap();
        assert!(cases.len() >= FEWEST_CASES, "only {} cases", cases.len());
        findings.report();
        assert_eq!(world.what_the_neighbour_sees(), before, "the neighbour's things have changed");
        world.expect_no_traces_in_the_neighbours_log();
    }
}

/// What went wrong, and which refusals must not differ.
#[derive(Default)]
struct Findings {
    wrong: Mutex<Vec<String>>,
    refusals: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
}

impl Findings {
    fn add(&self, text: String) {
        self.wrong.lock().unwrap().push(text);
    }

    /// Keeps one answer for things that are not there, to be compared with the others.
    fn compare(&self, group: String, case: &Case, reply: &Reply) {
        let mut refusals = self.refusals.lock().unwrap();
        refusals.entry(group).or_default().insert(anonymous(reply), case.to_string());
    }

    fn report(&self) {
        let mut wrong = std::mem::take(&mut *self.wrong.lock().unwrap());
        for (group, answers) in &*self.refusals.lock().unwrap() {
            if answers.len() > 1 {
                wrong.push(format!("{group}: answers differ: {answers:#?}"));
            }
        }
        let shown = wrong.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n\n");
        assert!(wrong.is_empty(), "{} findings, among them:\n{shown}", wrong.len());
    }
}

/// Status, headers and body without what names this one request.
fn anonymous(reply: &Reply) -> String {
    let request_id = reply.header("x-request-id").unwrap_or("none");
    let body = reply.text().replace(request_id, "…");
    let headers = reply.headers.iter().filter(|(name, _)| name != "date" && name != "x-request-id");
    format!("{} {:?} {body}", reply.status, headers.collect::<Vec<_>>())
}

fn run(world: &World<'_>, cases: &[Case], findings: &Findings) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut client = Client::new(world.lab);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { break };
                    judge(world, number, case, &mut client, findings);
                }
            });
        }
    });
}

fn judge(
    world: &World<'_>,
    number: usize,
    case: &Case,
    client: &mut Client<'_>,
    findings: &Findings,
) {
    let expected = expected::of(world, case);
    let request = world.request(number, case, &expected, client);

    let reply = client.call(&request);

    let said = format!("{case}\n{request:?}\nexpected {expected:?}, got {}", reply.text());
    if let Err(why) = check(case, &expected, &reply) {
        findings.add(format!("{why}\n{said}"));
    }
    let answer = format!("{:?}\n{}", reply.headers, reply.text());
    if let Some(canary) = world.canaries.iter().find(|canary| answer.contains(canary.as_str())) {
        findings.add(format!("{canary} has got out\n{said}"));
    }
    if expected.hides {
        findings.compare(format!("{} {}", case.variant, case.door), case, &reply);
    }
    if case.brand == Brand::Foreign && reply.code() == "brand_not_found" {
        findings.compare("a brand out of reach".to_owned(), case, &reply);
    }
}

fn check(case: &Case, expected: &Expected, reply: &Reply) -> Result<(), String> {
    let told = |what: &str| Err(what.to_owned());
    if reply.status != expected.status {
        return Err(format!("status {} instead of {}", reply.status, expected.status));
    }
    let Some(code) = &expected.code else { return Ok(()) };
    let body = &reply.json;
    if !(code.is_empty() || reply.code() == *code) {
        return Err(format!("code {} instead of {code}", reply.code()));
    }
    if reply.header("content-type") != Some("application/problem+json") {
        return told("not a problem document");
    }
    if body["status"] != reply.status || !body["detail"].is_string() || !body["errors"].is_array() {
        return told("an incomplete problem document");
    }
    if body["request_id"].as_str() != reply.header("x-request-id") {
        return told("two different request ids");
    }
    if reply.status == 401 && !reply.header("www-authenticate").unwrap_or("").starts_with("Bearer")
    {
        return told("no word about how to authenticate");
    }
    if *code == "insufficient_scope" {
        let granted = match &case.credential {
            Credential::Scope(scope) => serde_json::json!([scope]),
            other => return Err(format!("{other:?} has no scopes")),
        };
        if body["granted_scopes"] != granted {
            return told("wrong granted_scopes");
        }
        if body["required_scopes"] != serde_json::json!(expected.required) {
            return Err(format!("required_scopes are not {:?}", expected.required));
        }
    }
    if case.door == Door::Internal && reply.code() == "api_key_required" {
        return told("the internal door asks for a key");
    }
    Ok(())
}
