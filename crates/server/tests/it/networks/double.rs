//! A server with Mastodon's interface whose words a test chooses.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::proxy::read_request;

/// What it says when it is asked.
pub(super) struct Words {
    pub(super) account: &'static str,
    pub(super) characters: u32,
    /// How often it was asked about itself, and whether it then keeps silent.
    pub(super) questions: usize,
    pub(super) is_mute: bool,
    /// What a call that publishes is answered.
    pub(super) publish: u16,
    /// What it took, and how much it takes before it refuses everything.
    pub(super) statuses: Vec<Value>,
    pub(super) most: usize,
}

/// Ends with the tests: whoever connects later is served as well.
pub(super) struct Double {
    address: SocketAddr,
    words: Arc<Mutex<Words>>,
}

impl Double {
    /// With an account of this name, which it calls number 1 like every server its first one.
    pub(super) fn of(account: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let words = Arc::new(Mutex::new(Words {
            account,
            characters: 500,
            questions: 0,
            is_mute: false,
            publish: 200,
            statuses: Vec::new(),
            most: usize::MAX,
        }));
        let own = words.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let words = own.clone();
                thread::spawn(move || attend(client, &words));
            }
        });
        Self { address, words }
    }

    pub(super) fn words(&self) -> MutexGuard<'_, Words> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What connects its account.
    pub(super) fn form(&self) -> Value {
        json!({ "server": self.origin(), "access_token": "any" })
    }
}

fn attend(mut client: TcpStream, words: &Mutex<Words>) -> Option<()> {
    let request = read_request(&mut client)?;
    let request = String::from_utf8_lossy(&request);
    let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let mut line = request.split(' ');
    let (method, path) = (line.next()?, line.next()?);
    // The lock must be free again before anybody keeps silent.
    let answer = answer(&mut *words.lock().ok()?, method, path, body);
    let Some((status, body)) = answer else {
        thread::sleep(Duration::from_secs(60));
        return None;
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes()).ok()
}

/// `None` when it keeps silent.
fn answer(words: &mut Words, method: &str, path: &str, body: &str) -> Option<(u16, Value)> {
    let path = path.split('?').next().unwrap_or_default();
    Some(match (method, path) {
        ("GET", "/api/v2/instance") if words.is_mute => return None,
        ("GET", "/api/v2/instance") => {
            words.questions += 1;
            let statuses = json!({ "max_characters": words.characters });
            let about = json!({ "version": "4.7.0", "configuration": { "statuses": statuses } });
            (200, about)
        }
        ("GET", "/api/v1/accounts/verify_credentials") => {
            (200, json!({ "id": "1", "acct": words.account }))
        }
        ("GET", "/api/v1/accounts/1/statuses") => (200, json!([])),
        ("POST", "/api/v1/statuses") if words.statuses.len() >= words.most => {
            (422, json!({ "error": "Validation failed" }))
        }
        ("POST", "/api/v1/statuses") if words.publish == 200 => {
            words.statuses.push(serde_json::from_str(body).unwrap_or_default());
            (200, json!({ "id": words.statuses.len().to_string() }))
        }
        ("POST", "/api/v1/statuses") => (words.publish, json!({ "id": "7", "error": "No" })),
        _ => (404, json!({ "error": "Not Found" })),
    })
}
