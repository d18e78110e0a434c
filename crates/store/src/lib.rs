//! ROWS. The only crate that knows SQL.

pub mod audit;
pub mod brands;
pub mod connections;
pub mod counts;
pub mod db;
pub mod folders;
pub mod idempotency;
pub mod identity;
pub mod keys;
pub mod media;
pub mod migrate;
pub mod outbox;
pub mod page;
pub mod posts;
pub mod publish;
pub mod sandbox;
pub mod settings;
pub mod tenant;
pub mod users;

pub use db::{Conn, Db, StoreError, Tx};
