//! The Bluesky platform against the reference server, which `scripts/peers.sh start` starts.

mod connecting;
mod failing;
mod fake;
mod figures;
mod limits;
mod proxy;
mod publishing;
mod renewing;
#[path = "../shared/verdict.rs"]
mod verdict;
mod video;
mod world;
