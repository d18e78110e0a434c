//! Settings of a person and of a brand, and the password.

use serde_json::{Value, json};

use crate::{
    lab::{Lab, Reply, both},
    steps::{expect_faults, list, new_brand, session},
};

fn put(lab: &Lab, body: Value) -> Reply {
    lab.put("/settings").key(&lab.key).json(body).send()
}

#[track_caller]
fn settings(lab: &Lab) -> Value {
    lab.get("/settings").key(&lab.key).send().expect(200).json["settings"].take()
}

fn change_password(lab: &Lab, token: &str, current: &str, new: &str) -> Reply {
    let body = json!({ "current_password": current, "new_password": new });
    lab.put("/settings/password").session(token).json(body).send()
}

fn try_sign_in(lab: &Lab, password: &str) -> Reply {
    let body = json!({ "email": lab.email, "password": password });
    lab.post("/api/auth/sign-in").json(body).send()
}

both! {
    fn settings_begin_with_something_sensible(lab: Lab) {
        let owner = lab.owner();

        let settings = settings(&lab);

        let profile = json!({
            "id": owner.user_id, "email": lab.email, "name": "Owner", "time_zone": "UTC",
        });
        assert_eq!(settings["profile"], profile);
        assert_eq!(settings["schedule"]["time_zone"], "UTC");
        assert!(!list(&settings["schedule"]["slots"]).is_empty());
        assert_eq!(settings["schedule"]["late_window_hours"], 24);
        assert!(settings["schedule"]["minimum_gap_minutes"].is_u64());
    }

    fn what_is_left_out_stays_as_it_is(lab: Lab) {
        let before = settings(&lab);

        assert_eq!(put(&lab, json!({})).expect(200).json["settings"], before);
        assert_eq!(put(&lab, json!({ "profile": {} })).expect(200).json["settings"], before);
        let zone = json!({ "schedule": { "time_zone": "Europe/Berlin" } });
        let changed = put(&lab, zone).expect(200).json["settings"].take();

        let mut expected = before;
        expected["schedule"]["time_zone"] = json!("Europe/Berlin");
        assert_eq!(changed, expected);
        assert_eq!(settings(&lab), expected);
        let name = json!({ "profile": { "name": " Zoë ", "time_zone": "America/New_York" } });
        put(&lab, name).expect(200);
        expected["profile"]["name"] = json!("Zoë");
        expected["profile"]["time_zone"] = json!("America/New_York");
        assert_eq!(settings(&lab), expected);
        let whoami = lab.get("/whoami").key(&lab.key).send().expect(200).json;
        assert_eq!(whoami["user"]["name"], "Zoë");
    }

    fn slots_are_kept_in_the_order_of_the_week_and_once(lab: Lab) {
        let slot = |weekday: &str, time: &str| json!({ "weekday": weekday, "time": time });
        let slots = [
            slot("sunday", "08:00"),
            slot("monday", "17:30"),
            slot("monday", "09:00"),
            slot("sunday", "08:00"),
        ];

        let changed = put(&lab, json!({ "schedule": { "slots": slots } })).expect(200).json;

        let expected = [slot("monday", "09:00"), slot("monday", "17:30"), slot("sunday", "08:00")];
        assert_eq!(changed["settings"]["schedule"]["slots"], json!(expected));
        let none = put(&lab, json!({ "schedule": { "slots": [] } })).expect(200).json;
        assert_eq!(none["settings"]["schedule"]["slots"], json!([]));
    }

    fn wrong_settings_are_all_named_and_none_is_taken(lab: Lab) {
        let before = settings(&lab);
        let body = json!({
            "profile": { "name": "", "time_zone": "Mars/Olympus", "email": "new@example.test", "id": "x" },
            "schedule": {
                "time_zone": 3, "minimum_gap_minutes": -1, "late_window_hours": 169,
                "slots": [{ "weekday": "someday", "time": "24:00" }, { "time": "9:00" }, 5],
                "colour": "red",
            },
            "password": "x",
        });

        expect_faults(put(&lab, body), &[
            ("profile.name", "too_short"),
            ("profile.time_zone", "unknown_time_zone"),
            ("profile.email", "read_only"),
            ("profile.id", "read_only"),
            ("schedule.time_zone", "wrong_type"),
            ("schedule.minimum_gap_minutes", "out_of_range"),
            ("schedule.late_window_hours", "out_of_range"),
            ("schedule.slots[0].weekday", "invalid_choice"),
            ("schedule.slots[0].time", "invalid_time_of_day"),
            ("schedule.slots[1].weekday", "required"),
            ("schedule.slots[1].time", "invalid_time_of_day"),
            ("schedule.slots[2]", "wrong_type"),
            ("schedule.colour", "unknown_field"),
            ("password", "unknown_field"),
        ]);
        assert_eq!(settings(&lab), before);
    }

    fn every_answer_about_a_time_zone_is_a_clear_one(lab: Lab) {
        for zone in ["Etc/Unknown", "localtime", "posixrules", "Factory", "", "../etc/passwd", "UTC0"] {
            let reply = put(&lab, json!({ "profile": { "time_zone": zone } }));
            match reply.status {
                200 => assert_eq!(settings(&lab)["profile"], reply.json["settings"]["profile"]),
                _ => expect_faults(reply, &[("profile.time_zone", "unknown_time_zone")]),
            }
        }
    }

    fn the_profile_is_a_persons_and_the_schedule_a_brands(lab: Lab) {
        let second = new_brand(&lab, "Second");
        let there = || lab.get("/settings").key(&lab.key).brand(&second).send().expect(200).json;
        let change = json!({
            "profile": { "name": "Renamed" }, "schedule": { "minimum_gap_minutes": 60 },
        });

        put(&lab, change).expect(200);

        assert_eq!(settings(&lab)["schedule"]["minimum_gap_minutes"], 60);
        assert_eq!(there()["settings"]["schedule"]["minimum_gap_minutes"], 15);
        assert_eq!(there()["settings"]["profile"]["name"], "Renamed");
    }

    fn a_change_based_on_old_settings_is_refused(lab: Lab) {
        let read = lab.get("/settings").key(&lab.key).send().expect(200);
        let old = read.header("etag").unwrap().to_owned();
        let send = |tag: &str, name: &str| {
            let body = json!({ "profile": { "name": name } });
            lab.put("/settings").key(&lab.key).header("if-match", tag).json(body).send()
        };

        let first = send(&old, "First").expect(200);
        send(&old, "Late").expect_problem(412, "precondition_failed");
        send("\"nonsense\"", "Late").expect_problem(412, "precondition_failed");

        assert_eq!(settings(&lab)["profile"]["name"], "First");
        let new = first.header("etag").expect("the tag of what is now").to_owned();
        assert_eq!(lab.get("/settings").key(&lab.key).send().header("etag"), Some(new.as_str()));
        send(&new, "Second").expect(200);
        send("*", "Third").expect(200);
        let unchanged = lab.get("/settings").key(&lab.key).header("if-none-match", &new).send();
        unchanged.expect(200);
    }

    fn a_new_password_ends_every_other_session_and_no_key(lab: Lab) {
        let (here, elsewhere) = (session(&lab), session(&lab));
        let new = "Zoë walks at dawn";

        let changed = change_password(&lab, &here, &lab.password, new).expect(200);

        assert_eq!(changed.json, json!({ "updated": true }));
        lab.get("/keys").session(&here).send().expect(200);
        lab.get("/keys").session(&elsewhere).send().expect_problem(401, "invalid_session");
        lab.get("/whoami").key(&lab.key).send().expect(200);
        try_sign_in(&lab, &lab.password).expect_problem(401, "wrong_credentials");
        try_sign_in(&lab, "Zoe\u{308} walks at dawn").expect(201);
    }

    fn a_password_is_changed_by_whoever_knows_it(lab: Lab) {
        let token = session(&lab);
        let send = |body: Value| lab.put("/settings/password").session(&token).json(body).send();

        let guess = change_password(&lab, &token, "not my password", "a much better one");
        guess.expect_problem(403, "wrong_password");
        let short = json!({ "current_password": lab.password, "new_password": "short" });
        expect_faults(send(short), &[("new_password", "too_short")]);
        let long = json!({ "current_password": lab.password, "new_password": "ä".repeat(200) });
        expect_faults(send(long), &[("new_password", "too_long")]);
        expect_faults(send(json!({ "new": 1 })), &[
            ("current_password", "required"),
            ("new_password", "required"),
            ("new", "unknown_field"),
        ]);
        let body = json!({ "current_password": lab.password, "new_password": "a much better one" });
        let with_key = lab.put("/settings/password").key(&lab.key).json(body.clone()).send();
        with_key.expect_problem(403, "session_required");

        try_sign_in(&lab, &lab.password).expect(201);
        let internal = lab.put("/api/internal/settings/password").session(&token).json(body);
        internal.send().expect(200);
        try_sign_in(&lab, "a much better one").expect(201);
    }
}
