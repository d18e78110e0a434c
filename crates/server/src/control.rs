//! How the operator's commands reach a running server on SQLite: a socket in the data directory.
//!
//! The server holds a lock on the data directory. A command that cannot take the lock knows
//! that a server runs and asks it; what the server then changes holds from the next request on.

use std::{
    fs::{File, TryLockError},
    io::{BufRead, BufReader, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

use crate::{
    admin::{self, Reply, Request},
    app::Shared,
};

const LARGEST_REQUEST: u64 = 64 * 1024;

fn socket_path(data_dir: &Path) -> PathBuf {
    data_dir.join("control.sock")
}

/// Holds the data directory until dropped; `None` when another process holds it.
pub(crate) fn lock(data_dir: &Path) -> Result<Option<File>, String> {
    let path = data_dir.join("lock");
    let cannot = |error: std::io::Error| format!("{} cannot be locked: {error}", path.display());
    let file =
        File::options().create(true).write(true).truncate(false).open(&path).map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(cannot(error)),
    }
}

/// Asks the running server.
pub(crate) fn ask(data_dir: &Path, request: &Request) -> Reply {
    let failed = |error: std::io::Error| {
        format!("a process holds {}, but does not answer: {error}", data_dir.display())
    };
    let mut stream = UnixStream::connect(socket_path(data_dir)).map_err(failed)?;
    let mut line = serde_json::to_string(request).map_err(|error| error.to_string())?;
    line.push('\n');
    stream.write_all(line.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(failed)?;
    serde_json::from_str(&answer).unwrap_or_else(|_| Err("the server gave no answer".to_owned()))
}

/// Answers commands until it is dropped.
pub(crate) async fn serve(app: Shared) -> std::io::Result<()> {
    let path = socket_path(&app.config.data_dir);
    // Left over by a process that was killed: the lock says that nobody listens there.
    let _ = std::fs::remove_file(&path);
    let listener = tokio::net::UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    loop {
        let (stream, _) = listener.accept().await?;
        let app = app.clone();
        tokio::spawn(async move {
            if let Err(error) = attend(&app, stream).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "a command was cut off");
            }
        });
    }
}

async fn attend(app: &Shared, stream: tokio::net::UnixStream) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    let limited = tokio::io::AsyncReadExt::take(read, LARGEST_REQUEST);
    tokio::io::BufReader::new(limited).read_line(&mut line).await?;
    let reply: Reply = match serde_json::from_str(&line) {
        Ok(request) => admin::run(app, request).await,
        Err(_) => Err("the server does not know this command; is it an older version?".to_owned()),
    };
    let mut answer = serde_json::to_string(&reply).unwrap_or_default();
    answer.push('\n');
    write.write_all(answer.as_bytes()).await
}
