//! The Mastodon platform against servers: the mock that `scripts/peers.sh` starts, which behaves
//! as Mastodon does, and a double of our own, which behaves as the other servers do.

/// Runs each of these on the mock and on the double.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod mock {
            use crate::world::{FAULTS, World};
            $(#[tokio::test]
            async fn $name() {
                let _nobody_sets_faults = FAULTS.read().await;
                super::$name(World::mock().await).await;
            })*
        }
        mod double {
            use crate::world::World;
            $(#[tokio::test]
            async fn $name() {
                super::$name(World::double().await).await;
            })*
        }
    };
}

mod accounts;
mod both;
mod certainty;
mod double;
mod files;
mod habits;
mod journeys;
mod proxy;
mod shapes;
#[path = "../shared/verdict.rs"]
mod verdict;
mod world;
