//! A connection by hand, for what takes more than one request and one answer.

use std::{
    io::{Error, ErrorKind, Read, Result, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

use super::wire::{self, Reply};

const PATIENCE: Duration = Duration::from_secs(60);

/// Whatever was read beyond the last answer is kept for the next one.
pub(crate) struct Socket {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Socket {
    pub(super) fn open(from: [u8; 4], port: u16) -> Self {
        let stream = connect(from, port).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout can be set");
        stream.set_nodelay(true).expect("an option of every socket");
        Self { stream, heard: Vec::new() }
    }

    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// How long to wait for the service to say anything.
    pub(crate) fn patience(self, patience: Duration) -> Self {
        self.stream.set_read_timeout(Some(patience)).expect("a timeout can be set");
        self
    }

    /// Says that nothing more will be said; the service may still answer.
    pub(crate) fn finish(&mut self) {
        // It may be closed already, which is as good.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// The next answer, which must be whole; it leaves the connection open.
    pub(crate) fn hear(&mut self) -> Result<Reply> {
        loop {
            if let Some((reply, length)) = wire::first(&self.heard) {
                self.heard.drain(..length);
                return Ok(reply);
            }
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk)? {
                0 => return Err(Error::new(ErrorKind::UnexpectedEof, "closed before an answer")),
                count => self.heard.extend_from_slice(&chunk[..count]),
            }
        }
    }

    /// Everything that comes until the service closes the connection. A reset ends it as well.
    pub(crate) fn hear_out(mut self) -> Result<Vec<u8>> {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(self.heard),
                Ok(count) => self.heard.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(self.heard),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The standard library cannot choose the address that a connection comes from.
fn connect(from: [u8; 4], port: u16) -> Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((from, 0)))?;
        socket.connect((Ipv4Addr::LOCALHOST, port).into()).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}
