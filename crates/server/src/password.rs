//! Passwords: argon2id, one at a time, in memory that is used again.

use std::sync::{OnceLock, mpsc};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, oneshot};
use unicode_normalization::UnicodeNormalization;

use crate::{
    problem::{Code, Problem},
    vault,
};

pub(crate) const SHORTEST: usize = 10;
pub(crate) const LONGEST_BYTES: usize = 256;

const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
/// Names algorithm and cost in a stored hash; another cost will get another name.
const SCHEME: &str = "argon2id-19m-2-1";
/// Who may wait. Without an end to the line, signing in would be a way to fill the memory.
const IN_LINE: usize = 18;

type Work = Box<dyn FnOnce(&mut Furnace) + Send>;

pub(crate) struct Passwords {
    line: Semaphore,
    worker: OnceLock<mpsc::Sender<Work>>,
    /// Checked when there is no such user, so that both answers take the same time.
    decoy: OnceLock<String>,
}

impl Passwords {
    pub(crate) fn new() -> Self {
        Self { line: Semaphore::new(IN_LINE), worker: OnceLock::new(), decoy: OnceLock::new() }
    }

    pub(crate) async fn hash(&self, password: &str) -> Result<String, Problem> {
        let password = normal(password);
        self.in_turn(move |furnace| furnace.hash(&password)).await?.ok_or_else(busy)
    }

    /// Whether the password belongs to the hash; with no hash it never does.
    pub(crate) async fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool, Problem> {
        let known = hash.is_some();
        let hash = match hash {
            Some(hash) => hash.to_owned(),
            None => self.decoy().await?,
        };
        let password = normal(password);
        let matches = self.in_turn(move |furnace| furnace.verify(&password, &hash)).await?;
        Ok(matches && known)
    }

    /// Made on first need: a start should not wait for it.
    async fn decoy(&self) -> Result<String, Problem> {
        if let Some(decoy) = self.decoy.get() {
            return Ok(decoy.clone());
        }
        let made = self.hash(&crate::credential::random_text(24)).await?;
        Ok(self.decoy.get_or_init(|| made).clone())
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Furnace) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let _place = self.line.try_acquire().map_err(|_| busy())?;
        let (done, outcome) = oneshot::channel();
        let work: Work = Box::new(move |furnace| {
            // Nobody listens when the caller has gone away.
            let _ = done.send(work(furnace));
        });
        self.worker.get_or_init(hire).send(work).map_err(|_| busy())?;
        outcome.await.map_err(|_| busy())
    }
}

/// One thread with one block of memory: so signing in never takes more than a core and 19 MiB.
fn hire() -> mpsc::Sender<Work> {
    let (sender, line) = mpsc::channel::<Work>();
    let hired = std::thread::Builder::new().name("password".to_owned()).spawn(move || {
        let mut furnace = Furnace::default();
        while let Ok(work) = line.recv() {
            work(&mut furnace);
        }
    });
    if let Err(error) = hired {
        tracing::error!(error = &error as &dyn std::error::Error, "no thread for passwords");
    }
    sender
}

fn busy() -> Problem {
    Problem::new(Code::Unavailable, "Too many people sign in at once; try again in a moment.")
        .retry_after(2)
}

/// The same password typed on another keyboard is the same password.
fn normal(password: &str) -> String {
    password.nfc().collect()
}

/// The memory that argon2 works in, taken at the first use.
#[derive(Default)]
struct Furnace {
    memory: Vec<Block>,
}

impl Furnace {
    fn hash(&mut self, password: &str) -> Option<String> {
        let salt = vault::random::<16>();
        let hash = self.burn(password, &salt)?;
        Some(format!("{SCHEME}.{}.{}", vault::base64(&salt), vault::base64(&hash)))
    }

    fn verify(&mut self, password: &str, stored: &str) -> bool {
        let mut parts = stored.split('.');
        let (scheme, salt, hash) = (parts.next(), parts.next(), parts.next());
        let salt = salt.and_then(vault::from_base64);
        let hash = hash.and_then(vault::from_base64);
        let (Some(SCHEME), Some(salt), Some(hash)) = (scheme, salt, hash) else { return false };
        self.burn(password, &salt).is_some_and(|found| found.ct_eq(&hash).into())
    }

    fn burn(&mut self, password: &str, salt: &[u8]) -> Option<[u8; 32]> {
        let params = Params::new(MEMORY_KIB, PASSES, 1, None).ok()?;
        self.memory.resize(params.block_count(), Block::default());
        let mut hash = [0; 32];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(
                password.as_bytes(),
                salt,
                &mut hash,
                self.memory.as_mut_slice(),
            )
            .ok()?;
        Some(hash)
    }
}

/// For the command line, before any server runs.
pub(crate) fn hash_now(password: &str) -> Option<String> {
    Furnace::default().hash(&normal(password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_opens() {
        let passwords = Passwords::new();
        let hash = passwords.hash("Zoe\u{308} walks at dawn").await.unwrap();

        assert!(passwords.verify("Zo\u{eb} walks at dawn", Some(&hash)).await.unwrap());
        assert!(!passwords.verify("zoë walks at dawn", Some(&hash)).await.unwrap());
        assert!(!passwords.verify("anything", None).await.unwrap());
        assert!(!passwords.verify("anything", Some("no hash")).await.unwrap());
        assert_ne!(hash, passwords.hash("Zoe\u{308} walks at dawn").await.unwrap());
    }
}
