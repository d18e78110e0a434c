//! From a judged target to an open connection, by the one lookup that was checked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rustls::pki_types::{DnsName, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use url::Host;

use super::Http;
use super::deadline::Deadline;
use super::error::{FetchError, Phase};
use crate::target::{Refused, Target};

/// Most addresses of one host that are tried: a name may have hundreds.
const MAX_ATTEMPTS: u32 = 6;

/// A connection, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Http {
    /// Opens a fresh connection; lookup, connecting and handshake may each take `limit`.
    pub(super) async fn connect(
        &self,
        target: &Target,
        limit: Duration,
        deadline: Deadline,
    ) -> Result<Box<dyn Stream>, FetchError> {
        let addresses = deadline.run(Phase::Lookup, limit, self.look_up(target)).await??;
        let stream =
            deadline.run(Phase::Connect, limit, self.dial(&addresses, target.port(), limit));
        let stream = stream.await??;
        if !target.is_encrypted() {
            return Ok(Box::new(stream));
        }
        deadline.run(Phase::Handshake, limit, self.secure(target, stream)).await?
    }

    /// The addresses of the host, if every one of them is admitted.
    ///
    /// One bad answer spoils all: a name that leads to a public and a private host at once has
    /// no honest use.
    async fn look_up(&self, target: &Target) -> Result<Vec<IpAddr>, FetchError> {
        let addresses = match target.host() {
            Host::Domain(name) => {
                self.parts.network.resolver.resolve(name).await.map_err(FetchError::Dns)?
            }
            Host::Ipv4(ip) => vec![IpAddr::V4(*ip)],
            Host::Ipv6(ip) => vec![IpAddr::V6(*ip)],
        };
        if addresses.is_empty() {
            return Err(FetchError::Dns(io::Error::from(io::ErrorKind::NotFound)));
        }
        if !addresses.iter().all(|address| self.policy().admits_address(*address)) {
            return Err(Refused::PrivateNetwork.into());
        }
        let port = target.port();
        if addresses.iter().any(|address| self.policy().is_own_socket(*address, port)) {
            return Err(Refused::OwnHost.into());
        }
        Ok(addresses)
    }

    /// Tries one address after the other, each with a fair share of the time left, so that a
    /// first address which swallows packets does not hide a second that works.
    async fn dial(
        &self,
        addresses: &[IpAddr],
        port: u16,
        limit: Duration,
    ) -> Result<TcpStream, FetchError> {
        let end = Instant::now() + limit;
        let attempts = u32::try_from(addresses.len()).map_or(MAX_ATTEMPTS, |n| n.min(MAX_ATTEMPTS));
        let mut failure = io::Error::from(io::ErrorKind::NotConnected);
        for (address, attempts_left) in addresses.iter().zip((1..=attempts).rev()) {
            let share = end.saturating_duration_since(Instant::now()) / attempts_left;
            let dialing = self.parts.network.dialer.dial(SocketAddr::new(*address, port));
            match timeout(share, dialing).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => failure = error,
                Err(_) => failure = io::ErrorKind::TimedOut.into(),
            }
        }
        if failure.kind() == io::ErrorKind::TimedOut {
            return Err(FetchError::Timeout { phase: Phase::Connect });
        }
        Err(FetchError::Connect(failure))
    }

    async fn secure(
        &self,
        target: &Target,
        stream: TcpStream,
    ) -> Result<Box<dyn Stream>, FetchError> {
        let name = match target.host() {
            Host::Domain(name) => {
                let name = DnsName::try_from(name.clone()).map_err(|_| Refused::Malformed)?;
                ServerName::DnsName(name)
            }
            Host::Ipv4(ip) => ServerName::IpAddress((*ip).into()),
            Host::Ipv6(ip) => ServerName::IpAddress((*ip).into()),
        };
        let connector = TlsConnector::from(self.parts.tls.clone());
        let stream = connector.connect(name, stream).await.map_err(FetchError::Tls)?;
        Ok(Box::new(stream))
    }
}
