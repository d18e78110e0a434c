//! HTTP as the doubles hear and speak it.

use std::{future::Future, io};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::Outcome;

pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) path: String,
    query: String,
    headers: HeaderMap,
    /// Null when there is none.
    pub(super) json: Value,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(super) fn bearer(&self) -> &str {
        self.header("authorization").strip_prefix("Bearer ").unwrap_or_default()
    }

    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = url::form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}

pub(super) struct Answer {
    pub(super) status: u16,
    retry_after: Option<u64>,
    body: String,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, retry_after: None, body: body.to_string() }
    }

    pub(super) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    fn into_response(self) -> io::Result<Response<Full<Bytes>>> {
        let mut response = Response::builder().status(self.status);
        if let Some(seconds) = self.retry_after {
            response = response.header("retry-after", seconds);
        }
        response.body(Full::new(self.body.into())).map_err(io::Error::other)
    }
}

pub(super) struct Port {
    listener: TcpListener,
    pub(super) origin: String,
}

impl Port {
    pub(super) async fn open() -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        Ok(Self { listener, origin })
    }

    /// Answers in the background; `None` cuts the connection.
    pub(super) fn serve<F>(self, answer: impl Fn(Asked) -> F + Clone + Send + 'static)
    where
        F: Future<Output = Option<Answer>> + Send + 'static,
    {
        tokio::spawn(async move {
            while let Ok((stream, _)) = self.listener.accept().await {
                let answer = answer.clone();
                let service = service_fn(move |request| exchange(request, answer.clone()));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
    }
}

async fn exchange<F>(
    request: Request<Incoming>,
    answer: impl Fn(Asked) -> F,
) -> io::Result<Response<Full<Bytes>>>
where
    F: Future<Output = Option<Answer>> + Send + 'static,
{
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let asked = Asked {
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        json: serde_json::from_slice(&body).unwrap_or_default(),
    };
    // In a task of its own: what a platform has begun, it ends, even when the caller is gone.
    let answer = tokio::spawn(answer(asked)).await.map_err(io::Error::other)?;
    answer.ok_or_else(|| io::ErrorKind::ConnectionReset.into()).and_then(Answer::into_response)
}
