//! Passwords: argon2id, a few at a time.

use std::sync::OnceLock;

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use tokio::sync::Semaphore;
use unicode_normalization::UnicodeNormalization;

use crate::problem::{Code, Problem};

pub(crate) const SHORTEST: usize = 10;
pub(crate) const LONGEST_BYTES: usize = 256;

/// Each hash takes 19 MiB; without a cap, signing in would be a way to fill the memory.
const AT_ONCE: usize = 2;
const IN_LINE: usize = 16;

pub(crate) struct Passwords {
    permits: Semaphore,
    line: Semaphore,
    /// Checked when there is no such user, so that both answers take the same time.
    decoy: OnceLock<String>,
}

impl Passwords {
    pub(crate) fn new() -> Self {
        Self {
            permits: Semaphore::new(AT_ONCE),
            line: Semaphore::new(AT_ONCE + IN_LINE),
            decoy: OnceLock::new(),
        }
    }

    pub(crate) async fn hash(&self, password: &str) -> Result<String, Problem> {
        let password = normal(password);
        self.in_turn(move || hash(&password)).await?.ok_or_else(busy)
    }

    /// Whether the password belongs to the hash; with no hash it never does.
    pub(crate) async fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool, Problem> {
        let known = hash.is_some();
        let hash = match hash {
            Some(hash) => hash.to_owned(),
            None => self.decoy().await?,
        };
        let password = normal(password);
        let matches = self.in_turn(move || verify(&password, &hash)).await?;
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
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let _place = self.line.try_acquire().map_err(|_| busy())?;
        let _permit = self.permits.acquire().await.map_err(|_| busy())?;
        tokio::task::spawn_blocking(work).await.map_err(|_| busy())
    }
}

fn busy() -> Problem {
    Problem::new(Code::Unavailable, "Too many people sign in at once; try again in a moment.")
        .retry_after(2)
}

/// The same password typed on another keyboard is the same password.
fn normal(password: &str) -> String {
    password.nfc().collect()
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(19 * 1024, 2, 1, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn hash(password: &str) -> Option<String> {
    let salt = crate::vault::random::<16>();
    let hash = argon2().hash_password_with_salt(password.as_bytes(), &salt).ok()?;
    Some(hash.to_string())
}

fn verify(password: &str, hash: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| argon2().verify_password(password.as_bytes(), &hash).is_ok())
}

/// For the command line, before any server runs.
pub(crate) fn hash_now(password: &str) -> Option<String> {
    hash(&normal(password))
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
    }
}
