//! `GET /openapi.json`: the table for people and tools, as OpenAPI 3.1.

use std::sync::LazyLock;

use axum::http::Method;
use campanile_model::scope::Scope;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{
    answer::Document,
    api,
    problem::Code,
    reference,
    route::{BASE_PATH, Operation, Route, Rule},
};

static DOCUMENT: LazyLock<Document> = LazyLock::new(|| Document::new(render(&api::table())));

pub(crate) fn document() -> Document {
    DOCUMENT.clone()
}

/// The document as text, the same for every server.
pub(crate) fn text() -> String {
    render(&api::table())
}

fn render(table: &[Route]) -> String {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let described: Vec<_> = table.iter().map(|row| (row, (row.describe)(&mut generator))).collect();
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Problem".to_owned(), problem_schema());
    let mut paths = Map::new();
    for (row, operation) in &described {
        let path = paths.entry(row.path).or_insert_with(|| json!({}));
        path[row.method.as_str().to_lowercase()] = describe(row, operation, &schemas);
    }
    let mut tags: Vec<_> = table.iter().map(|row| row.resource).collect();
    tags.dedup();
    let scopes: Vec<_> = Scope::ALL
        .iter()
        .map(|scope| json!({ "name": scope, "description": scope.grants() }))
        .collect();
    let codes: Vec<_> = Code::ALL
        .iter()
        .map(|code| {
            json!({ "code": code.name(), "status": code.status().as_u16(), "description": code.title() })
        })
        .collect();
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": reference::API_NAME,
            "version": reference::VERSION,
            "description": INTRODUCTION,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": BASE_PATH }],
        "tags": tags.iter().map(|tag| json!({ "name": tag })).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": { "Problem": problem_response("What was wrong and what to do next") },
            "securitySchemes": security_schemes(),
        },
        "x-scopes": scopes,
        "x-error-codes": codes,
    });
    // The pretty form is what people diff.
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

const INTRODUCTION: &str = "Plan, approve and publish posts of many brands. \
    Times are RFC 3339 in UTC. Lists take `limit` and `cursor` and are newest first. \
    Errors are RFC 9457 problems with a stable `code`, and name every fault at once. \
    A POST with an `Idempotency-Key` may be repeated safely for 24 hours. \
    Single resources carry an `ETag`; `If-Match` is honoured when sent. \
    Brand-scoped routes act on the first brand within reach unless `x-app-brand-id` or \
    `brand_id` names another.";

fn describe(row: &Route, operation: &Operation, schemas: &Map<String, Value>) -> Value {
    let mut value = json!({
        "operationId": row.operation_id(),
        "summary": row.about,
        "tags": [row.resource],
        "parameters": parameters(row, operation),
        "responses": responses(row, operation, schemas),
        "security": security(row.rule),
        "x-auth": row.rule.name(),
        "x-required-scopes": row.rule.scopes(),
        "x-feature": row.feature,
        "x-internal-equivalent": row.internal_path(),
    });
    if let Some(alternatives) = row.rule.alternatives() {
        value["x-scope-alternatives"] = json!(alternatives);
    }
    if row.later {
        value["x-availability"] = json!("later");
    }
    if let Some(body) = &operation.body {
        value["requestBody"] = json!({
            "required": !operation.body_is_optional,
            "content": { "application/json": { "schema": body, "example": example(body, schemas, 0) } },
        });
    }
    value
}

fn parameters(row: &Route, operation: &Operation) -> Vec<Value> {
    let mut parameters = operation.parameters.clone();
    for name in row.path.split(['{', '}']).skip(1).step_by(2) {
        if !parameters.iter().any(|known| known["name"] == name && known["in"] == "path") {
            parameters.push(json!({
                "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 }
            }));
        }
    }
    if matches!(row.rule, Rule::Public) {
        return parameters;
    }
    let mut header = |name: &str, text: &str, schema: Value| {
        parameters.push(json!({
            "name": name, "in": "header", "required": false, "description": text, "schema": schema
        }));
    };
    let brand = json!({ "type": "string", "pattern": "^brand_[0-7][0-9a-hjkmnp-tv-z]{25}$" });
    header("x-app-brand-id", "The brand to act on.", brand);
    if row.method == Method::POST {
        let key =
            json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" });
        header("idempotency-key", "Makes the request safe to repeat for 24 hours.", key);
    }
    if matches!(row.method, Method::PATCH | Method::PUT | Method::DELETE) {
        let tag = json!({ "type": "string", "examples": ["*"] });
        header("if-match", "The ETag that the resource must still have.", tag);
    }
    parameters
}

