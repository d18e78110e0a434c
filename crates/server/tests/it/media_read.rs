//! Signed read URLs: for whoever holds them, whole or in ranges, and for nobody else.

use crate::{
    lab::{Engine, Lab, Reply},
    media::import,
    peer::Peer,
};

struct Stored {
    lab: Lab,
    url: String,
    bytes: Vec<u8>,
}

fn stored() -> Stored {
    let lab = Lab::start(Engine::Sqlite);
    let item = import(&lab, &lab.key, &Peer::files().url("telemetry.mp4"));
    let url = item["url"].as_str().unwrap().to_owned();
    let bytes = lab.get(&url).send().expect(200).body;
    Stored { lab, url, bytes }
}

impl Stored {
    fn range(&self, range: &str) -> Reply {
        self.lab.get(&self.url).header("range", range).send()
    }
}

#[test]
fn a_range_brings_just_that_part() {
    let stored = stored();
    let size = stored.bytes.len();

    for (range, start, end) in [
        ("bytes=0-0".to_owned(), 0, 1),
        ("bytes=10-19".to_owned(), 10, 20),
        (format!("bytes={}-", size - 7), size - 7, size),
        ("bytes=-5".to_owned(), size - 5, size),
        (format!("bytes=100-{}", size * 2), 100, size),
        (format!("bytes=-{}", size * 2), 0, size),
        ("bytes=5-99999999999999999999".to_owned(), 5, size),
        (format!("BYTES=0-{}", u64::MAX), 0, size),
    ] {
        let part = stored.range(&range);
        // What cannot be understood may be ignored, but must not be misread.
        if part.status == 200 {
            assert_eq!(part.body, stored.bytes, "{range}");
            assert!(range.starts_with("BYTES") || range.ends_with("99999"), "{range} is plain");
            continue;
        }
        let part = part.expect(206);
        assert_eq!(part.body, stored.bytes[start..end], "{range}");
        let expected = format!("bytes {start}-{}/{size}", end - 1);
        assert_eq!(part.header("content-range"), Some(expected.as_str()), "{range}");
        assert_eq!(part.header("content-length"), Some((end - start).to_string().as_str()));
    }
}

#[test]
fn a_range_outside_of_the_file_is_refused_and_a_strange_one_ignored() {
    let stored = stored();
    let size = stored.bytes.len();

    for range in
        [format!("bytes={size}-"), format!("bytes={}-{}", size, size + 5), "bytes=-0".into()]
    {
        let refused = stored.range(&range).expect_problem(416, "range_not_satisfiable");
        let expected = format!("bytes */{size}");
        assert_eq!(refused.header("content-range"), Some(expected.as_str()), "{range}");
    }
    for range in
        ["bytes=5-1", "bytes=a-b", "bytes=--5", "items=0-1", "bytes=0-1,4-5", "0-1", "bytes="]
    {
        assert_eq!(stored.range(range).expect(200).body, stored.bytes, "{range}");
    }
}

// 8.03, 8.07
#[test]
fn stored_bytes_are_served_so_that_a_browser_runs_nothing_of_them() {
    let stored = stored();

    let reply = stored.lab.get(&stored.url).send().expect(200);

    assert_eq!(reply.header("content-type"), Some("video/mp4"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.contains("sandbox") && policy.contains("default-src 'none'"), "{policy}");
    assert_eq!(reply.header("accept-ranges"), Some("bytes"));
    assert!(!reply.header("cache-control").unwrap().contains("public"));
    let head = stored.lab.request("HEAD", &stored.url).send().expect(200);
    assert_eq!(head.header("content-length"), Some(stored.bytes.len().to_string().as_str()));
    assert_eq!(head.body, b"");
}

#[test]
fn only_the_exact_address_opens_a_file() {
    let stored = stored();
    let lab = &stored.lab;
    let (path, query) = stored.url.split_once('?').unwrap();
    let expires = query.split('&').find_map(|pair| pair.strip_prefix("expires=")).unwrap();
    let later = (expires.parse::<u64>().unwrap() + 300_000).to_string();
    let signature = query.split('&').find_map(|pair| pair.strip_prefix("signature=")).unwrap();
    let (folder, _) = path.rsplit_once('/').unwrap();
    let other = import(lab, &lab.key, &Peer::files().url("photo.jpg"));
    let other_path = other["url"].as_str().unwrap().split_once('?').unwrap().0;

    for edited in [
        path.to_owned(),
        format!("{path}?expires={expires}"),
        format!("{path}?signature={signature}"),
        format!("{path}?expires={later}&signature={signature}"),
        format!("{path}?expires={expires}&signature={}", signature.to_lowercase()),
        format!("{path}?expires={expires}&signature={signature}A"),
        format!("{path}?expires={expires}&signature="),
        format!("{path}?{query}&download=1"),
        format!("{other_path}?{query}"),
        format!("{folder}/blob_01hf7yat00000000000000000a?{query}"),
        format!("{folder}/..%2f..%2fmaster.key?{query}"),
        format!("{folder}/%2e%2e?{query}"),
    ] {
        let refused = lab.get(&edited).key(&lab.key).send();
        refused.expect_problem(403, "invalid_signature");
    }
    lab.delete(&stored.url).send().expect_problem(405, "method_not_allowed");
    lab.get(&stored.url).send().expect(200);
}

// X.07
#[test]
fn a_link_planted_in_storage_leads_nowhere() {
    let stored = stored();
    let secret = stored.lab.data_dir().join("master.key");
    let path = stored.url.split_once("/media/").unwrap().1.split_once('?').unwrap().0;
    let file = stored.lab.data_dir().join("media").join(path);
    let bytes = std::fs::read(&secret).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&secret, &file).unwrap();

    let reply = stored.lab.get(&stored.url).try_send();

    if let Ok(reply) = reply {
        assert!(reply.status >= 400, "served {} bytes from behind the link", reply.body.len());
        assert!(!crate::media::contains(&reply.body, &bytes));
    }
}
