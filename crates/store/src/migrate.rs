//! Forward migrations, the same files for both engines.

use std::path::Path;

use campanile_model::time::Millis;

use crate::{
    db::{Db, Dialect, Result, StoreError, Tx},
    params,
};

/// Number, name and text of one step.
type Step = (i64, &'static str, &'static str);

/// In order. A released file is never changed; a change is a new file.
const MIGRATIONS: &[Step] = &[
    (1, "core", include_str!("../../../migrations/0001_core.sql")),
    (2, "audit_ranges", include_str!("../../../migrations/0002_audit_ranges.sql")),
    (3, "publishing", include_str!("../../../migrations/0003_publishing.sql")),
    (4, "account_identity", include_str!("../../../migrations/0004_account_identity.sql")),
    (5, "lean_queue", include_str!("../../../migrations/0005_lean_queue.sql")),
];

pub const NEWEST: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// What a migration did to a store.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Current,
    Created,
    Upgraded { from: i64 },
}

/// Brings the schema up to this binary's version, after a backup where there is something to
/// lose. A store that is ahead of the binary is left alone.
pub async fn migrate(db: &Db, backups: &Path, now: Millis) -> Result<Outcome> {
    migrate_by(db, MIGRATIONS, backups, now).await
}

async fn migrate_by(db: &Db, steps: &[Step], backups: &Path, now: Millis) -> Result<Outcome> {
    let before = version(db).await?;
    let newest = steps.last().map_or(0, |step| step.0);
    if before > newest {
        return Err(StoreError::Refused(format!(
            "the store has schema version {before}, this program knows {newest}: \
             start a newer version of it"
        )));
    }
    if before == newest {
        return Ok(Outcome::Current);
    }
    if before > 0 && db.dialect() == Dialect::Sqlite {
        let file = format!("before-schema-{}-{now}.db", before + 1);
        db.sqlite_backup(&backups.join(file))?;
    }
    db.write(async |mut tx| upgrade(&mut tx, steps, now).await).await?;
    Ok(if before == 0 { Outcome::Created } else { Outcome::Upgraded { from: before } })
}

/// The schema's version; `0` for an empty store.
pub async fn version(db: &Db) -> Result<i64> {
    let mut conn = db.read().await?;
    let exists = conn.dialect().pick(
        "SELECT count(*) FROM sqlite_master WHERE name = 'schema_versions'",
        "SELECT count(*) FROM pg_tables
          WHERE schemaname = current_schema() AND tablename = 'schema_versions'",
    );
    if conn.count(exists, params![]).await? == 0 {
        return Ok(0);
    }
    conn.count("SELECT coalesce(max(number), 0) FROM schema_versions", params![]).await
}

/// All steps in one transaction: a crash half-way leaves the store as it was.
async fn upgrade(tx: &mut Tx, steps: &[Step], now: Millis) -> Result<()> {
    if tx.dialect() == Dialect::Postgres {
        // A large store takes longer than any request may.
        tx.script("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'").await?;
    }
    tx.take_turns_on("migration").await?;
    let table = "CREATE TABLE IF NOT EXISTS schema_versions (
        number BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)";
    tx.script(table).await?;
    let reached =
        tx.count("SELECT coalesce(max(number), 0) FROM schema_versions", params![]).await?;
    for (number, name, text) in steps.iter().filter(|(number, ..)| *number > reached) {
        let text = in_dialect(text, tx.dialect());
        tx.script(&text).await?;
        let sql = "INSERT INTO schema_versions (number, name, applied_at) VALUES ($1, $2, $3)";
        tx.execute(sql, params![*number, *name, now]).await?;
    }
    Ok(())
}

