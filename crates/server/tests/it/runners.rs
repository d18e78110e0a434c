//! Several processes on one PostgreSQL: one serves, another publishes, or somebody wakes it.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use campanile_model::time::SECOND;
use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, Reply, free_port, wait_until},
    publishing::{job_of, outcome, publish_now, sandbox, timeline},
    steps::{from_now, new_post, text},
};

const QUIET: (&str, &str) = ("CAMPANILE_NO_RUNNER", "true");
const RUN: &str = "/api/internal/publish-run";

fn post(lab: &Lab, words: &str) -> Value {
    let targets = json!([{ "connection_id": sandbox(lab, words) }]);
    new_post(lab, json!({ "content": words, "targets": targets }))
}

#[test]
fn what_one_process_plans_another_publishes() {
    let lab = Lab::start_with(Engine::Postgres, &[QUIET]);
    let waiting = post(&lab, "waiting");
    publish_now(&lab, &waiting);
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(text(&job_of(&lab, &waiting)["state"]), "queued", "nobody publishes here");

    let runner = lab.beside(&["runner"]);

    assert_eq!(text(&outcome(&lab, &waiting)["state"]), "succeeded");
    let connection = sandbox(&lab, "planned");
    let at = from_now(&lab, 2 * SECOND);
    let planned = new_post(
        &lab,
        json!({
            "content": "planned", "scheduled_at": at, "targets": [{ "connection_id": connection }],
        }),
    );
    let job = outcome(&lab, &planned);
    assert_eq!(text(&job["state"]), "succeeded", "{job}");
    assert!(text(&job["started_at"]) >= at.as_str(), "{job}");
    assert_eq!((timeline(&lab, "waiting").len(), timeline(&lab, "planned").len()), (1, 1));
    assert!(runner.stop().success());
}

#[test]
fn two_runners_publish_everything_once() {
    let lab = Lab::start_with(Engine::Postgres, &[QUIET]);
    let _runners = [lab.beside(&["runner"]), lab.beside(&["runner"])];
    let connection = sandbox(&lab, "news");
    let at = from_now(&lab, 3 * SECOND);
    let posts: Vec<_> = (0..120)
        .map(|number| {
            new_post(
                &lab,
                json!({
                    "content": format!("{number}"), "scheduled_at": at,
                    "targets": [{ "connection_id": connection }],
                }),
            )
        })
        .collect();
    for post in &posts {
        let job = outcome(&lab, post);
        assert_eq!(text(&job["state"]), "succeeded", "{job}");
        assert_eq!(job["targets"][0]["attempts"], 1, "{job}");
    }
    let mut words = timeline(&lab, "news");
    words.sort();
    words.dedup();
    assert_eq!((timeline(&lab, "news").len(), words.len()), (120, 120));
}

#[test]
fn a_runner_whose_clock_is_wrong_goes_by_that_of_the_database() {
    #[expect(clippy::disallowed_methods, reason = "a setting of the tests, not of the service")]
    let library = std::env::var("CAMPANILE_TEST_FAKETIME").expect("scripts/test.sh sets it");
    for wrong in ["+90s", "-90s"] {
        let clock = [
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME", wrong),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        let lab = Lab::start_with(Engine::Postgres, &[QUIET]);
        let _runner = lab.beside_with(&clock, &["runner"]);
        wait_until("it has noticed", || lab.log().contains("differs from the database's"));
        let connection = sandbox(&lab, "news");
        let at = from_now(&lab, 4 * SECOND);
        let targets = json!([{ "connection_id": connection }]);
        let planned =
            new_post(&lab, json!({ "content": "n", "scheduled_at": at, "targets": targets }));
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert_eq!(text(&job_of(&lab, &planned)["state"]), "queued", "{wrong}: not before {at}");

        let job = outcome(&lab, &planned);

        assert_eq!(text(&job["state"]), "succeeded", "{job}");
        let (started, latest) = (text(&job["started_at"]), from_now(&lab, 0));
        assert!(started >= at.as_str() && started <= latest.as_str(), "{wrong}: {job}");
    }
}

/// A figure of the metrics, which have a port of their own.
fn figure(address: &str, name: &str) -> f64 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let line = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {answer}")).trim().parse().unwrap()
}

