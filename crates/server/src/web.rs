//! The whole router: the table, the internal routes, signed files and the documentation.

use axum::{
    Router,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::{get, post, put},
};

use campanile_store::publish::queue;

use crate::{api, app::Shared, files, openapi, problem::Problem, route, run};

pub(crate) fn router(app: &Shared) -> Router {
    let router = route::mount(Router::new(), &api::table());
    let router = route::mount_internal(router, &api::internal_table());
    let router = route::mount_own(router, &api::own_table());
    router
        .route("/api/internal/publish-run", post(run::publish))
        .route("/uploads/{id}", put(files::upload))
        .route("/media/{workspace}/{blob}", get(files::read))
        .route("/openapi.json", get(async || openapi::document()))
        .route(
            "/docs",
            get(async || page(include_str!("../web/docs.html"), "text/html; charset=utf-8")),
        )
        .route("/docs/docs.css", get(async || page(include_str!("../web/docs.css"), "text/css")))
        .route(
            "/docs/docs.js",
            get(async || page(include_str!("../web/docs.js"), "text/javascript")),
        )
        .fallback(async || Problem::not_found())
        .with_state(app.clone())
}

const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'";

fn page(text: &'static str, kind: &'static str) -> Response {
    let mut response = text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    response
}

/// What the operator's own listener serves.
pub(crate) fn metrics_router(app: Shared) -> Router {
    Router::new().route(
        "/metrics",
        get(async move || {
            let ages = async { queue::ages(&mut app.db.read().await?, app.now()).await };
            // A store that does not answer shows in other ways; what is known is still told.
            let ages = ages.await.unwrap_or_default();
            (
                [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
                app.metrics.render(app.db.work_done(), &ages),
            )
        }),
    )
}
