//! `/reference` and `/openapi.json` say what the contract says. Both are made from the table at
//! build time, so one engine is enough.

use std::collections::{BTreeMap, BTreeSet};

use campanile_model::time;
use serde_json::{Value, json};

use crate::{
    contract_table::{FEATURES, INTERNAL_FEATURE, RESOURCES, Row, SCOPES, rows},
    lab::{BASE_PATH, Engine, Lab},
};

fn reference(lab: &Lab) -> Value {
    lab.get("/reference").send().expect(200).json
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("a list, not {value}"))
}

fn texts(value: &Value) -> Vec<&str> {
    list(value).iter().map(|text| text.as_str().unwrap()).collect()
}

/// `required_scopes` and `scope_alternatives` as the contract has them.
fn scopes(row: &Row) -> (Value, Value) {
    match row.scopes.as_slice() {
        any if any.len() > 1 => {
            (json!([]), any.iter().map(|scope| json!([scope])).collect::<Value>())
        }
        all => (json!(all), Value::Null),
    }
}

#[test]
fn the_table_of_facts_is_complete() {
    let names: BTreeSet<_> = rows().iter().map(Row::name).collect();

    assert_eq!(names.len(), 72);
    let used: BTreeSet<_> = rows().iter().flat_map(|row| row.scopes.clone()).collect();
    assert!(used.iter().all(|scope| SCOPES.contains(scope)));
    let resources: BTreeSet<_> = rows().iter().map(Row::resource).collect();
    assert_eq!(resources, RESOURCES.into_iter().collect());
}

#[test]
fn the_reference_counts_and_names_what_the_contract_does() {
    let lab = Lab::start(Engine::Sqlite);

    let reference = reference(&lab);

    assert_eq!(reference["version"], "v1");
    assert_eq!(reference["base_path"], BASE_PATH);
    assert!(reference["api_name"].as_str().is_some_and(|name| !name.is_empty()));
    assert_eq!(reference["route_count"], 72);
    assert_eq!(reference["scope_count"], 24);
    assert_eq!(reference["feature_count"], 17);
    assert_eq!(list(&reference["routes"]).len(), 72);
    let names: Vec<_> = list(&reference["scopes"]).iter().map(|scope| &scope["name"]).collect();
    assert_eq!(names, SCOPES);
    assert!(list(&reference["scopes"]).iter().all(|scope| scope["description"].is_string()));
    let resources: BTreeSet<_> = texts(&reference["resources"]).into_iter().collect();
    assert_eq!(resources, RESOURCES.into_iter().collect());
    assert_eq!(list(&reference["resources"]).len(), RESOURCES.len());
}

#[test]
fn every_route_asks_for_what_the_contract_asks_for() {
    let lab = Lab::start(Engine::Sqlite);

    let reference = reference(&lab);

    let routes = list(&reference["routes"]);
    for row in rows() {
        let found: Vec<_> = routes
            .iter()
            .filter(|route| route["method"] == row.method && route["path"] == row.path)
            .collect();
        let [route] = found[..] else { panic!("{}: {} times", row.name(), found.len()) };
        let (required, alternatives) = scopes(&row);
        assert_eq!(route["auth"], row.auth.word(), "{}", row.name());
        assert_eq!(route["resource"], row.resource(), "{}", row.name());
        assert_eq!(route["required_scopes"], required, "{}", row.name());
        assert_eq!(route["scope_alternatives"], alternatives, "{}", row.name());
        assert!(route["description"].as_str().is_some_and(|text| !text.is_empty()));
        let equivalent = &route["internal_equivalent"];
        assert!(equivalent.is_null() || equivalent.as_str().unwrap().starts_with("/api/"));
    }
}

#[test]
fn session_routes_are_those_that_take_nothing_but_a_session() {
    let lab = Lab::start(Engine::Sqlite);

    let auth = &reference(&lab)["auth"];

    let named: BTreeSet<_> = list(&auth["session_routes"])
        .iter()
        .map(|route| (route["method"].as_str().unwrap(), route["path"].as_str().unwrap()))
        .collect();
    let promised = [
        ("GET", "/connections/:platform/start"),
        ("GET", "/connections/:platform/callback"),
        ("PUT", "/settings/password"),
        ("POST", "/keys"),
        ("DELETE", "/keys/:id"),
    ];
    assert_eq!(named, promised.into());
    assert_eq!(list(&auth["session_routes"]).len(), promised.len());
    assert_eq!(auth["api_key_header"], "x-api-key");
}

#[test]
fn every_route_is_documented_in_exactly_one_feature() {
    let lab = Lab::start(Engine::Sqlite);

    let reference = reference(&lab);

    let features = list(&reference["features"]);
    assert_eq!(features.iter().map(|feature| &feature["id"]).collect::<Vec<_>>(), FEATURES);
    let mut documented = BTreeMap::new();
    for feature in features {
        let internal = feature["id"] == INTERNAL_FEATURE;
        let status = if internal { "internal-only" } else { "covered" };
        assert_eq!(feature["coverage_status"], status, "{feature}");
        let routes = texts(&feature["documented_routes"]);
        assert_eq!(routes.is_empty(), internal, "{feature}");
        assert!(texts(&feature["external_resources"]).iter().all(|one| RESOURCES.contains(one)));
        assert!(feature["name"].is_string() && feature["notes"].is_string(), "{feature}");
        texts(&feature["app_surfaces"]);
        for route in routes {
            *documented.entry(route.to_owned()).or_insert(0) += 1;
        }
    }
    let once: BTreeMap<_, _> = rows().iter().map(|row| (row.name(), 1)).collect();
    assert_eq!(documented, once);
}

