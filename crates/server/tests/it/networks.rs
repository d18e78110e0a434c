//! Publishing to real networks: the reference server of Bluesky, and one that behaves as
//! Mastodon does. `scripts/peers.sh start` runs both; every test makes its own accounts there.

mod connecting;
mod detour;
mod double;
mod limits;
mod proxy;
mod publishing;
mod refusals;
mod threads;
mod troubles;
mod world;
