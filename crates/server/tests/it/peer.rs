//! A web server inside the test, for the service to fetch from.

use std::{
    io::{Read, Result, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Answers every connection in a thread of its own. Dropping it closes its port.
pub(crate) struct Peer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    closing: Arc<AtomicBool>,
}

impl Peer {
    /// `answer` gets the path that was asked for and writes what it likes. A failure to write is
    /// the service hanging up, which is its right.
    pub(crate) fn start<A>(answer: A) -> Self
    where
        A: Fn(&str, &mut TcpStream) -> Result<()> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let (connections, closing) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let peer = Self { address, connections: connections.clone(), closing: closing.clone() };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if closing.load(Ordering::SeqCst) {
                    return;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let answer = answer.clone();
                thread::spawn(move || attend(stream, &*answer));
            }
        });
        peer
    }

    /// Serves the media crate's fixtures, under a content type that nobody should believe.
    pub(crate) fn files() -> Self {
        Self::start(|path, stream| give(stream, "text/plain", &fixture(path.trim_matches('/'))))
    }

    /// Serves one file under every path.
    pub(crate) fn of(file: Vec<u8>) -> Self {
        Self::start(move |_, stream| give(stream, "image/png", &file))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections came so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

fn attend(mut stream: TcpStream, answer: &dyn Fn(&str, &mut TcpStream) -> Result<()>) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        request.push(byte[0]);
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let _ = answer(&path, &mut stream);
}

/// A whole file with its length.
pub(crate) fn give(stream: &mut TcpStream, kind: &str, body: &[u8]) -> Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

/// The head of an answer that ends with the connection, whenever that is.
pub(crate) fn begin(stream: &mut TcpStream) -> Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nconnection: close\r\n\r\n")
}

pub(crate) fn redirect(stream: &mut TcpStream, status: u16, location: &str) -> Result<()> {
    let head = format!(
        "HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures");
    let path = format!("{folder}/{name}");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A video that is valid and as large as one likes: a box that players skip fills it up.
pub(crate) fn give_large_video(stream: &mut TcpStream, filler: u32) -> Result<()> {
    let video = fixture("telemetry.mp4");
    let length = video.len() as u64 + 8 + u64::from(filler);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&video)?;
    stream.write_all(&(filler + 8).to_be_bytes())?;
    stream.write_all(b"free")?;
    let chunk = vec![0; 64 * 1024];
    let mut left = filler as usize;
    while left > 0 {
        let step = left.min(chunk.len());
        stream.write_all(&chunk[..step])?;
        left -= step;
    }
    Ok(())
}
