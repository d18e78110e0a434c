//! `POST /api/internal/publish-run`: for deployments that are woken from outside.

use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use crate::{
    answer::Answer,
    app::Shared,
    problem::{Code, Problem},
};

/// Looks at the queue now. Without a runner in this process, it publishes what is due and
/// answers when that is done.
pub(crate) async fn publish(State(app): State<Shared>, headers: HeaderMap) -> Response {
    match permitted(&app, &headers) {
        Err(problem) => problem.into_response(),
        Ok(()) if app.config.no_runner => {
            let taken_up = campanile_engine::run_once(&app.engine).await;
            answer(&json!({ "status": "done", "taken_up": taken_up }))
        }
        Ok(()) => {
            app.engine.ring();
            answer(&json!({ "status": "runner_woken" }))
        }
    }
}

fn answer(value: &Value) -> Response {
    Answer::<Value>::written(value.to_string()).into_response()
}

fn permitted(app: &Shared, headers: &HeaderMap) -> Result<(), Problem> {
    // Without a secret there is no such route.
    let secret = app.config.run_secret.as_deref().ok_or_else(Problem::not_found)?;
    let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let sent = sent.and_then(|text| text.strip_prefix("Bearer ")).unwrap_or_default();
    if bool::from(sent.as_bytes().ct_eq(secret.as_bytes())) {
        return Ok(());
    }
    Err(Problem::new(Code::Unauthenticated, "Send the server's run secret as a bearer token."))
}