fn responses(row: &Route, operation: &Operation, schemas: &Map<String, Value>) -> Value {
    let mut responses = Map::new();
    for (status, schema) in &operation.answers {
        let content = json!({ "schema": schema, "example": example(schema, schemas, 0) });
        let mut response = json!({
            "description": "Done",
            "content": { "application/json": content },
            "headers": { "x-request-id": { "schema": { "type": "string" } } },
        });
        if row.method == Method::GET && operation.names_a_thing {
            response["headers"]["etag"] = json!({ "schema": { "type": "string" } });
        }
        responses.insert(status.to_string(), response);
    }
    for status in problem_statuses(row, operation) {
        responses.insert(status.to_string(), json!({ "$ref": "#/components/responses/Problem" }));
    }
    Value::Object(responses)
}

/// The statuses with which the route can refuse.
fn problem_statuses(row: &Route, operation: &Operation) -> Vec<u16> {
    let mut statuses = vec![406, 414, 431];
    if !matches!(row.rule, Rule::Public) {
        statuses.extend([400, 401, 403, 404, 429, 503]);
    }
    if row.later {
        statuses.push(501);
    }
    if row.method == Method::POST {
        // Idempotency keys.
        statuses.extend([408, 409, 413, 422]);
    }
    if operation.body.is_some() {
        statuses.extend([400, 408, 409, 413, 415, 422]);
    }
    if !matches!(row.rule, Rule::Public) {
        // The query is read strictly, or must be empty.
        statuses.push(422);
    }
    if matches!(row.method, Method::PATCH | Method::PUT | Method::DELETE) {
        statuses.extend([409, 412]);
    }
    if row.path == "/media-library" && row.method == Method::POST {
        statuses.extend([502, 504]);
    }
    if row.path == "/posts/{id}" && row.method == Method::PATCH {
        statuses.push(501);
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

fn security(rule: Rule) -> Value {
    let key = [json!({ "apiKey": [] }), json!({ "bearerKey": [] })];
    let session = [json!({ "session": [] })];
    match rule {
        Rule::Public => json!([]),
        Rule::Key(_) | Rule::AnyOf(_) => json!(key),
        Rule::KeyOrSession(_) => json!([key.as_slice(), session.as_slice()].concat()),
        Rule::Session => json!(session),
    }
}

fn security_schemes() -> Value {
    json!({
        "apiKey": { "type": "apiKey", "in": "header", "name": "x-api-key", "description": "An API key, camp_live_…" },
        "bearerKey": { "type": "http", "scheme": "bearer", "description": "The same key as a bearer token" },
        "session": { "type": "http", "scheme": "bearer", "description": "A session token from POST /api/auth/sign-in" },
    })
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "request_id", "errors"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What to do next" },
            "code": { "type": "string", "description": "Stable; see x-error-codes", "enum": Code::ALL.iter().map(|code| code.name()).collect::<Vec<_>>() },
            "request_id": { "type": "string" },
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["field", "code", "message"],
                    "properties": {
                        "field": { "type": "string" },
                        "code": { "type": "string" },
                        "message": { "type": "string" },
                    },
                },
            },
        },
    })
}

fn problem_response(description: &str) -> Value {
    json!({
        "description": description,
        "content": { "application/problem+json": {
            "schema": { "$ref": "#/components/schemas/Problem" },
            "example": {
                "type": "/errors/validation_failed", "title": Code::ValidationFailed.title(),
                "status": 422, "detail": "One field is not valid; see errors.",
                "code": "validation_failed", "request_id": "req_01hf7yat00000000000000000a",
                "errors": [{ "field": "tags[3]", "code": "too_long", "message": "at most 64 characters, got 80" }],
            },
        } },
    })
}

/// A value that the schema admits, made of the examples in it.
fn example(schema: &Value, schemas: &Map<String, Value>, depth: usize) -> Value {
    if depth > 20 {
        return Value::Null;
    }
    if let Some(first) = schema["examples"].get(0) {
        return first.clone();
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return schemas.get(name).map_or(Value::Null, |schema| example(schema, schemas, depth + 1));
    }
    if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) = schema[choice].get(0) {
            return example(first, schemas, depth + 1);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, field)| (name.clone(), example(field, schemas, depth + 1))).collect()
        }
        Some("array") => json!([example(&schema["items"], schemas, depth + 1)]),
        Some("string") => {
            let shortest = schema["minLength"].as_u64().unwrap_or(0);
            if shortest > 6 { json!("a longer text") } else { json!("string") }
        }
        Some("integer") => json!(schema["minimum"].as_i64().unwrap_or(0).max(1)),
        Some("boolean") => json!(true),
        _ => Value::Null,
    }
}