/// What the engines must be told differently. PostgreSQL sorts text by the language of its
/// database unless told to go by bytes, as SQLite does and as our identifiers need.
fn in_dialect(text: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite => text.replace("{clustered}", "WITHOUT ROWID"),
        Dialect::Postgres => {
            // To SQLite that is a comment.
            let text = text.replace("{clustered}", "").replace("--postgres ", "");
            text.replace(" TEXT", " TEXT COLLATE \"C\"")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Location;

    const ONE: Step = (1, "one", "CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY)");
    const TWO: Step = (2, "two", "ALTER TABLE things ADD COLUMN name TEXT");
    const WRONG: Step = (3, "three", "CREATE TABLE more (id TEXT); ALTER TABLE nothing ADD x TEXT");

    async fn store() -> (Db, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("store.db"));
        (Db::open(&location).await.unwrap(), folder)
    }

    #[tokio::test]
    async fn an_upgrade_backs_the_store_up_before_it_changes_anything() {
        let (db, folder) = store().await;
        migrate_by(&db, &[ONE], folder.path(), 5).await.unwrap();

        let outcome = migrate_by(&db, &[ONE, TWO], folder.path(), 6).await.unwrap();

        assert_eq!(outcome, Outcome::Upgraded { from: 1 });
        let backup = Location::Sqlite(folder.path().join("before-schema-2-6.db"));
        let backup = Db::open(&backup).await.unwrap();
        assert_eq!(version(&backup).await.unwrap(), 1);
        assert_eq!(version(&db).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn entries_of_the_first_version_stay_in_the_audit_log() {
        let (db, folder) = store().await;
        migrate_by(&db, &MIGRATIONS[..1], folder.path(), 5).await.unwrap();
        let entry = "
            INSERT INTO audit_log (workspace_id, id, door, request_id, action, resource,
                                   resource_id, created_at, seal)
            VALUES ('ws_1', 'audit_1', 'cli', 'req_1', 'thing.made', 'thing', 'thing_1', 4, 1)";
        db.write(async |mut tx| tx.execute(entry, &[]).await).await.unwrap();

        migrate(&db, folder.path(), 6).await.unwrap();

        let mut conn = db.read().await.unwrap();
        let chain = crate::audit::verify(&mut conn, &[0; 32]).await.unwrap();
        assert_eq!(chain, crate::audit::Chain::Whole { links: 0, entries: 0, unsealed: 1 });
    }

    #[tokio::test]
    async fn connected_accounts_get_the_identity_that_connecting_them_again_has() {
        let (db, folder) = store().await;
        migrate_by(&db, &MIGRATIONS[..3], folder.path(), 5).await.unwrap();
        let rows = "
            INSERT INTO connections (brand_id, id, platform, remote_id, handle, server, details,
                                     status, scopes, secret, secret_version, renewing_until,
                                     created_by, created_at, updated_at)
            VALUES ('b', 'c1', 'mastodon', '7', 'h', 'https://a.example', '{}', 'connected', '',
                    x'', 1, 0, 'u', 1, 1),
                   ('b', 'c2', 'bluesky', 'did:plc:x', 'h', 'https://b.example', '{}',
                    'connected', '', x'', 1, 0, 'u', 1, 1)";
        db.write(async |mut tx| tx.execute(rows, &[]).await).await.unwrap();

        migrate(&db, folder.path(), 6).await.unwrap();

        let mut conn = db.read().await.unwrap();
        let sql = "SELECT identity FROM connections ORDER BY id";
        let found = conn.all(sql, &[], |row| row.text(0)).await.unwrap();
        assert_eq!(found, ["https://a.example/7", "did:plc:x"]);
    }

    #[tokio::test]
    async fn a_step_that_fails_leaves_the_store_as_it_was() {
        let (db, folder) = store().await;
        migrate_by(&db, &[ONE], folder.path(), 5).await.unwrap();

        assert!(migrate_by(&db, &[ONE, TWO, WRONG], folder.path(), 6).await.is_err());

        assert_eq!(version(&db).await.unwrap(), 1);
        let mut conn = db.read().await.unwrap();
        assert!(conn.prepare("SELECT name FROM things").await.is_err());
        assert!(conn.prepare("SELECT id FROM more").await.is_err());
    }
}
