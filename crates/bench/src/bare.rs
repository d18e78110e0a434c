//! The yardstick: axum with nothing around it, returning bytes that are ready.

use std::net::{Ipv4Addr, SocketAddr};

use axum::{Router, http::header, routing::get};
use bytes::Bytes;
use tokio::{net::TcpListener, runtime::Runtime};

use crate::Outcome;

/// A server of one route that answers with `body`.
pub(crate) fn serve_bytes(runtime: &Runtime, path: &str, body: Vec<u8>) -> Outcome<SocketAddr> {
    let body = Bytes::from(body);
    let answer = move || {
        let body = body.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], body) }
    };
    serve(runtime, Router::new().route(path, get(answer)))
}

/// Serves until the program ends. It runs in this process, which waits for wrk meanwhile.
pub(crate) fn serve(runtime: &Runtime, router: Router) -> Outcome<SocketAddr> {
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let address = listener.local_addr()?;
    runtime.spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}
