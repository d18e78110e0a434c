//! What the media library does not take, and what it says about it.

use std::io::Write;

use serde_json::json;

use crate::{
    lab::{Engine, Lab, Reply},
    media::{contains, download, import, try_import},
    peer::{self, Peer, fixture},
};

/// The code that names the fault of `source_url`.
#[track_caller]
fn fault(refused: &Reply) -> &str {
    assert_eq!((refused.status, refused.code()), (422, "validation_failed"), "{}", refused.text());
    assert_eq!(refused.json["errors"][0]["field"], "source_url", "{}", refused.text());
    assert!(!refused.json["errors"][0]["message"].as_str().unwrap().is_empty());
    refused.json["errors"][0]["code"].as_str().unwrap()
}

/// A PNG that says how large it is and holds nothing.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let content =
        [b"IHDR", &width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
    png.extend(&content);
    png.extend(crc32fast::hash(&content).to_be_bytes());
    png.extend(b"\0\0\0\0IEND\xaeB`\x82");
    png
}

// 7.12
#[test]
fn what_is_no_picture_or_video_is_refused_and_nothing_else_is_fetched() {
    let lab = Lab::start(Engine::Sqlite);
    let inside = Peer::of(fixture("photo.png"));
    let link = inside.url("secret.png");
    let xml = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e SYSTEM \"{link}\">]><svg>&e;</svg>"
    );
    let hostile = [
        (
            "svg",
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><image href=\"{link}\"/></svg>"),
        ),
        ("xml", xml),
        ("html", format!("<!doctype html><img src=\"{link}\">")),
        ("playlist", format!("#EXTM3U\n#EXTINF:1,\n{link}\n")),
        ("manifest", format!("<MPD><BaseURL>{link}</BaseURL></MPD>")),
        ("pdf", "%PDF-1.7\n1 0 obj\n".to_owned()),
        ("zip", "PK\u{3}\u{4}\u{14}\0".to_owned()),
        ("script", "#!/bin/sh\ntrue\n".to_owned()),
        ("empty", String::new()),
        ("text", "bells".to_owned()),
    ];

    for (name, file) in hostile {
        let refused = try_import(&lab, &lab.key, &Peer::of(file.into_bytes()).url("a.png"));
        assert_eq!(fault(&refused), "unsupported_media_type", "{name}");
    }

    assert_eq!(inside.connections(), 0);
    let list = lab.get("/media-library").key(&lab.key).send().expect(200).json;
    assert_eq!(list["items"], json!([]));
}

// 7.12
#[test]
fn a_video_whose_pictures_lie_elsewhere_is_refused() {
    let lab = Lab::start(Engine::Sqlite);
    let mut video = fixture("telemetry.mp4");
    // The flag says that the track's data are in this file.
    let own = b"url \0\0\0\x01";
    let at = video.windows(own.len()).position(|window| window == own).unwrap();
    video[at + own.len() - 1] = 0;

    let refused = try_import(&lab, &lab.key, &Peer::of(video).url("a.mp4"));

    let code = fault(&refused);
    assert!(["unsupported_media_type", "media_damaged"].contains(&code), "{}", refused.text());
}

#[test]
fn a_picture_that_would_fill_the_memory_is_refused_by_its_header() {
    let lab = Lab::start(Engine::Sqlite);
    let gif = b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02\0;".to_vec();

    for (name, bomb) in [
        ("3.6 gigapixels", png_header(60_000, 60_000)),
        ("64 megapixels and a row", png_header(8_000, 8_001)),
        ("a long side", png_header(16_385, 1)),
        ("the largest numbers", png_header(u32::MAX >> 1, u32::MAX >> 1)),
        ("an animation", gif),
    ] {
        let refused = try_import(&lab, &lab.key, &Peer::of(bomb).url("bomb.png"));
        assert_eq!(fault(&refused), "media_dimensions_exceeded", "{name}");
    }
    for broken in [png_header(0, 10), png_header(u32::MAX, 1)] {
        let refused = try_import(&lab, &lab.key, &Peer::of(broken).url("bomb.png"));
        assert!(fault(&refused).starts_with("media_"), "{}", refused.text());
    }
}

#[test]
fn half_a_file_is_damaged() {
    let lab = Lab::start(Engine::Sqlite);

    for name in
        ["photo.jpg", "photo.png", "lossy.webp", "animated.gif", "telemetry.mp4", "rotated.mov"]
    {
        let mut file = fixture(name);
        file.truncate(file.len() / 2);
        let refused = try_import(&lab, &lab.key, &Peer::of(file).url(name));
        assert_eq!(fault(&refused), "media_damaged", "{name}");
    }
}

