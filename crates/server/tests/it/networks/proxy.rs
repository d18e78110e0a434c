//! Stands between the service and a network, and spoils the call that publishes.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::lab::wait_until;

/// What becomes of calls that publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    /// The network does it; its answer is lost.
    LoseAnswer,
    /// It waits before the network has heard of it.
    HoldRequest,
    /// The network has done it; its answer waits.
    HoldAnswer,
    /// It never gets there.
    LoseRequest,
}

struct State {
    fate: Fate,
    /// Requests of every kind.
    requests: usize,
    /// Calls that came, and calls that the network has carried out.
    arrived: usize,
    carried: usize,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    server: SocketAddr,
    call: &'static str,
}

pub(super) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    /// `call` is how the request that publishes begins; all others pass.
    pub(super) fn before(origin: &str, call: &'static str) -> Self {
        let server = origin.trim_start_matches("http://").parse().expect("an address and a port");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let state = Mutex::new(State { fate: Fate::Pass, requests: 0, arrived: 0, carried: 0 });
        let shared = Arc::new(Shared { state, changed: Condvar::new(), server, call });
        let own = shared.clone();
        // Ends with the tests: whoever connects later is served as well.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = own.clone();
                thread::spawn(move || shared.carry(client));
            }
        });
        Self { address, shared }
    }

    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Decides for calls to come, and for those that wait.
    pub(super) fn set(&self, fate: Fate) {
        self.shared.state().fate = fate;
        self.shared.changed.notify_all();
    }

    pub(super) fn await_call(&self) {
        wait_until("the call has come", || self.shared.state().arrived > 0);
    }

    pub(super) fn await_effect(&self) {
        wait_until("the network has carried out the call", || self.carried() > 0);
    }

    pub(super) fn requests(&self) -> usize {
        self.shared.state().requests
    }

    pub(super) fn carried(&self) -> usize {
        self.shared.state().carried
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while calls have this fate, and says which one they have then.
    fn while_held(&self, held: Fate) -> Fate {
        let mut state = self.state();
        while state.fate == held {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.fate
    }

    /// Takes one request to the server and its answer back. A failure is somebody hanging up.
    fn carry(&self, mut client: TcpStream) -> Option<()> {
        client.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        let request = read_request(&mut client)?;
        self.state().requests += 1;
        let publishes = request.starts_with(self.call.as_bytes());
        if publishes {
            self.state().arrived += 1;
            if self.while_held(Fate::HoldRequest) == Fate::LoseRequest {
                return None;
            }
        }
        let mut server = TcpStream::connect(self.server).ok()?;
        server.write_all(&request).ok()?;
        let mut answer = Vec::new();
        // The service asks for connections that end with their answer.
        server.read_to_end(&mut answer).ok()?;
        if publishes {
            self.state().carried += usize::from(answer.starts_with(b"HTTP/1.1 200"));
            if self.while_held(Fate::HoldAnswer) == Fate::LoseAnswer {
                return None;
            }
        }
        client.write_all(&answer).ok()
    }
}

pub(super) fn read_request(client: &mut TcpStream) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        if let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(Some(0), |length| length.trim().parse().ok())?;
            if request.len() >= end + 4 + length {
                return Some(request);
            }
        }
        match client.read(&mut piece) {
            Ok(count) if count > 0 => request.extend_from_slice(&piece[..count]),
            _ => return None,
        }
    }
}
