//! `campanile restore`: puts a backup in the place of the SQLite store.

use std::{fs, path::Path};

use campanile_store::{Db, db::Location, migrate, params};

use crate::{config::Config, control};

pub(crate) fn restore(config: &Config, backup: &Path) -> Result<String, String> {
    let Some(store) = config.sqlite_file() else {
        return Err("this store is PostgreSQL: restore it with pg_restore".to_owned());
    };
    let io = |what: &Path| {
        let what = what.display().to_string();
        move |error: std::io::Error| format!("{what}: {error}")
    };
    fs::create_dir_all(&config.data_dir).map_err(io(&config.data_dir))?;
    let Some(_lock) = control::lock(&config.data_dir)? else {
        return Err("a server is running on this data directory; stop it first".to_owned());
    };
    // Work on a copy beside the store, so that the last step is a rename.
    let copy = store.with_extension("restoring");
    remove_with_logs(&copy)?;
    fs::copy(backup, &copy).map_err(io(backup))?;
    let version = check(&copy)?;
    remove_logs(&copy)?;
    fs::File::open(&copy).and_then(|file| file.sync_all()).map_err(io(&copy))?;
    // A log that belongs to the old file would be played onto the new one.
    remove_logs(&store)?;
    fs::rename(&copy, &store).map_err(io(&store))?;
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(io(folder))?;
    Ok(format!("restored {} (schema {version}) from {}\n", store.display(), backup.display()))
}

/// The backup's schema version, if it is a sound store that this program understands.
fn check(copy: &Path) -> Result<i64, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let unusable = |error: campanile_store::StoreError| {
            format!("the backup is not a usable store: {error}")
        };
        let db = Db::open(&Location::Sqlite(copy.to_owned())).await.map_err(unusable)?;
        let mut conn = db.read().await.map_err(unusable)?;
        let sound = conn.optional("PRAGMA integrity_check(1)", params![], |row| row.text(0)).await;
        if sound.map_err(unusable)?.as_deref() != Some("ok") {
            return Err("the backup is damaged".to_owned());
        }
        drop(conn);
        let version = migrate::version(&db).await.map_err(unusable)?;
        if version == 0 || version > migrate::NEWEST {
            return Err(format!(
                "the backup has schema {version}; this program knows 1 to {}",
                migrate::NEWEST
            ));
        }
        db.close().await;
        Ok(version)
    })
}

fn remove_with_logs(store: &Path) -> Result<(), String> {
    remove_logs(store)?;
    remove(store)
}

fn remove_logs(store: &Path) -> Result<(), String> {
    for suffix in ["-wal", "-shm"] {
        let mut path = store.as_os_str().to_owned();
        path.push(suffix);
        remove(Path::new(&path))?;
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}
