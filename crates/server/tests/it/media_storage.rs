//! Where the bytes go: stored once, gone when nothing needs them, never half.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::json;

use crate::{
    lab::{Engine, Lab, both, wait_until},
    media::{download, import, try_import},
    peer::{self, Peer, fixture},
};

/// Every file below a folder of the data directory.
fn files(lab: &Lab, folder: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => walk(&path, found),
                path => found.push(path),
            }
        }
    }
    let mut found = Vec::new();
    walk(&lab.data_dir().join(folder), &mut found);
    found
}

/// Makes what a killed process left look as if nobody had touched it for days: on a store that
/// several servers share, only its age tells that a temporary file is nobody's.
fn let_age(files: &[PathBuf]) {
    for file in files {
        let file = std::fs::File::options().write(true).open(file).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }
}

fn delete(lab: &Lab, key: &str, item: &serde_json::Value) {
    lab.delete("/media-library").key(key).json(json!({ "id": item["id"] })).send().expect(200);
}

both! {
    fn the_same_bytes_are_stored_once_and_go_with_the_last_item_that_holds_them(lab: Lab) {
        let peer = Peer::files();
        let one = import(&lab, &lab.key, &peer.url("photo.jpg"));
        let two = import(&lab, &lab.key, &peer.url("photo.jpg"));
        assert_ne!(one["storage_path"], two["storage_path"]);
        assert_eq!(one["sha256"], two["sha256"]);

        // The second copy is swept up within a minute, and at the next start.
        lab.restart();
        wait_until("one copy is left", || files(&lab, "media").len() == 1);

        delete(&lab, &lab.key, &one);
        assert_eq!(files(&lab, "media").len(), 1, "the other item holds the same bytes");
        assert!(!download(&lab, &two).is_empty());
        delete(&lab, &lab.key, &two);
        wait_until("nothing is left", || files(&lab, "media").is_empty());
    }

    fn what_one_tenant_deletes_another_keeps(lab: Lab) {
        let peer = Peer::files();
        let other = lab.tenant("other");
        let mine = import(&lab, &lab.key, &peer.url("photo.jpg"));
        let theirs = import(&lab, &other.key, &peer.url("photo.jpg"));

        delete(&lab, &lab.key, &mine);

        wait_until("mine is gone", || files(&lab, "media").len() == 1);
        assert!(!download(&lab, &theirs).is_empty());
    }

    fn imports_of_the_same_bytes_at_once_share_one_file(lab: Lab) {
        let peer = Peer::files();
        let items: Vec<_> = thread::scope(|scope| {
            let imports: Vec<_> = (0..6)
                .map(|_| scope.spawn(|| import(&lab, &lab.key, &peer.url("photo.png"))))
                .collect();
            imports.into_iter().map(|import| import.join().unwrap()).collect()
        });

        lab.restart();
        wait_until("one copy is left", || files(&lab, "media").len() == 1);
        for item in &items[1..] {
            delete(&lab, &lab.key, item);
        }
        assert_eq!(files(&lab, "media").len(), 1);
        assert!(!download(&lab, &items[0]).is_empty());
    }

    fn an_import_that_is_killed_leaves_nothing_behind(lab: Lab) {
        let stalled = Peer::start(|_, stream| {
            peer::begin(stream)?;
            stream.write_all(&fixture("photo.png")[..1000])?;
            thread::park();
            Ok(())
        });
        thread::scope(|scope| {
            let killed = scope.spawn(|| {
                let body = json!({ "source_url": stalled.url("a.png") });
                lab.post("/media-library").key(&lab.key).json(body).try_send()
            });
            wait_until("bytes arrive", || {
                let arrived = files(&lab, "tmp");
                arrived.iter().any(|file| file.metadata().is_ok_and(|about| about.len() == 1000))
            });

            lab.kill();

            assert!(killed.join().unwrap().is_err());
        });
        assert_ne!(files(&lab, "tmp").len(), 0, "the kill came too late");
        let_age(&files(&lab, "tmp"));
        lab.begin();
        let list = lab.get("/media-library").key(&lab.key).send().expect(200).json;
        assert_eq!(list["items"], json!([]));
        assert_eq!(files(&lab, "media").len(), 0);
        wait_until("what was half-way is cleaned up", || files(&lab, "tmp").is_empty());
    }
}

