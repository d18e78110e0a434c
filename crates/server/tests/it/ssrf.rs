//! API7: no address that a user names leads inside. The listeners must not see one connection.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::{
    lab::{Engine, Lab, Reply, free_port},
    media::{import, try_import},
    peer::{self, Peer, fixture},
    steps::expect_faults,
};

/// A service with the settings of a public one.
fn public_lab() -> Lab {
    Lab::start_with(Engine::Sqlite, &[("CAMPANILE_ALLOW_PRIVATE_NETWORKS", "false")])
}

#[track_caller]
fn expect_not_allowed(refused: Reply, url: &str) -> Reply {
    assert_eq!((refused.status, refused.code()), (422, "validation_failed"), "{url}");
    let fault = &refused.json["errors"][0];
    assert_eq!(
        (&fault["field"], &fault["code"]),
        (&json!("source_url"), &json!("url_not_allowed"))
    );
    refused
}

/// Asks for every URL and makes sure that nobody inside was asked.
#[track_caller]
fn all_are_refused(urls: impl IntoIterator<Item = String>) {
    let lab = public_lab();
    let inside = Peer::of(fixture("photo.png"));
    let port = inside.port();
    let inside_v6 = TcpListener::bind(("::1", port));

    for url in urls {
        for url in [url.replace("PORT", &port.to_string()), url.replace(":PORT", "")] {
            expect_not_allowed(try_import(&lab, &lab.key, &url), &url);
        }
    }

    assert_eq!(inside.connections(), 0);
    if let Ok(listener) = inside_v6 {
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "somebody came through IPv6");
    }
    let list = lab.get("/media-library").key(&lab.key).send().expect(200).json;
    assert_eq!(list["items"], json!([]));
}

fn hosts(hosts: &[&str]) -> Vec<String> {
    let schemes = ["https", "http"];
    let url = |host: &&str| schemes.map(|scheme| format!("{scheme}://{host}:PORT/a.png"));
    hosts.iter().flat_map(url).collect()
}

// 7.01
#[test]
fn an_address_is_an_address_in_every_notation() {
    all_are_refused(hosts(&[
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7F.0x0.0x0.0x1",
        "0177.0.0.1",
        "017700000001",
        "0177.0x0.0.1",
        "127.0.0.1.",
        "１２７.０.０.１",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "127．0．0．1",
        "127%2e0%2e0%2e1",
        "%31%32%37.0.0.1",
        "0",
        "0.0.0.0",
        "127.0.0.2",
        "127.255.255.254",
    ]));
}

// 7.02
#[test]
fn an_address_of_the_newer_kind_is_no_way_around() {
    all_are_refused(hosts(&[
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[0000:0000:0000:0000:0000:0000:0000:0001]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "[fe80::1]",
        "[fec0::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[2001:db8::1]",
    ]));
}

#[test]
fn every_closed_network_is_closed() {
    all_are_refused(hosts(&[
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.1.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
    ]));
}

// 7.03: names that the test could give an address in the DNS are tried in the connect crate.
#[test]
fn a_name_for_this_machine_or_network_is_no_public_name() {
    all_are_refused(hosts(&[
        "localhost",
        "LOCALHOST",
        "localhost.",
        "ｌｏｃａｌｈｏｓｔ",
        "a.localhost",
        "localhost.localdomain",
        "ip6-localhost",
        "printer.local",
        "router.lan",
        "wiki.corp",
        "db.internal",
        "intranet",
        "redis",
        "1.0.0.127.in-addr.arpa",
        "kubernetes.default.svc",
        "hidden.onion",
        "name.invalid",
    ]));
}

// 7.05
#[test]
fn a_url_that_reads_two_ways_is_refused() {
    let urls = [
        "https://example.com@127.0.0.1:PORT/",
        "https://example.com:443@127.0.0.1:PORT/",
        "https://user:secret@example.com/",
        "https://@127.0.0.1:PORT/",
        "https://127.0.0.1:PORT#@example.com/",
        "https://127.0.0.1:PORT?@example.com/",
        "https://127.0.0.1:PORT\\@example.com/",
        "https:\\\\127.0.0.1:PORT\\",
        "https:/127.0.0.1:PORT/",
        "https:127.0.0.1:PORT/",
        "//127.0.0.1:PORT/",
        "127.0.0.1:PORT",
        "https://127.0.\t0.1:PORT/",
        "https://127.0.0.1\n:PORT/",
        "\thttps://127.0.0.1:PORT/",
        " https://127.0.0.1:PORT/",
        "https://127.0.0.1:PORT/\r\nx: y",
        "https://example.com%00.127.0.0.1:PORT/",
        "https://127.0.0.1%00.example.com:PORT/",
        "https://example.com:0/",
        "https://example.com:22/",
        "https://example.com:25/",
        "https://example.com:6379/",
        "https://example.com:65536/",
        "https://example.com:-1/",
        "https://example..com/",
        "https://.example.com/",
        "https:///",
        "https://",
        "https",
    ];
    let long = format!("https://{}.com/", "a.".repeat(700));
    all_are_refused(urls.map(str::to_owned).into_iter().chain([long]));
}

