//! URLs that try to reach inside: none may cause a lookup or a connection.

use std::sync::Arc;

use campanile_connect::{Http, Policy};

use crate::peer::{Peer, ok};
use crate::wiring::{Names, Switchboard, client, failure, fetch, strict, strict_but_http};

/// 7.01 and 7.02: notations of addresses; `PORT` is where a listener waits.
const ADDRESSES: &[&str] = &[
    "127.0.0.1",
    "127.0.0.1.",
    "2130706433",
    "0x7f000001",
    "0X7F.1",
    "0177.0.0.1",
    "017700000001",
    "127.1",
    "127.0.1",
    "0x7f.0.0.01",
    "127.0x0.0.1",
    "１２７.０.０.１",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "%31%32%37.0.0.1",
    "0",
    "0.0.0.0",
    "10.0.0.1",
    "192.168.0.1",
    "172.16.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "8.8.8.8",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::1]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[fe80::1]",
    "[fc00::1]",
    "[fec0::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "[2606:4700::1111]",
];

/// 7.05 to 7.08 and names that are local everywhere.
const URLS: &[&str] = &[
    "https://example.com@127.0.0.1:PORT/",
    "https://a:b@example.com/",
    "https://:b@example.com/",
    "https://@127.0.0.1:PORT/",
    "https://127.0.0.1:PORT#@example.com/",
    "https://127.0.0.1:PORT?@example.com/",
    "https://example.com\\@127.0.0.1:PORT/",
    "https:\\\\127.0.0.1:PORT\\",
    "https://127.0.0.1\\.example.com/",
    "https:127.0.0.1:PORT",
    "https:///127.0.0.1:PORT/",
    "https:/127.0.0.1:PORT/",
    "\thttps://127.0.0.1:PORT/",
    "https://127.0.0.1\t:PORT/",
    "https://127.0.\n0.1:PORT/",
    "ht\ntps://127.0.0.1/",
    "https://example.com/\r\nHost: 127.0.0.1",
    "https://127.0.0.1%00.example.com/",
    "https://example.com%00/",
    "https://example.com/%00",
    "https://example.com%0d%0a/",
    "https://exa mple.com/",
    "https://example.com%2f@127.0.0.1/",
    "https://[127.0.0.1]/",
    "https://example..com/",
    "https://.example.com/",
    "https://example.com../",
    "https://*.com/",
    "https://example.com:0/",
    "https://example.com:22/",
    "https://example.com:25/",
    "https://example.com:80/",
    "https://example.com:2049/",
    "https://example.com:3306/",
    "https://example.com:5432/",
    "https://example.com:6379/",
    "https://example.com:9200/",
    "https://example.com:11211/",
    "https://example.com:27017/",
    "https://example.com:65536/",
    "https://example.com:-1/",
    "https://example.com:https/",
    "http://example.com/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:PORT/_x",
    "dict://127.0.0.1/",
    "data:image/png;base64,AAAA",
    "jar:https://example.com!/",
    "ws://example.com/",
    "wss://example.com/",
    "javascript:alert(1)",
    "unix:/var/run/docker.sock",
    "about:blank",
    "blob:https://example.com/1",
    "mailto:a@example.com",
    "//example.com/",
    "/etc/passwd",
    "example.com",
    "",
    " ",
    "https://",
    "https:",
    "https://#",
    "https://?",
    "https://localhost:PORT/",
    "https://LOCALHOST./",
    "https://a.localhost/",
    "https://ｌocalhost/",
    "https://printer.local/",
    "https://db.internal/",
    "https://metadata.google.internal/",
    "https://metadata.google.internal./",
    "https://metadata.goog/",
    "https://metadata/",
    "https://postgres:8080/",
    "https://host.docker.internal/",
    "https://kubernetes.default.svc/",
    "https://api.cluster.local/",
    "https://router.lan/",
    "https://router.home.arpa/",
    "https://1.0.0.127.in-addr.arpa/",
    "https://social.example.org/media/1",
    "https://SOCIAL.example.org.:8443/",
    "https://sociaⅼ.example.org/",
    "https://example.com:1/",
];

#[tokio::test]
async fn no_hostile_url_is_looked_up_or_connected_to() {
    let peer = Peer::start(|_| ok("secret")).await;
    let (names, board) = (Arc::new(Names::default()), Arc::new(Switchboard::to(peer.address)));
    let policy = Policy { own_hosts: vec!["social.example.org".to_owned()], ..strict() };
    let clients = [client(policy.clone(), &names, &board), Http::new(policy)];
    let port = peer.address.port().to_string();
    let literals = ADDRESSES.iter().flat_map(|address| {
        [format!("https://{address}/"), format!("https://{address}:{port}/latest/meta-data")]
    });
    let urls = URLS.iter().map(|url| url.replace("PORT", &port)).chain(literals);

    for url in urls {
        for http in &clients {
            let error = fetch(http, &url).await.0.expect_err("hostile");
            assert_eq!(error.code(), "url_not_allowed", "{url:?}");
            let sentence = error.to_string();
            assert!(sentence.ends_with('.') && !sentence.contains("127"), "{sentence}");
        }
    }

    assert_eq!((names.lookups(), board.called().len(), peer.connections()), (0, 0, 0));
}

#[tokio::test]
async fn allowing_http_opens_nothing_inside() {
    let peer = Peer::start(|_| ok("secret")).await;
    let (names, board) = (Arc::new(Names::default()), Arc::new(Switchboard::to(peer.address)));
    let http = client(strict_but_http(), &names, &board);
    let port = peer.address.port();

    for address in ADDRESSES {
        let url = format!("http://{address}:{port}/");
        assert_eq!(failure(&http, &url).await, "url_not_allowed", "{url}");
    }

    assert_eq!((names.lookups(), peer.connections()), (0, 0));
}

#[tokio::test]
async fn an_endless_url_or_host_is_refused() {
    let (names, board) = (Arc::new(Names::default()), Arc::new(Switchboard::default()));
    let http = client(strict(), &names, &board);
    let long = [
        format!("https://{}.com/", "a".repeat(64)),
        format!("https://{}com/", "a.".repeat(130)),
        format!("https://{}.com/", "a".repeat(100_000)),
        format!("https://example.com/{}", "a".repeat(10_000)),
    ];

    for url in long {
        assert_eq!(failure(&http, &url).await, "url_not_allowed");
    }

    assert_eq!(names.lookups(), 0);
}
