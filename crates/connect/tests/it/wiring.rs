//! A network without wires: names and connections as a test lays them.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use campanile_connect::http::{Dialer, Resolver};
use campanile_connect::{DownloadLimits, Downloaded, FetchError, Http, Network, Policy};
use futures_util::future::BoxFuture;
use tokio::net::TcpStream;

pub(crate) const PUBLIC: &str = "93.184.216.34";

/// Names with the answers they give, one after the other, then from the start again.
#[derive(Default)]
pub(crate) struct Names {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    lookups: AtomicUsize,
}

impl Names {
    pub(crate) fn with(mut self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |text: &&str| text.parse().expect("an address");
        let answers = answers.iter().map(|answer| answer.iter().map(parse).collect()).collect();
        self.answers.insert(name.to_owned(), answers);
        self
    }

    pub(crate) fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let turn = self.lookups.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers.get(host).map(|answers| answers[turn % answers.len()].clone());
        Box::pin(async move { answer.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }
}

/// Notes who is called, and connects to one peer or to nobody.
#[derive(Default)]
pub(crate) struct Switchboard {
    pub(crate) peer: Option<SocketAddr>,
    called: Mutex<Vec<SocketAddr>>,
}

impl Switchboard {
    pub(crate) fn to(peer: SocketAddr) -> Self {
        Self { peer: Some(peer), called: Mutex::default() }
    }

    pub(crate) fn called(&self) -> Vec<SocketAddr> {
        self.called.lock().expect("no test has failed inside").clone()
    }
}

impl Dialer for Switchboard {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        self.called.lock().expect("no test has failed inside").push(address);
        Box::pin(async move {
            match self.peer {
                Some(peer) => TcpStream::connect(peer).await,
                None => Err(io::ErrorKind::ConnectionRefused.into()),
            }
        })
    }
}

pub(crate) fn strict() -> Policy {
    Policy::default()
}

pub(crate) fn strict_but_http() -> Policy {
    Policy { allow_http: true, ..Policy::default() }
}

pub(crate) fn private() -> Policy {
    Policy { allow_private: true, ..Policy::default() }
}

/// A client over these names and this switchboard.
pub(crate) fn client(policy: Policy, names: &Arc<Names>, board: &Arc<Switchboard>) -> Http {
    let network = Network { resolver: names.clone(), dialer: board.clone(), ..Network::system() };
    Http::over(policy, network)
}

/// Downloads with small limits and gives what came along with the outcome.
pub(crate) async fn fetch(http: &Http, url: &str) -> (Result<Downloaded, FetchError>, Vec<u8>) {
    let mut sink = Vec::new();
    let outcome = http.download(url, &DownloadLimits::up_to(1024), &mut sink).await;
    (outcome, sink)
}

/// The stable code of a download that must fail.
pub(crate) async fn failure(http: &Http, url: &str) -> &'static str {
    match fetch(http, url).await.0 {
        Ok(downloaded) => panic!("{url} was downloaded: {downloaded:?}"),
        Err(error) => error.code(),
    }
}