// 7.06
#[test]
fn only_the_web_is_asked() {
    all_are_refused(
        [
            "file", "ftp", "gopher", "dict", "jar", "ws", "wss", "ldap", "tftp", "http", "blob",
            "FILE",
        ]
        .iter()
        .flat_map(|scheme| {
            [format!("{scheme}://127.0.0.1:PORT/a"), format!("{scheme}://example.com/a")]
        })
        .chain(
            [
                "file:///etc/passwd",
                "file:/etc/passwd",
                "data:image/png;base64,iVBORw0KGgo=",
                "javascript:alert(1)",
                "jar:https://127.0.0.1:PORT/a.jar!/b",
                "view-source:https://127.0.0.1:PORT/",
                "mailto:a@example.com",
                "about:blank",
                "unix:/run/docker.sock",
            ]
            .map(str::to_owned),
        ),
    );
}

// 7.08
#[test]
fn no_cloud_tells_its_secrets() {
    let mut urls = hosts(&[
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "0xa9fea9fe",
        "2852039166",
        "metadata.google.internal",
        "metadata.goog",
        "metadata",
        "instance-data.ec2.internal",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
    ]);
    urls.push("http://169.254.169.254/latest/meta-data/iam/security-credentials/".to_owned());
    all_are_refused(urls);
}

// 7.07
#[test]
fn the_service_does_not_fetch_from_itself() {
    let url = [("CAMPANILE_PUBLIC_URL", "https://bells.example.com")];
    let lab = Lab::start_with(Engine::Sqlite, &url);
    for own in [
        "https://bells.example.com/a.png",
        "https://BELLS.example.com./a",
        "https://bells.example.com:443/",
    ] {
        expect_not_allowed(try_import(&lab, &lab.key, own), own);
    }

    let lab = Lab::start(Engine::Sqlite);
    let item = import(&lab, &lab.key, &Peer::files().url("photo.png"));
    let own = item["url"].as_str().unwrap();
    expect_not_allowed(try_import(&lab, &lab.key, own), own);
    for spelling in
        ["0x7f.1", "localhost", "LOCALHOST.", "127.0.0.2", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]"]
    {
        let own = own.replace("127.0.0.1", spelling);
        expect_not_allowed(try_import(&lab, &lab.key, &own), &own);
    }
}

// 7.07
#[test]
fn the_metrics_are_no_way_around() {
    let port = free_port();
    for listen in [format!("127.0.0.1:{port}"), format!("0.0.0.0:{port}")] {
        let settings = [("CAMPANILE_METRICS_LISTEN", &*listen)];
        let lab = Lab::start_with(Engine::Sqlite, &settings);
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
            let own = format!("http://{host}:{port}/metrics");
            expect_not_allowed(try_import(&lab, &lab.key, &own), &own);
        }
        let form = json!({ "server": format!("http://localhost:{port}"), "access_token": "x" });
        let refused = lab.post("/connections/mastodon").key(&lab.key).json(form).send();
        expect_faults(refused, &[("server", "unreachable")]);
    }
}

// 7.04: every hop is judged like the first one, here from a peer that is allowed by exception.
#[test]
fn a_redirect_leads_nowhere_that_a_url_could_not() {
    let lab = Lab::start(Engine::Sqlite);
    let own = format!("{}/api/external/v1/health", lab.origin());
    let places = [
        own,
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1:25/x".to_owned(),
        "ftp://127.0.0.1/x".to_owned(),
        "data:image/png;base64,iVBORw0KGgo=".to_owned(),
        "http://user:secret@127.0.0.1/".to_owned(),
        "http://127.0.0.1\\@example.com/".to_owned(),
        "http://127.0.0.1:0/".to_owned(),
    ];
    let targets = places.clone();
    let redirecting = Peer::start(move |path, stream| {
        let mut parts = path.trim_matches('/').split('/');
        let status = parts.next().and_then(|status| status.parse().ok()).unwrap_or(302);
        let place = parts.next().and_then(|place| place.parse::<usize>().ok()).unwrap_or(0);
        peer::redirect(stream, status, &targets[place])
    });

    for (place, target) in places.iter().enumerate() {
        for status in [301, 302, 303, 307, 308] {
            let url = redirecting.url(&format!("{status}/{place}"));
            expect_not_allowed(try_import(&lab, &lab.key, &url), target);
        }
    }
}

// 7.04
#[test]
fn a_refresh_header_is_not_followed() {
    let lab = Lab::start(Engine::Sqlite);
    let inside = Peer::of(fixture("photo.png"));
    let target = inside.url("a.png");
    let refreshing = Peer::start(move |_, stream| {
        use std::io::Write;
        let head =
            format!("HTTP/1.1 200 OK\r\nrefresh: 0; url={target}\r\ncontent-length: 2\r\n\r\nhi");
        stream.write_all(head.as_bytes())
    });

    try_import(&lab, &lab.key, &refreshing.url("")).expect_problem(422, "validation_failed");

    assert_eq!(inside.connections(), 0);
}

// 7.11
#[test]
fn an_open_port_and_a_closed_one_sound_the_same() {
    let lab = public_lab();
    let open = Peer::of(fixture("photo.png"));
    let closed = { TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port() };
    let answer = |scheme: &str, port: u16| -> Value {
        let url = format!("{scheme}://127.0.0.1:{port}/a.png");
        let mut answer = expect_not_allowed(try_import(&lab, &lab.key, &url), &url).json;
        answer["request_id"] = Value::Null;
        answer
    };

    for scheme in ["https", "http"] {
        assert_eq!(answer(scheme, open.port()), answer(scheme, closed));
        assert_eq!(answer(scheme, open.port()), answer(scheme, 8080));
    }
    assert_eq!(open.connections(), 0);
}
