//! The reference for group commit: the leanest server that writes the same rows and commits
//! each request by itself. It asks for no key and checks nothing.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use campanile_model::{
    ids::{AuditId, PostId},
    label::Tag,
    post::Draft,
    time::Millis,
};
use rusqlite::{Connection, params};
use tokio::runtime::Runtime;

use crate::{Outcome, bare};

#[derive(serde::Deserialize)]
struct Request {
    content: String,
    tags: Vec<Tag>,
}

/// Whose rows are written; the same for all of them.
struct Owner {
    workspace: String,
    brand: String,
    user: String,
}

struct Desk {
    connection: Mutex<Connection>,
    owner: Owner,
}

pub(crate) const PATH: &str = "/api/external/v1/posts";

/// Serves a database that the service has made, until the process is ended. The first line on
/// standard output is the address.
pub(crate) fn serve(file: &Path) -> Outcome {
    let connection = Connection::open(file)?;
    // As the service has it; the checkpoints are left to SQLite.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY;",
    )?;
    connection.set_prepared_statement_cache_capacity(16);
    let owner = connection.query_row(
        "SELECT b.workspace_id, b.id, m.user_id FROM brands b
           JOIN memberships m ON m.brand_id = b.id",
        [],
        |row| Ok(Owner { workspace: row.get(0)?, brand: row.get(1)?, user: row.get(2)? }),
    )?;
    let desk = Arc::new(Desk { connection: Mutex::new(connection), owner });
    let route = post(move |body: Bytes| answer(desk.clone(), body));
    let runtime = Runtime::new()?;
    println!("{}", bare::serve(&runtime, Router::new().route(PATH, route))?);
    loop {
        std::thread::park();
    }
}

async fn answer(desk: Arc<Desk>, body: Bytes) -> Response {
    let written = tokio::task::spawn_blocking(move || desk.write(&body)).await;
    match written.map_err(Into::into).flatten() {
        Ok(json) => (StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], json)
            .into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The ids count up by themselves from here.
const NOW: Millis = 1_794_700_800_000;

impl Desk {
    fn write(&self, body: &[u8]) -> Outcome<String> {
        let request: Request = serde_json::from_slice(body)?;
        let draft = Draft { content: request.content, tags: request.tags, ..Draft::default() };
        let (search, json) = (draft.searchable(), serde_json::to_string(&draft)?);
        let (post, audit, request) =
            (PostId::new(NOW), AuditId::new(NOW), campanile_model::ids::RequestId::new(NOW));
        let Owner { workspace, brand, user } = &self.owner;
        let mut connection = self.connection.lock().map_err(|_| "another request failed")?;
        let transaction = connection.transaction()?;
        transaction
            .prepare_cached(
                "INSERT INTO posts (brand_id, id, status, created_by, created_at, updated_at,
                                    document, search)
                 VALUES (?1, ?2, 'Draft', ?3, ?4, ?4, ?5, ?6)",
            )?
            .execute(params![brand, post.as_str(), user, NOW, json, search])?;
        transaction
            .prepare_cached(
                "INSERT INTO brand_counts (brand_id, shard, kind, amount)
                 VALUES (?1, 0, 'Draft', 1)
                 ON CONFLICT (brand_id, shard, kind)
                 DO UPDATE SET amount = brand_counts.amount + excluded.amount",
            )?
            .execute([brand])?;
        for Tag(tag) in &draft.tags {
            transaction
                .prepare_cached(
                    "INSERT INTO post_tags (brand_id, tag, post_id) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![brand, tag, post.as_str()])?;
        }
        transaction
            .prepare_cached(
                "INSERT INTO audit_log (workspace_id, id, brand_id, user_id, door, request_id, ip,
                                        action, resource, resource_id, after, created_at)
                 VALUES (?1, ?2, ?3, ?4, 'key', ?5, '127.0.0.1',
                         'post.created', 'post', ?6, ?7, ?8)",
            )?
            .execute(params![
                workspace,
                audit.as_str(),
                brand,
                user,
                request.as_str(),
                post.as_str(),
                json,
                NOW
            ])?;
        transaction.commit()?;
        Ok(json)
    }
}
