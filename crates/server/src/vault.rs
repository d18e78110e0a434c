//! Secrets: the master key, what is encrypted with it, and what is signed with it.

use std::{
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;

/// Holds the master key. It does not print.
pub(crate) struct Vault {
    cipher: XChaCha20Poly1305,
    signing: Zeroizing<[u8; KEY_BYTES]>,
    audit: Zeroizing<[u8; KEY_BYTES]>,
    /// Names the master key in what it encrypts, so that a wrong key is recognised.
    key_id: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum VaultError {
    #[error(
        "the master key must be {KEY_BYTES} bytes in base64 (make one with: head -c 32 /dev/urandom | base64)"
    )]
    BadKey,
    #[error("the master key file {0} cannot be used")]
    File(PathBuf, #[source] std::io::Error),
    #[error("this was encrypted with another master key (key id {0})")]
    OtherKey(String),
    #[error("the ciphertext was damaged or moved")]
    Damaged,
}

impl Vault {
    /// The configured key, or the one in the data directory, made there on the first start.
    pub(crate) fn open(configured: Option<&str>, data_dir: &Path) -> Result<Self, VaultError> {
        let text = match configured {
            Some(text) => Zeroizing::new(text.to_owned()),
            None => read_or_create(&data_dir.join("master.key"))?,
        };
        let text = text.trim().replace('+', "-").replace('/', "_");
        let bytes = BASE64.decode(text.trim_end_matches('=')).map_err(|_| VaultError::BadKey)?;
        let master: Zeroizing<[u8; KEY_BYTES]> =
            Zeroizing::new(bytes.try_into().map_err(|_| VaultError::BadKey)?);
        if master.iter().all(|byte| *byte == master[0]) {
            return Err(VaultError::BadKey);
        }
        let encryption = derive(&master, "encrypt");
        let key_id = BASE64.encode(&derive(&master, "key id")[..6]);
        let cipher = XChaCha20Poly1305::new(&(*encryption).into());
        let (signing, audit) = (derive(&master, "sign"), derive(&master, "audit"));
        Ok(Self { cipher, signing, audit, key_id })
    }

    /// Keys the chain over the audit log.
    pub(crate) fn audit_key(&self) -> &[u8; KEY_BYTES] {
        &self.audit
    }

    pub(crate) fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Encrypts for one place: `context` names the row, and only there does it open again.
    pub(crate) fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, VaultError> {
        let nonce: [u8; 24] = random();
        let aad = format!("{}|{context}", self.key_id);
        let payload = Payload { msg: plain, aad: aad.as_bytes() };
        let sealed =
            self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::Damaged)?;
        let mut out = format!("v1.{}.", self.key_id).into_bytes();
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        Ok(out)
    }

    pub(crate) fn open_sealed(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
        let rest = sealed.strip_prefix(b"v1.").ok_or(VaultError::Damaged)?;
        let dot = rest.iter().position(|byte| *byte == b'.').ok_or(VaultError::Damaged)?;
        let (key_id, rest) = (&rest[..dot], &rest[dot + 1..]);
        if key_id != self.key_id.as_bytes() {
            return Err(VaultError::OtherKey(String::from_utf8_lossy(key_id).into_owned()));
        }
        let (nonce, message) = rest.split_first_chunk::<24>().ok_or(VaultError::Damaged)?;
        let aad = format!("{}|{context}", self.key_id);
        let payload = Payload { msg: message, aad: aad.as_bytes() };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| VaultError::Damaged)
    }

    /// A signature over several texts. `purpose` keeps one kind from passing for another.
    pub(crate) fn sign(&self, purpose: &str, parts: &[&str]) -> [u8; 16] {
        let mut mac = mac(&*self.signing);
        mac.update(purpose.as_bytes());
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        let whole = mac.finalize().into_bytes();
        let mut short = [0; 16];
        short.copy_from_slice(&whole[..16]);
        short
    }

    pub(crate) fn sign_text(&self, purpose: &str, parts: &[&str]) -> String {
        BASE64.encode(self.sign(purpose, parts))
    }

    pub(crate) fn verify_text(&self, purpose: &str, parts: &[&str], signature: &str) -> bool {
        let expected = self.sign_text(purpose, parts);
        expected.as_bytes().ct_eq(signature.as_bytes()).into()
    }
}

fn mac(key: &[u8]) -> Hmac<Sha256> {
    <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes a key of any length")
}

fn derive(master: &[u8; KEY_BYTES], purpose: &str) -> Zeroizing<[u8; KEY_BYTES]> {
    let mut mac = mac(master);
    mac.update(b"campanile ");
    mac.update(purpose.as_bytes());
    Zeroizing::new(mac.finalize().into_bytes().into())
}

fn read_or_create(path: &Path) -> Result<Zeroizing<String>, VaultError> {
    let file = |error| VaultError::File(path.to_owned(), error);
    match std::fs::read_to_string(path) {
        Ok(text) => return Ok(Zeroizing::new(text)),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(file(error)),
        Err(_) => {}
    }
    let text = Zeroizing::new(BASE64.encode(random::<KEY_BYTES>()));
    let mut options = std::fs::OpenOptions::new();
    let mut created = options.write(true).create_new(true).mode(0o600).open(path).map_err(file)?;
    created.write_all(text.as_bytes()).and_then(|()| created.sync_all()).map_err(file)?;
    Ok(text)
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

impl campanile_engine::Keeper for Vault {
    fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, String> {
        Self::seal(self, context, plain).map_err(|error| error.to_string())
    }

    fn open(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>, String> {
        self.open_sealed(context, sealed).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> Vault {
        Vault::open(Some(&BASE64.encode(random::<32>())), Path::new("/nowhere")).unwrap()
    }

    #[test]
    fn a_ciphertext_opens_only_in_its_own_row_and_with_its_own_key() {
        let vault = vault();
        let sealed = vault.seal("connections|conn_1", b"secret").unwrap();

        assert_eq!(vault.open_sealed("connections|conn_1", &sealed).unwrap(), b"secret");
        assert!(vault.open_sealed("connections|conn_2", &sealed).is_err());
        assert!(matches!(
            self::vault().open_sealed("connections|conn_1", &sealed),
            Err(VaultError::OtherKey(_))
        ));
        for at in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[at] ^= 1;
            assert!(vault.open_sealed("connections|conn_1", &flipped).is_err());
        }
    }

    #[test]
    fn a_signature_covers_where_one_part_ends() {
        let vault = vault();
        assert_ne!(vault.sign("x", &["ab", "c"]), vault.sign("x", &["a", "bc"]));
        assert_ne!(vault.sign("x", &["ab"]), vault.sign("y", &["ab"]));
    }

    #[test]
    fn a_weak_or_short_key_is_refused() {
        for wrong in ["", "short", &BASE64.encode([7; 32]), &BASE64.encode([1; 16])] {
            assert!(Vault::open(Some(wrong), Path::new("/nowhere")).is_err());
        }
    }
}