#[test]
fn a_copy_into_storage_that_is_killed_leaves_nothing_behind() {
    let lab = Lab::start(Engine::Sqlite);
    let large = Peer::start(|_, stream| peer::give_large_video(stream, 100 << 20));
    let staged =
        |lab: &Lab| files(lab, "media").iter().any(|file| file.to_string_lossy().contains('#'));
    thread::scope(|scope| {
        let killed = scope.spawn(|| {
            let body = json!({ "source_url": large.url("a.mp4") });
            lab.post("/media-library").key(&lab.key).json(body).try_send()
        });
        wait_until("the copy has begun", || staged(&lab));

        lab.kill();

        assert!(killed.join().unwrap().is_err());
    });
    let_age(&files(&lab, "media"));
    lab.begin();
    let list = lab.get("/media-library").key(&lab.key).send().expect(200).json;
    assert_eq!(list["items"], json!([]));
    wait_until("what was half-way is cleaned up", || !staged(&lab));
}

#[test]
fn memory_stays_flat_while_a_large_file_comes_in() {
    let lab = Lab::start(Engine::Sqlite);
    let large = Peer::start(|_, stream| peer::give_large_video(stream, 200 << 20));
    import(&lab, &lab.key, &Peer::files().url("photo.jpg"));
    let before = lab.memory("VmRSS");
    lab.forget_peak_memory();

    let item = import(&lab, &lab.key, &large.url("a.mp4"));

    let grown = lab.memory("VmHWM").saturating_sub(before);
    assert!(grown < 64 << 20, "grew by {grown} bytes");
    assert!(item["bytes"].as_u64().unwrap() > 5000, "{item}");
}

#[test]
fn memory_stays_flat_while_a_large_file_goes_out() {
    let lab = Lab::start(Engine::Sqlite);
    let noise = Peer::of(noisy_gif(24 << 20));
    let item = import(&lab, &lab.key, &noise.url("a.gif"));
    let before = lab.memory("VmRSS");
    lab.forget_peak_memory();

    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(download(&lab, &item).len() > 20 << 20));
        }
    });

    let grown = lab.memory("VmHWM").saturating_sub(before);
    assert!(grown < 64 << 20, "grew by {grown} bytes");
}

/// A still picture whose compressed data are as long as one likes.
pub(crate) fn noisy_gif(bytes: usize) -> Vec<u8> {
    let mut gif = b"GIF89a\x10\0\x10\0\0\0\0,\0\0\0\0\x10\0\x10\0\0\x02".to_vec();
    for _ in 0..bytes / 256 {
        gif.push(255);
        gif.extend([0x55; 255]);
    }
    gif.extend(b"\0;");
    gif
}

#[test]
fn an_endless_stream_is_cut_at_the_limit() {
    let limits = [("CAMPANILE_IMAGE_LIMIT", "1000000"), ("CAMPANILE_VIDEO_LIMIT", "4000000")];
    let lab = Lab::start_with(Engine::Sqlite, &limits);
    let sent = Arc::new(AtomicU64::new(0));
    let count = sent.clone();
    let endless = Peer::start(move |path, stream| {
        let chunk = [b'x'; 16 * 1024];
        match path {
            "/chunked" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            }
            _ => peer::begin(stream)?,
        }
        loop {
            if path == "/chunked" {
                stream.write_all(b"4000\r\n")?;
            }
            stream.write_all(&chunk)?;
            count.fetch_add(chunk.len() as u64, Ordering::SeqCst);
            if path == "/chunked" {
                stream.write_all(b"\r\n")?;
            }
        }
    });

    for path in ["plain", "chunked"] {
        sent.store(0, Ordering::SeqCst);
        let refused = try_import(&lab, &lab.key, &endless.url(path));

        let refused = refused.expect_problem(422, "validation_failed");
        let code = refused.json["errors"][0]["code"].as_str().unwrap();
        assert!(code.ends_with("too_large"), "{}", refused.text());
        // What the peer could write includes what both ends had buffered.
        assert!(sent.load(Ordering::SeqCst) < 32_000_000, "{path}: {sent:?}");
        assert_eq!(files(&lab, "tmp").len(), 0, "{path}");
    }
}
