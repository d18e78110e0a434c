//! The network as the client sees it: name lookup, connecting, trusted authorities.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rustls::RootCertStore;
use tokio::net::TcpStream;

/// Looks up names. Whatever it answers is judged by the client.
pub trait Resolver: Send + Sync {
    /// All addresses of the host, best first.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Opens connections to addresses the client has judged.
pub trait Dialer: Send + Sync {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>>;
}

/// What a client connects through.
#[derive(Clone)]
pub struct Network {
    pub resolver: Arc<dyn Resolver>,
    pub dialer: Arc<dyn Dialer>,
    /// Authorities whose certificates are believed.
    pub roots: RootCertStore,
}

impl Network {
    /// The machine's own name lookup and sockets, with Mozilla's list of authorities.
    pub fn system() -> Self {
        let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        Self { resolver: Arc::new(SystemResolver), dialer: Arc::new(SystemDialer), roots }
    }
}

struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            // Only the addresses are used; the port is the business of the caller.
            let answers = tokio::net::lookup_host((host, 0)).await?;
            Ok(answers.map(|answer| answer.ip()).collect())
        })
    }
}

struct SystemDialer;

impl Dialer for SystemDialer {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }
}
