//! WORDS. What the service speaks of: pure, no I/O, no clock of its own.

pub mod decode;
pub mod folder;
pub mod ids;
pub mod label;
pub mod post;
pub mod publish;
pub mod scope;
pub mod settings;
pub mod time;
