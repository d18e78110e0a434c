//! Redirects: every hop is judged like the first.

use std::sync::Arc;

use campanile_connect::Http;

use crate::peer::{Peer, ok, redirect, say};
use crate::wiring::{Names, PUBLIC, Switchboard, client, failure, fetch, private, strict_but_http};

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

const INSIDE: &[&str] = &[
    "http://127.0.0.1/",
    "http://2130706433/",
    "https://[::1]/",
    "//169.254.169.254/latest/",
    "http://inside.example.com/",
    "http://metadata.google.internal/",
    "http://localhost/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "ftp://cdn.example.com/",
    "data:text/plain,x",
    "http://a:b@cdn.example.com/",
    "http://cdn.example.com:6379/",
    "\\\\127.0.0.1\\x",
    "http:\\\\127.0.0.1/",
    "http://127.0.0.1\t/",
    "javascript:alert(1)",
];

#[tokio::test]
async fn no_redirect_leads_inside() {
    for status in STATUSES {
        for location in INSIDE {
            let peer = Peer::start(move |_| redirect(status, location)).await;
            let names = Names::default()
                .with("cdn.example.com", &[&[PUBLIC]])
                .with("inside.example.com", &[&["127.0.0.1"]]);
            let board = Arc::new(Switchboard::to(peer.address));
            let http = client(strict_but_http(), &Arc::new(names), &board);

            let code = failure(&http, "http://cdn.example.com/").await;

            assert_eq!(code, "url_not_allowed", "{status} {location}");
            assert_eq!((board.called().len(), peer.connections()), (1, 1), "{location}");
        }
    }
}

#[tokio::test]
async fn three_redirects_are_followed_and_a_fourth_is_not() {
    let peer = Peer::start(|path| match path.trim_start_matches('/').parse() {
        Ok(0) => ok("picture"),
        Ok(hops @ 1u16..) => redirect(STATUSES[usize::from(hops)], &format!("/{}", hops - 1)),
        Err(_) => say("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
    })
    .await;
    let http = Http::new(private());

    let (outcome, content) = fetch(&http, &peer.url("/3")).await;
    assert_eq!(outcome.expect("downloaded").final_url, peer.url("/0"));
    assert_eq!((content.as_slice(), peer.connections()), (b"picture".as_slice(), 4));

    assert_eq!(failure(&http, &peer.url("/4")).await, "too_many_redirects");
    assert_eq!(peer.connections(), 4 + 4);
}

#[tokio::test]
async fn a_loop_ends() {
    let peer = Peer::start(|_| redirect(302, "/again")).await;

    assert_eq!(failure(&Http::new(private()), &peer.url("/")).await, "too_many_redirects");
    assert_eq!(peer.connections(), 4);
}

#[tokio::test]
async fn what_only_resembles_a_redirect_is_not_followed() {
    let peer = Peer::start(|path| match path {
        "/refresh" => say(
            "HTTP/1.1 200 OK\r\nrefresh: 0; url=http://127.0.0.1/\r\ncontent-length: 2\r\n\r\nhi",
        ),
        "/nowhere" => say("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n"),
        _ => redirect(300, "/refresh"),
    })
    .await;
    let http = Http::new(private());

    assert_eq!(fetch(&http, &peer.url("/refresh")).await.1, b"hi");
    assert_eq!(failure(&http, &peer.url("/nowhere")).await, "protocol_error");
    assert_eq!(failure(&http, &peer.url("/choices")).await, "bad_status");
    assert_eq!(peer.connections(), 3);
}
