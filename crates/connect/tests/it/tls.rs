//! Encrypted connections: only a server that proves its name is spoken to.

use std::sync::Arc;

use campanile_connect::{FetchError, Http, Network};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::peer::{Peer, Step, ok};
use crate::wiring::{Names, PUBLIC, Switchboard, fetch, strict};

const NAME: &str = "cdn.example.com";

/// A certificate for the name that signs itself, valid until the given year.
fn certificate(name: &str, until: i32) -> (CertificateDer<'static>, TlsAcceptor) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.not_after = date_time_ymd(until, 1, 1);
    let certificate = params.self_signed(&key).expect("a certificate").der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("a certificate with its key");
    (certificate, TlsAcceptor::from(Arc::new(config)))
}

/// A client that finds every name at the peer and believes this certificate.
fn client(peer: &Peer, trusted: Option<CertificateDer<'static>>) -> Http {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted);
    let resolver = Arc::new(Names::default().with(NAME, &[&[PUBLIC]]));
    let dialer = Arc::new(Switchboard::to(peer.address));
    Http::over(strict(), Network { resolver, dialer, roots })
}

async fn assert_untrusted(http: &Http, peer: &Peer) {
    let error = fetch(http, &format!("https://{NAME}/")).await.0.expect_err("untrusted");
    assert!(matches!(error, FetchError::Tls(_)), "{error:?}");
    assert_eq!((error.code(), error.surely_not_sent()), ("tls_failed", true));
    assert!(peer.requests().iter().all(|request| !request.contains("get /")));
}

#[tokio::test]
async fn a_trusted_server_is_spoken_to_by_its_name() {
    let (trusted, acceptor) = certificate(NAME, 4000);
    let peer = Peer::start_tls(acceptor, ok("picture")).await;

    let (outcome, content) =
        fetch(&client(&peer, Some(trusted)), &format!("https://{NAME}/a")).await;

    assert_eq!(outcome.expect("downloaded").final_url, format!("https://{NAME}/a"));
    assert_eq!(content, b"picture");
    assert!(peer.requests()[0].contains(&format!("host: {NAME}\r\n")));
}

#[tokio::test]
async fn a_certificate_that_signs_itself_is_refused() {
    let (_, acceptor) = certificate(NAME, 4000);
    let peer = Peer::start_tls(acceptor, ok("picture")).await;
    let resolver = Arc::new(Names::default().with(NAME, &[&[PUBLIC]]));
    let dialer = Arc::new(Switchboard::to(peer.address));
    let http = Http::over(strict(), Network { resolver, dialer, ..Network::system() });

    assert_untrusted(&http, &peer).await;
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let (trusted, acceptor) = certificate(NAME, 2001);
    let peer = Peer::start_tls(acceptor, ok("picture")).await;

    assert_untrusted(&client(&peer, Some(trusted)), &peer).await;
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let (trusted, acceptor) = certificate("other.example.com", 4000);
    let peer = Peer::start_tls(acceptor, ok("picture")).await;

    assert_untrusted(&client(&peer, Some(trusted)), &peer).await;
}

#[tokio::test]
async fn a_server_without_encryption_is_not_spoken_to_in_clear() {
    let peer = Peer::start(|_| ok("picture")).await;
    let mute = Peer::start(|_| Vec::new()).await;

    assert_untrusted(&client(&peer, None), &peer).await;
    assert_untrusted(&client(&mute, None), &mute).await;
}

#[tokio::test]
async fn a_body_cut_off_inside_encryption_is_seen() {
    let (trusted, acceptor) = certificate(NAME, 4000);
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec();
    let peer = Peer::start_tls(acceptor, vec![Step::Send(half)]).await;

    let error = fetch(&client(&peer, Some(trusted)), &format!("https://{NAME}/")).await.0;

    assert!(matches!(error, Err(FetchError::Truncated)), "{error:?}");
}
