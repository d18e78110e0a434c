//! A service whose way to a network goes wrong.

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab},
    peer::{self, Peer},
};

use super::{
    proxy::Proxy,
    world::{Network, Person, connect},
};

/// A service with an account that it reaches through a proxy only.
pub(super) struct Detour {
    pub(super) lab: Lab,
    pub(super) proxy: Proxy,
    pub(super) person: Person,
    pub(super) connection: String,
    /// Bluesky's directory decides where an account lives, so this one names the proxy.
    _directory: Peer,
}

impl Detour {
    pub(super) fn start(engine: Engine, network: Network) -> Self {
        Self::spoiling(engine, network, network.call())
    }

    /// The same for a request that begins otherwise than the one that publishes.
    pub(super) fn spoiling(engine: Engine, network: Network, call: &'static str) -> Self {
        let proxy = Proxy::before(&network.origin(), call);
        let origin = proxy.origin();
        let home = origin.clone();
        let directory = Peer::start(move |path, stream| {
            let document = json!({
                "id": path.trim_start_matches('/'),
                "service": [{
                    "id": "#atproto_pds", "type": "AtprotoPersonalDataServer",
                    "serviceEndpoint": home,
                }],
            });
            peer::give(stream, "application/json", document.to_string().as_bytes())
        });
        let plc = directory.url("");
        let settings =
            [("CAMPANILE_BLUESKY_URL", &*origin), ("CAMPANILE_PLC_URL", plc.trim_end_matches('/'))];
        let lab = Lab::start_with(engine, &settings);
        let person = Person::new(network);
        let connection = connect(&lab, network, person.form_at(&origin));
        Self { lab, proxy, person, connection, _directory: directory }
    }

    /// A post to the account with these words.
    pub(super) fn draft(&self, content: &str) -> Value {
        json!({ "content": content, "targets": [{ "connection_id": self.connection }] })
    }
}
