//! The store on both engines: transactions, migrations, statements, the audit chain.

mod audit;
mod lab;
mod migrations;
mod statements;
mod transactions;
