//! One row of the API: the only way to mount a handler.
//!
//! A row becomes a route of the router inside its own guard, an operation of the OpenAPI
//! document and an entry of `GET /reference`; none of the three can say anything else.

use std::{future::Future, sync::Arc};

use axum::{
    Router,
    extract::State,
    handler::Handler,
    http::Method,
    routing::{MethodFilter, MethodRouter, on},
};
use campanile_model::{decode::Field, ids::Kind, scope::Scope};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::{
    answer::Document,
    app::Shared,
    caller::{Caller, Visitor},
    extract::{Body, MaybeBody, Path, PathText, Query},
    guard::Guarded,
    problem::{Code, Problem},
};

pub(crate) const BASE_PATH: &str = "/api/external/v1";
pub(crate) const INTERNAL_PATH: &str = "/api/internal";

/// What a row asks of its caller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    Public,
    Key(&'static [Scope]),
    /// Any one of these; the handler then asks for the one that the request needs.
    AnyOf(&'static [Scope]),
    /// A key with these scopes, or a session.
    KeyOrSession(&'static [Scope]),
    Session,
}

impl Rule {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Public => "none",
            Self::Key(_) | Self::AnyOf(_) => "external-api-key",
            Self::KeyOrSession(_) => "external-api-key-or-session",
            Self::Session => "session",
        }
    }

    pub(crate) fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Key(scopes) | Self::KeyOrSession(scopes) => scopes,
            Self::Public | Self::AnyOf(_) | Self::Session => &[],
        }
    }

    pub(crate) fn alternatives(self) -> Option<Vec<Vec<Scope>>> {
        match self {
            Self::AnyOf(scopes) => Some(scopes.iter().map(|scope| vec![*scope]).collect()),
            _ => None,
        }
    }
}

/// A mounted operation together with everything we say about it in public.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// With parameters as `{id}`.
    pub(crate) path: &'static str,
    pub(crate) resource: &'static str,
    /// The id of the product's feature that it belongs to.
    pub(crate) feature: &'static str,
    pub(crate) rule: Rule,
    pub(crate) about: &'static str,
    /// Arrives with a later version and answers 501 until then.
    pub(crate) later: bool,
    pub(crate) describe: fn(&mut SchemaGenerator) -> Operation,
    mount: Box<dyn Fn(Arc<Post>) -> MethodRouter<Shared>>,
}

/// The typed part of an OpenAPI operation, read off a handler's signature.
#[derive(Default)]
pub(crate) struct Operation {
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Option<Value>,
    pub(crate) body_is_optional: bool,
    pub(crate) answers: Vec<(u16, Value)>,
    pub(crate) wants_caller: bool,
    pub(crate) names_a_thing: bool,
}

/// A handler whose signature can be described.
pub(crate) trait Describe<M> {
    fn describe(generator: &mut SchemaGenerator) -> Operation;
}

/// Something that appears in a handler's argument list.
pub(crate) trait Input {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator);
}

/// Something that a handler returns.
pub(crate) trait Output {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator);
}

impl Input for Caller {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.wants_caller = true;
    }
}

impl Input for Visitor {
    fn describe(_: &mut Operation, _: &mut SchemaGenerator) {}
}

impl<S> Input for State<S> {
    fn describe(_: &mut Operation, _: &mut SchemaGenerator) {}
}

impl<T: Field + JsonSchema> Input for Body<T> {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator) {
        operation.body = Some(generator.subschema_for::<T>().to_value());
    }
}

impl<T: Field + JsonSchema> Input for MaybeBody<T> {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator) {
        operation.body = Some(generator.subschema_for::<T>().to_value());
        operation.body_is_optional = true;
    }
}

impl Input for PathText {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.names_a_thing = true;
        operation.parameters.push(json!({
            "name": "platform", "in": "path", "required": true,
            "schema": { "type": "string", "examples": ["mastodon"] },
        }));
    }
}

impl<T: Field + JsonSchema> Input for Query<T> {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator) {
        let schema = T::json_schema(generator).to_value();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let mut parameter = json!({
                "name": name, "in": "query", "required": required.contains(&json!(name)),
                "schema": without_null(schema.clone()),
            });
            if let Some(description) = schema.get("description") {
                parameter["description"] = description.clone();
            }
            operation.parameters.push(parameter);
        }
    }
}

/// A query parameter is absent rather than null.
fn without_null(mut schema: Value) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.remove("description");
        map.remove("default");
        if let Some(kinds) = map.get_mut("type").and_then(Value::as_array_mut) {
            kinds.retain(|kind| kind != "null");
        }
        if let Some(choices) = map.get_mut("anyOf").and_then(Value::as_array_mut) {
            choices.retain(|choice| choice["type"] != "null");
        }
        if let Some(choices) = map.get_mut("enum").and_then(Value::as_array_mut) {
            choices.retain(|choice| !choice.is_null());
        }
    }
    schema
}

impl<K: Kind> Input for Path<K> {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator) {
        let schema = campanile_model::ids::Id::<K>::json_schema(generator).to_value();
        operation.names_a_thing = true;
        operation.parameters.push(json!({
            "name": "id", "in": "path", "required": true, "schema": schema
        }));
    }
}

impl<T: Output> Output for Result<T, Problem> {
    fn describe(operation: &mut Operation, generator: &mut SchemaGenerator) {
        T::describe(operation, generator);
    }
}

impl Output for Document {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.answers.push((200, json!({ "type": "object" })));
    }
}