#[test]
fn what_hangs_behind_a_picture_is_cut_off() {
    let lab = Lab::start(Engine::Sqlite);
    let page = b"<script>STOWAWAY</script>PK\x03\x04";

    for name in ["photo.jpg", "photo.png", "lossy.webp", "animated.gif"] {
        let file = [&fixture(name)[..], page].concat();
        let reply = try_import(&lab, &lab.key, &Peer::of(file).url(name));
        // Refusing such a file would do as well.
        if reply.status != 422 {
            let item = &reply.expect(201).json["item"];
            assert!(!contains(&download(&lab, item), b"STOWAWAY"), "{name}");
        }
    }
}

#[test]
fn a_file_above_its_limit_is_refused_with_and_without_a_declared_length() {
    let limits = [("CAMPANILE_IMAGE_LIMIT", "3000"), ("CAMPANILE_VIDEO_LIMIT", "5000")];
    let lab = Lab::start_with(Engine::Sqlite, &limits);
    let undeclared = Peer::start(|path, stream| {
        peer::begin(stream)?;
        stream.write_all(&fixture(path.trim_matches('/')))
    });
    let lying = Peer::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n")?;
        stream.write_all(&fixture("photo.png"))
    });
    let declared = Peer::files();

    for peer in [&declared, &undeclared] {
        for name in ["photo.jpg", "telemetry.mp4"] {
            let refused = try_import(&lab, &lab.key, &peer.url(name));
            assert!(fault(&refused).ends_with("too_large"), "{name}: {}", refused.text());
        }
        for name in ["photo.png", "sound.webm"] {
            import(&lab, &lab.key, &peer.url(name));
        }
    }
    let refused = try_import(&lab, &lab.key, &lying.url("photo.png"));
    assert!(fault(&refused).ends_with("too_large"), "{}", refused.text());
    for (content_type, size) in [("image/png", 3001), ("video/mp4", 5001)] {
        let wanted = json!({ "content_type": content_type, "size": size });
        let refused = lab.post("/uploads/posts/sign").key(&lab.key).json(wanted).send();
        let refused = refused.expect_problem(422, "validation_failed");
        assert_eq!(refused.json["errors"][0]["field"], "size");
        assert_eq!(refused.json["errors"][0]["code"], "media_too_large");
    }
}

#[test]
fn redirects_are_followed_three_times() {
    let lab = Lab::start(Engine::Sqlite);
    let hops = Peer::start(|path, stream| {
        let left: u32 = path.rsplit('/').next().unwrap_or_default().parse().unwrap_or(0);
        let status = [301, 302, 303, 307, 308][left as usize % 5];
        match left {
            0 => peer::give(stream, "image/jpeg", &fixture("photo.jpg")),
            left => peer::redirect(stream, status, &format!("/hop/{}", left - 1)),
        }
    });

    for count in 0..=3 {
        let item = import(&lab, &lab.key, &hops.url(&format!("hop/{count}")));
        assert_eq!(item["media_type"], "image/jpeg");
    }

    let before = hops.connections();
    let refused = try_import(&lab, &lab.key, &hops.url("hop/4"));
    refused.expect_problem(502, "upstream_failed");
    assert_eq!(hops.connections() - before, 4, "the fifth hop is not taken");
    let looping = Peer::start(|_, stream| peer::redirect(stream, 302, "/again"));
    try_import(&lab, &lab.key, &looping.url("")).expect_problem(502, "upstream_failed");
    assert_eq!(looping.connections(), 4);
}

#[test]
fn a_peer_that_fails_is_named_as_the_one_who_did() {
    let lab = Lab::start(Engine::Sqlite);
    let failing = Peer::start(|path, stream| match path {
        "/missing" => stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
        "/broken" => stream.write_all(b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n"),
        "/nonsense" => stream.write_all(b"\x16\x03\x01 what?\r\n\r\n"),
        "/nowhere" => stream.write_all(b"HTTP/1.1 302 Go\r\ncontent-length: 0\r\n\r\n"),
        "/zipped" => stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x8b\0\0",
        ),
        "/half" => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4000\r\n\r\n\x89PNG"),
        _ => Ok(()),
    });

    for path in ["missing", "broken", "nonsense", "nowhere", "zipped", "half", "silent"] {
        let refused = try_import(&lab, &lab.key, &failing.url(path));
        let refused = refused.expect_problem(502, "upstream_failed");
        assert!(refused.json["upstream_code"].is_string(), "{path}: {}", refused.text());
    }
    let gone = Peer::files().url("photo.jpg");
    try_import(&lab, &lab.key, &gone).expect_problem(502, "upstream_failed");
    let list = lab.get("/media-library").key(&lab.key).send().expect(200).json;
    assert_eq!(list["items"], json!([]));
}

#[test]
fn a_peer_that_dribbles_is_given_up() {
    let lab = Lab::start(Engine::Sqlite);
    let slow = Peer::start(|_, stream| {
        peer::begin(stream)?;
        loop {
            stream.write_all(b"x")?;
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    });

    try_import(&lab, &lab.key, &slow.url("a.png")).expect_problem(504, "upstream_timeout");
}