#[test]
fn health_knows_what_waits_and_what_is_undecided() {
    const DUE: &str = "campanile_publish_oldest_due_seconds";
    const UNDECIDED: &str = "campanile_publish_oldest_undecided_seconds";
    let address = format!("127.0.0.1:{}", free_port());
    let settings = [QUIET, ("CAMPANILE_METRICS_LISTEN", address.as_str())];
    let lab = Lab::start_with(Engine::Postgres, &settings);
    assert_eq!((figure(&address, DUE), figure(&address, UNDECIDED)), (0.0, 0.0));
    let (waiting, open) = (post(&lab, "waiting"), post(&lab, "open"));
    publish_now(&lab, &waiting);
    publish_now(&lab, &open);
    let change = |post: &Value, what: &str| {
        let id = text(&post["id"]).to_owned();
        lab.tamper(&format!("UPDATE publish_targets SET {what} WHERE post_id = '{id}'"));
    };
    change(&waiting, "next_at = next_at - 90000, wake_at = wake_at - 90000");
    change(&open, "stage = 'reading', intent_at = due_at - 200000");

    let (due, undecided) = (figure(&address, DUE), figure(&address, UNDECIDED));

    assert!(
        (90.0..190.0).contains(&due) && (200.0..300.0).contains(&undecided),
        "{due} {undecided}"
    );
    let output = lab.try_cli(&["doctor"], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("so that posts go out"), "{said}");

    let _runner = lab.beside(&["runner"]);
    wait_until("both are settled", || {
        (figure(&address, DUE), figure(&address, UNDECIDED)) == (0.0, 0.0)
    });
}

fn wake(lab: &Lab, secret: &str) -> Reply {
    lab.post(RUN).header("authorization", format!("Bearer {secret}")).send()
}

#[test]
fn somebody_with_the_secret_makes_it_publish() {
    let secret = "a secret of the operator's";
    let lab = Lab::start_with(Engine::Postgres, &[QUIET, ("CAMPANILE_RUN_SECRET", secret)]);
    let waiting = post(&lab, "waiting");
    publish_now(&lab, &waiting);
    for wrong in ["", "a secret", "A SECRET OF THE OPERATOR'S", &*lab.key] {
        wake(&lab, wrong).expect_problem(401, "unauthenticated");
    }
    lab.post(RUN).send().expect_problem(401, "unauthenticated");
    assert_eq!(text(&job_of(&lab, &waiting)["state"]), "queued");

    let done = wake(&lab, secret).expect(200).json;

    assert_eq!(done, json!({ "status": "done", "taken_up": 1 }));
    assert_eq!(text(&job_of(&lab, &waiting)["state"]), "succeeded");
    assert_eq!(wake(&lab, secret).expect(200).json["taken_up"], 0);
    assert_eq!(timeline(&lab, "waiting").len(), 1);
    assert!(!lab.log().contains(secret));
}

#[test]
fn many_who_wake_it_at_once_publish_everything_once() {
    let lab = Lab::start_with(Engine::Postgres, &[QUIET, ("CAMPANILE_RUN_SECRET", "s")]);
    let connection = sandbox(&lab, "news");
    for number in 0..60 {
        let targets = json!([{ "connection_id": connection }]);
        let post = new_post(&lab, json!({ "content": format!("{number}"), "targets": targets }));
        publish_now(&lab, &post);
    }
    let taken: u64 = std::thread::scope(|scope| {
        let ask = || wake(&lab, "s").expect(200).json["taken_up"].as_u64().unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(taken, 60);
    assert_eq!(timeline(&lab, "news").len(), 60);
}

#[test]
fn without_a_secret_there_is_no_such_route() {
    let lab = Lab::start(Engine::Sqlite);
    for secret in ["", "guess", &*lab.key] {
        wake(&lab, secret).expect_problem(404, "not_found");
    }
    lab.post(RUN).send().expect_problem(404, "not_found");
}

#[test]
fn where_a_runner_runs_it_is_only_woken() {
    let lab = Lab::start_with(Engine::Sqlite, &[("CAMPANILE_RUN_SECRET", "s")]);
    assert_eq!(wake(&lab, "s").expect(200).json["status"], "runner_woken");
    wake(&lab, "t").expect_problem(401, "unauthenticated");
}

#[test]
fn on_sqlite_one_process_does_everything() {
    let lab = Lab::start(Engine::Sqlite);
    lab.stop();
    for arguments in [
        &["serve", "--no-runner"][..],
        &["--no-runner", "serve"],
        &["runner"],
        &["runner", "--no-runner"],
        &["--no-runner", "runner"],
    ] {
        let output = lab.try_cli(arguments, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(said.contains("PostgreSQL"), "{said}");
    }
}
