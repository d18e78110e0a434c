//! The only HTTP client: every request of the service to the outside goes through here.

mod answer;
mod connect;
mod deadline;
mod download;
mod error;
mod exchange;
mod network;
mod pace;
mod upload;

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::ring;

pub use answer::{AnswerLimits, Overflow};
pub use download::{DownloadLimits, Downloaded};
pub use error::{FetchError, Phase};
pub use network::{Dialer, Network, Resolver};
pub use pace::MinimumPace;
pub use upload::Upload;

use crate::policy::Policy;

/// A guarded HTTP client; clones share everything and cost nothing.
///
/// Every request is judged by the [`Policy`], looks its host up once, refuses unless all answers
/// are admitted, and connects to one of those very answers. Connections are never reused, nothing
/// is retried, and no proxy, cookie or credential is taken from the surroundings.
#[derive(Clone)]
pub struct Http {
    parts: Arc<Parts>,
}

struct Parts {
    policy: Policy,
    network: Network,
    tls: Arc<ClientConfig>,
}

impl Http {
    /// A client on the real network, trusting the certificate authorities browsers trust.
    pub fn new(policy: Policy) -> Self {
        Self::over(policy, Network::system())
    }

    /// A client on a network of the caller's making.
    pub fn over(policy: Policy, network: Network) -> Self {
        // The provider is named here: a process-wide default would be a hidden dependency.
        let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring supports the default protocol versions")
            .with_root_certificates(network.roots.clone())
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A resumed session would tie requests of different users together.
        tls.resumption = rustls::client::Resumption::disabled();
        Self { parts: Arc::new(Parts { policy, network, tls: Arc::new(tls) }) }
    }

    /// The rules this client keeps.
    pub fn policy(&self) -> &Policy {
        &self.parts.policy
    }
}

impl std::fmt::Debug for Http {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Http").field("policy", self.policy()).finish_non_exhaustive()
    }
}