macro_rules! describe {
    ($($argument:ident),*) => {
        impl<F, Fut, Out, $($argument),*> Describe<(Out, $($argument,)*)> for F
        where
            F: Fn($($argument),*) -> Fut,
            Fut: Future<Output = Out>,
            Out: Output,
            $($argument: Input),*
        {
            #[allow(unused_mut, clippy::allow_attributes, reason = "a handler may take nothing")]
            fn describe(generator: &mut SchemaGenerator) -> Operation {
                let mut operation = Operation::default();
                $($argument::describe(&mut operation, generator);)*
                Out::describe(&mut operation, generator);
                operation
            }
        }
    };
}

describe!();
describe!(A);
describe!(A, B);
describe!(A, B, C);
describe!(A, B, C, D);

fn route<H, T, M>(method: Method, path: &'static str, handler: H, rule: Rule) -> Route
where
    H: Handler<T, Shared> + Describe<M>,
    T: 'static,
{
    let filter = MethodFilter::try_from(method.clone()).expect("the table names standard methods");
    Route {
        method,
        path,
        resource: "",
        feature: "",
        rule,
        about: "",
        later: false,
        describe: <H as Describe<M>>::describe,
        mount: Box::new(move |post| on(filter, Guarded { handler: handler.clone(), post })),
    }
}

macro_rules! verbs {
    ($($name:ident $method:ident),*) => { $(
        pub(crate) fn $name<H, T, M>(path: &'static str, handler: H, rule: Rule) -> Route
        where
            H: Handler<T, Shared> + Describe<M>,
            T: 'static,
        {
            route(Method::$method, path, handler, rule)
        }
    )* };
}

verbs!(get GET, post POST, patch PATCH, put PUT, delete DELETE);

/// A row whose work arrives later: the guard is real, the answer is 501.
pub(crate) fn later(method: Method, path: &'static str, rule: Rule) -> Route {
    async fn not_yet(_: Caller) -> Result<Document, Problem> {
        Err(Problem::new(
            Code::NotYetAvailable,
            "This version does not have it yet; GET /openapi.json says what it has.",
        ))
    }
    let mut row = route(method, path, not_yet, rule);
    row.later = true;
    row.describe = |_| Operation { wants_caller: true, ..Operation::default() };
    row
}

impl Route {
    pub(crate) fn about(mut self, text: &'static str) -> Self {
        self.about = text;
        self
    }

    /// For a row whose feature is not that of its group.
    pub(crate) fn feature(mut self, feature: &'static str) -> Self {
        self.feature = feature;
        self
    }

    /// Where browser sessions find the same handler.
    pub(crate) fn internal_path(&self) -> Option<String> {
        match self.rule {
            Rule::Public => None,
            _ => Some(format!("{INTERNAL_PATH}{}", self.path)),
        }
    }

    /// The path as the contract writes it.
    pub(crate) fn colon_path(&self) -> String {
        self.path.replace('{', ":").replace('}', "")
    }

    /// A name for the operation that no other has: `patch_posts_id`.
    pub(crate) fn operation_id(&self) -> String {
        let path = self.path.trim_matches('/').replace(['{', '}'], "");
        let path = if path.is_empty() { "root".to_owned() } else { path.replace(['/', '-'], "_") };
        format!("{}_{path}", self.method.as_str().to_lowercase())
    }
}

/// Rows of one resource, the value of `resource` in the reference, and of one feature.
pub(crate) fn group<const N: usize>(
    resource: &'static str,
    feature: &'static str,
    rows: [Route; N],
) -> Vec<Route> {
    rows.into_iter()
        .map(|row| Route {
            resource,
            feature: if row.feature.is_empty() { feature } else { row.feature },
            ..row
        })
        .collect()
}

/// Which door a mounted row stands behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    External,
    /// The same handlers for browser sessions.
    Internal,
}

/// What the guard knows of the row it stands before.
pub(crate) struct Post {
    pub(crate) rule: Rule,
    pub(crate) door: Door,
    /// Whether the handler reads the query. One that arrives later may.
    pub(crate) takes_query: bool,
    /// The whole path as a template, for logs and metrics.
    pub(crate) template: &'static str,
}

/// Turns rows into routes, each inside its own guard.
pub(crate) fn mount(mut router: Router<Shared>, rows: &[Route]) -> Router<Shared> {
    for row in rows {
        let path = format!("{BASE_PATH}{}", row.path);
        router = mount_at(router, row, row.rule, Door::External, path);
        if row.path == "/" {
            router = mount_at(router, row, row.rule, Door::External, BASE_PATH.to_owned());
        }
        if let Some(path) = row.internal_path() {
            router = mount_at(router, row, Rule::Session, Door::Internal, path);
        }
    }
    router
}

/// Rows beside the contract's.
pub(crate) fn mount_own(mut router: Router<Shared>, rows: &[Route]) -> Router<Shared> {
    for row in rows {
        router = mount_at(router, row, row.rule, Door::External, row.path.to_owned());
    }
    router
}

/// Rows that exist for browser sessions only.
pub(crate) fn mount_internal(mut router: Router<Shared>, rows: &[Route]) -> Router<Shared> {
    for row in rows {
        router = mount_at(router, row, row.rule, Door::Internal, row.path.to_owned());
    }
    router
}

fn mount_at(
    router: Router<Shared>,
    row: &Route,
    rule: Rule,
    door: Door,
    path: String,
) -> Router<Shared> {
    // Rows live as long as the program; logs and metrics keep borrowing the template.
    let template: &'static str = path.leak();
    let described = (row.describe)(&mut SchemaGenerator::default());
    let takes_query =
        row.later || described.parameters.iter().any(|parameter| parameter["in"] == "query");
    let post = Arc::new(Post { rule, door, takes_query, template });
    router.route(template, (row.mount)(post))
}