#[test]
fn what_keys_never_reach_is_listed_with_a_reason() {
    let lab = Lab::start(Engine::Sqlite);

    let reference = reference(&lab);

    let exclusions = list(&reference["internal_exclusions"]);
    for exclusion in exclusions {
        assert!(exclusion["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    }
    for (method, path) in [
        ("POST", "/api/auth/sign-in"),
        ("POST", "/api/auth/sign-out"),
        ("POST", "/api/internal/brands"),
        ("PATCH", "/api/internal/brands/:id"),
        ("DELETE", "/api/internal/brands/:id"),
    ] {
        let listed = exclusions.iter().any(|one| one["method"] == method && one["path"] == path);
        assert!(listed, "{method} {path}");
    }
}

#[test]
fn the_reference_tells_the_time_of_the_request_and_keeps_its_tag() {
    let lab = Lab::start(Engine::Sqlite);

    let first = lab.get("/reference").send().expect(200);
    let second = lab.get("/reference").send().expect(200);

    let times = [&first, &second].map(|reply| {
        let text = reply.json["generated_at"].as_str().unwrap();
        assert!(text.ends_with('Z') && text.len() == "2026-11-15T09:30:00.000Z".len(), "{text}");
        time::parse(text).expect("a time as RFC 3339 has it")
    });
    assert!(times[0] <= times[1]);
    assert_eq!(first.header("etag").unwrap(), second.header("etag").unwrap());
}

#[test]
fn public_documents_are_sent_once_to_those_who_keep_them() {
    let lab = Lab::start(Engine::Sqlite);

    for path in ["/reference", "/openapi.json"] {
        let whole = lab.get(path).send().expect(200);
        let tag = whole.header("etag").expect("a tag").to_owned();

        let kept = lab.get(path).header("if-none-match", &tag).send().expect(304);
        assert!(kept.body.is_empty());
        assert_eq!(kept.header("etag"), Some(tag.as_str()));
        let listed = format!("\"another\", W/{tag}");
        lab.get(path).header("if-none-match", listed).send().expect(304);
        let fresh = lab.get(path).header("if-none-match", "\"another\"").send().expect(200);
        assert!(!fresh.body.is_empty());
    }
}

#[test]
fn the_openapi_document_has_the_same_operations_as_the_contract() {
    let lab = Lab::start(Engine::Sqlite);

    let document = lab.get("/openapi.json").send().expect(200).json;

    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut operations = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.replace('{', ":").replace('}', "");
            operations.insert(format!("{} {path}", method.to_uppercase()), operation);
        }
    }
    let names: BTreeSet<_> = operations.keys().cloned().collect();
    assert_eq!(names, rows().iter().map(Row::name).collect());
    for row in rows() {
        let operation = operations[&row.name()];
        let (required, alternatives) = scopes(&row);
        assert_eq!(operation["x-auth"], row.auth.word(), "{}", row.name());
        assert_eq!(operation["x-required-scopes"], required, "{}", row.name());
        assert_eq!(operation["x-scope-alternatives"], alternatives, "{}", row.name());
        assert!(FEATURES.iter().any(|feature| operation["x-feature"] == *feature));
        for parameter in row.path.split('/').filter_map(|part| part.strip_prefix(':')) {
            let described = list(&operation["parameters"])
                .iter()
                .any(|known| known["in"] == "path" && known["name"] == parameter);
            assert!(described, "{}", row.name());
        }
    }
    let ids: BTreeSet<_> = operations.values().map(|one| one["operationId"].as_str()).collect();
    assert_eq!(ids.len(), 72, "operation ids are unique");
}

#[test]
fn the_openapi_document_is_the_one_that_the_command_prints() {
    let lab = Lab::start(Engine::Sqlite);

    let served = lab.get("/openapi.json").send().expect(200).json;
    let printed = lab.cli(&["openapi"]);

    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), served);
}

#[test]
fn every_operation_explains_its_body_its_answers_and_its_errors() {
    let lab = Lab::start(Engine::Sqlite);

    let document = lab.get("/openapi.json").send().expect(200).json;

    let operations = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values());
    for operation in operations {
        let name = &operation["operationId"];
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| status.starts_with('4')), "{name}");
        if operation["x-availability"] == "later" {
            assert!(answers.contains_key("501"), "{name}");
            continue;
        }
        let good = answers.iter().find(|(status, _)| status.starts_with('2'));
        let content = &good.unwrap_or_else(|| panic!("{name}")).1["content"]["application/json"];
        assert!(content["schema"].is_object() && !content["example"].is_null(), "{name}");
        if let Some(body) = operation.get("requestBody") {
            let content = &body["content"]["application/json"];
            assert!(content["schema"].is_object() && content["example"].is_object(), "{name}");
        }
    }
}
