//! A server on loopback that takes every POST, and notes when its first byte came.

use std::{io, net::Ipv4Addr, net::SocketAddr, thread};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime,
};

use super::arrivals::{Arrivals, micros};
use crate::Outcome;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
/// Far more than the one request that is expected.
const LONGEST: usize = 16 * 1024;

pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) arrivals: Arrivals,
}

impl Peer {
    /// Serves until the program ends, on a thread of its own: what is noted must not wait for
    /// the engine that is measured.
    pub(super) fn start() -> Outcome<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let peer = Self { address: listener.local_addr()?, arrivals: Arrivals::default() };
        let arrivals = peer.arrivals.clone();
        thread::spawn(move || runtime.block_on(accept(listener, arrivals)));
        Ok(peer)
    }
}

async fn accept(listener: TcpListener, arrivals: Arrivals) {
    loop {
        // One that fails shows as a post that is missing.
        if let Ok((stream, _)) = listener.accept().await {
            let arrivals = arrivals.clone();
            tokio::spawn(async move { receive(stream, &arrivals).await });
        }
    }
}

/// The body is the due time and ends with the only line break that is not part of the head.
async fn receive(mut stream: TcpStream, arrivals: &Arrivals) -> io::Result<()> {
    let mut request = Vec::with_capacity(1024);
    stream.read_buf(&mut request).await?;
    let at = micros();
    while request.len() < LONGEST {
        if let Some(due) = body(&request) {
            arrivals.note(due, at);
            return stream.write_all(ANSWER).await;
        }
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// `None` until the request is there as a whole.
fn body(request: &[u8]) -> Option<i64> {
    let (_, body) = std::str::from_utf8(request).ok()?.split_once("\r\n\r\n")?;
    body.strip_suffix('\n')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_once_it_is_whole() {
        let head = "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
        assert_eq!(body(format!("{head}1794700800000\n").as_bytes()), Some(1_794_700_800_000));
        assert_eq!(body(format!("{head}17947008").as_bytes()), None);
        assert_eq!(body(b"POST / HTTP/1.1\r\n"), None);
    }
}
