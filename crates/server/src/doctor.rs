//! `campanile doctor`: looks at everything that must be right, and says what to do.

use campanile_model::time::{MINUTE, Millis, SECOND};
use campanile_store::{
    audit::{self, Chain},
    db::Dialect,
    migrate, params,
    publish::queue,
};

use crate::{admin::Reply, app::App};

struct Report {
    text: String,
    sound: bool,
}

impl Report {
    fn line(&mut self, good: bool, what: &str, advice: &str) {
        let mark = if good { "ok  " } else { "BAD " };
        self.text.push_str(&format!("{mark}{what}"));
        if !good {
            self.text.push_str(&format!("\n      {advice}"));
            self.sound = false;
        }
        self.text.push('\n');
    }
}

pub(crate) async fn examine(app: &App) -> Reply {
    let mut report = Report { text: String::new(), sound: true };
    store(app, &mut report).await;
    chain(app, &mut report).await;
    publishing(app, &mut report).await;
    keys(app, &mut report).await;
    storage(app, &mut report).await;
    clock(app, &mut report).await;
    configuration(app, &mut report);
    if report.sound { Ok(report.text) } else { Err(report.text) }
}

async fn store(app: &App, report: &mut Report) {
    let engine = match app.db.dialect() {
        Dialect::Sqlite => "SQLite",
        Dialect::Postgres => "PostgreSQL",
    };
    match migrate::version(&app.db).await {
        Ok(version) => report.line(
            version == migrate::NEWEST,
            &format!("store: {engine}, schema {version} of {}", migrate::NEWEST),
            "run: campanile migrate",
        ),
        Err(error) => {
            let what = format!("store: {engine} does not answer: {error}");
            report.line(false, &what, "check the database URL, the server and the disk");
        }
    }
    let probe = app
        .db
        .write(async |mut tx| {
            tx.execute("DELETE FROM idempotency_keys WHERE owner = ''", params![]).await
        })
        .await;
    report.line(probe.is_ok(), "store: takes a write", "check free space and permissions");
    if app.db.dialect() == Dialect::Sqlite {
        let sound = async {
            let mut conn = app.db.read().await?;
            conn.optional("PRAGMA quick_check(1)", params![], |row| row.text(0)).await
        };
        let sound = sound.await.ok().flatten().is_some_and(|text| text == "ok");
        report.line(
            sound,
            "store: file is intact",
            "restore the newest backup: campanile restore FILE",
        );
    }
}

/// A post that should have started a minute ago means that nobody publishes.
async fn publishing(app: &App, report: &mut Report) {
    let ages = async { queue::ages(&mut app.db.read().await?, app.now()).await };
    let seconds = |age: Option<Millis>| age.unwrap_or(0) / SECOND;
    match ages.await {
        Ok(ages) => report.line(
            ages.oldest_due.is_none_or(|age| age < MINUTE),
            &format!(
                "publishing: oldest post that is due waits for {} s, oldest open outcome for {} s",
                seconds(ages.oldest_due),
                seconds(ages.oldest_undecided)
            ),
            "start the server, or a runner, so that posts go out",
        ),
        Err(error) => {
            report.line(
                false,
                &format!("publishing: the queue cannot be read: {error}"),
                "see above",
            );
        }
    }
}

async fn chain(app: &App, report: &mut Report) {
    let found = async { audit::verify(&mut app.db.read().await?, app.vault.audit_key()).await };
    match found.await {
        Ok(Chain::Whole { links, entries, unsealed }) => {
            let what = format!(
                "audit log: {entries} entries in {links} links verify, {unsealed} not sealed yet"
            );
            report.line(true, &what, "");
        }
        Ok(Chain::Broken { link, why }) => report.line(
            false,
            &format!("audit log: broken at link {link}: {why}"),
            "somebody changed the store by hand; compare with a backup",
        ),
        Err(error) => {
            report.line(false, &format!("audit log: cannot be read: {error}"), "see above");
        }
    }
}

/// What was sealed with the master key of the first start must still open.
async fn keys(app: &App, report: &mut Report) {
    let id = app.vault.key_id();
    report.line(
        crate::canary::check(app).await.is_ok(),
        &format!("master key: {id} opens what the store holds"),
        "put the old master.key back, or set CAMPANILE_MASTER_KEY to it",
    );
}

async fn storage(app: &App, report: &mut Report) {
    let found = app.blobs.check().await;
    let what = match &found {
        Ok(()) => "media storage: writes, reads and deletes".to_owned(),
        Err(error) => format!("media storage: {error}"),
    };
    report.line(found.is_ok(), &what, "check CAMPANILE_STORAGE_URL, permissions and free space");
    let free = free_space(&app.config.data_dir);
    let enough = free.is_none_or(|percent| percent >= 5);
    let what = match free {
        Some(percent) => format!("disk: {percent} % free"),
        None => "disk: free space is not known here".to_owned(),
    };
    report.line(enough, &what, "make room: below 5 % the store may stop taking writes");
}

/// Free space in per cent, as `df` tells it.
fn free_space(folder: &std::path::Path) -> Option<u64> {
    let output = std::process::Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut fields = text.lines().nth(1)?.split_whitespace().skip(1);
    let total: u64 = fields.next()?.parse().ok()?;
    let free: u64 = fields.nth(1)?.parse().ok()?;
    (free * 100).checked_div(total)
}

async fn clock(app: &App, report: &mut Report) {
    let now = app.now();
    // The first of January 2026: this program is younger.
    let plausible = now > 1_767_225_600_000;
    let newest = async {
        let mut conn = app.db.read().await?;
        let sql = "SELECT coalesce(max(created_at), 0) FROM audit_seals";
        conn.count(sql, params![]).await
    };
    let newest = newest.await.unwrap_or(0);
    report.line(
        plausible && newest < now + MINUTE,
        &format!("clock: {}", campanile_model::time::format(now)),
        "set the clock: the store holds entries from the future",
    );
    let behind = app.clock.behind();
    if behind.abs() > SECOND {
        let line = format!("clock: {behind} ms behind the database's, whose time is used instead");
        report.line(false, &line, "let both machines follow the same time servers");
    }
}

fn configuration(app: &App, report: &mut Report) {
    let url = &app.public_url;
    let local = app.config.listen.ip().is_loopback();
    report.line(
        local || url.starts_with("https://"),
        &format!("configuration: listens on {}, public address {url}", app.config.listen),
        "put a TLS proxy in front and set CAMPANILE_PUBLIC_URL to its https address",
    );
    if app.config.allow_private_networks {
        report.text.push_str(
            "note outgoing requests may reach private addresses (CAMPANILE_ALLOW_PRIVATE_NETWORKS)\n",
        );
    }
}
