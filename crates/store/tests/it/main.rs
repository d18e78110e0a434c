//! The store on both engines: transactions, migrations, statements, the audit chain.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod audit;
mod lab;
mod migrations;
mod statements;
mod transactions;
