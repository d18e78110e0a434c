//! Every statement in the source is understood by both engines and confined to a tenant.

use std::{collections::BTreeMap, fs, path::Path};

use campanile_model::post::PostStatus;
use campanile_store::{
    Conn, audit, media,
    page::Window,
    posts,
    publish::{jobs, queue},
};

use crate::lab::{Lab, both};

/// Tables whose rows belong to somebody.
const TENANT_TABLES: &[&str] = &[
    "posts",
    "post_tags",
    "post_media",
    "content_folders",
    "media_items",
    "media_tags",
    "assets",
    "uploads",
    "blobs",
    "brand_counts",
    "audit_log",
    "brands",
    "memberships",
    "api_keys",
    "sessions",
    "connections",
    "publish_jobs",
    "publish_targets",
    "publish_attempts",
    "outbox",
    "sandbox_posts",
];
/// What confines a statement: to one brand, workspace or user, or to one credential.
const CONFINED_BY: &[&str] = &[
    "brand_id = $",
    "workspace_id = $",
    "user_id = $",
    "k.hash = $",
    "s.hash = $",
    "every tenant:",
];

/// The SQL texts of the crate, with the names of other texts filled in.
fn statements() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![source];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // migrate.rs and the layer itself ask each engine about itself.
            if ["migrate.rs", "db"].iter().any(|name| path.ends_with(name)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let source = fs::read_to_string(&path).unwrap();
            let texts = literals(&source);
            let mut constants = constants(&source);
            // A folder's files share what its mod.rs declares.
            let shared = fs::read_to_string(path.with_file_name("mod.rs")).unwrap_or_default();
            for (name, value) in self::constants(&shared) {
                constants.entry(name).or_insert(value);
            }
            for text in texts.iter().filter(|text| is_statement(text)) {
                found.push((name.clone(), fill_in(text, &constants)));
            }
        }
    }
    found
}

fn is_statement(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let verb = ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(&first);
    // A statement that is put together in Rust is asked for by name below.
    verb && !text.contains("{}")
        && !text.contains("{candidates}")
        && !text.contains("{window}")
        && !text.contains("{from}")
        && !text.contains("{SEEN}")
        && !text.contains("{lock}")
        && !text.contains("{list}")
        && !text.contains("{tagged}")
}

/// The string literals of a source file. Ours have no escapes but `\\` and `\"`.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line_free in
        source.split("\n//").map(|part| part.split_once('\n').map_or(part, |(_, rest)| rest))
    {
        let mut inside = None::<String>;
        let mut escaped = false;
        for c in line_free.chars() {
            match (&mut inside, c) {
                (Some(text), _) if escaped => {
                    text.push(c);
                    escaped = false;
                }
                (Some(_), '\\') => escaped = true,
                (Some(_), '"') => found.extend(inside.take()),
                (Some(text), c) => text.push(c),
                (None, '"') => inside = Some(String::new()),
                (None, _) => {}
            }
        }
    }
    found
}

fn constants(source: &str) -> BTreeMap<String, String> {
    let source = source.replace("\npub(crate) const ", "\nconst ");
    let parts = source.split("\nconst ").skip(1);
    parts
        .filter_map(|part| {
            let (name, rest) = part.split_once(": &str =")?;
            let text = rest.split('"').nth(1)?;
            Some((name.trim().to_owned(), text.to_owned()))
        })
        .collect()
}

fn fill_in(text: &str, constants: &BTreeMap<String, String>) -> String {
    constants
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The statements that are put together in Rust, in every form they can take.
fn composed(conn: &Conn) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for bits in 0..16 {
        let given = |bit: u32, text: &str| (bits & 1 << bit != 0).then(|| text.to_owned());
        let filter = posts::Filter {
            tag: given(0, "t"),
            folder: given(1, "f"),
            status: given(2, "s").map(|_| PostStatus::Draft),
            text: given(3, "x"),
            ..posts::Filter::default()
        };
        let (rows, edge) = posts::list_statements(&filter);
        found.push(rows);
        found.extend(edge);
        found.push(media::list_statement(&media::Filter {
            folder: given(0, "f"),
            tag: given(1, "t"),
        }));
    }
    let (rows, edge) = audit::list_statements();
    found.extend([rows, edge]);
    for tag in [None, Some("t".to_owned())] {
        found.push(jobs::list_statement(&jobs::Filter { tag, ..jobs::Filter::default() }));
    }
    found.extend([
        queue::due_statement(conn),
        jobs::lock_statement(conn),
        jobs::hold_statement(conn),
        jobs::entries_statement(conn),
        jobs::attempts_statement(conn),
    ]);
    assert!(found.iter().any(|text| text.contains(&Window::WIDTH.to_string())));
    found.into_iter().map(|text| ("composed".to_owned(), text)).collect()
}

both! {
    async fn every_statement_is_understood(lab: Lab) {
        let mut conn = lab.db.read().await.unwrap();
        let all: Vec<_> = statements().into_iter().chain(composed(&conn)).collect();
        assert!(all.len() > 80, "only {} statements were found", all.len());
        let mut wrong = Vec::new();
        for (place, sql) in &all {
            if let Err(error) = conn.prepare(sql).await {
                let why = std::error::Error::source(&error).map(ToString::to_string);
                wrong.push(format!("{place}: {}\n{sql}\n", why.unwrap_or(error.to_string())));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

both! {
async fn every_statement_is_confined_to_a_tenant_or_says_why_not(lab: Lab) {
    let conn = lab.db.read().await.unwrap();
    let loose: Vec<_> = statements()
        .into_iter()
        .chain(composed(&conn))
        .filter(|(_, sql)| touches_a_tenant(sql) && !is_confined(sql))
        .map(|(place, sql)| format!("{place}: {sql}"))
        .collect();
    assert!(loose.is_empty(), "{}", loose.join("\n\n"));
}
}

fn touches_a_tenant(sql: &str) -> bool {
    let words: Vec<_> = sql.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let named = |pair: &[&str]| {
        ["FROM", "JOIN", "UPDATE"].contains(&pair[0]) && TENANT_TABLES.contains(&pair[1])
    };
    words.windows(2).any(named)
}

fn is_confined(sql: &str) -> bool {
    let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    CONFINED_BY.iter().any(|mark| sql.contains(mark))
}

#[test]
fn the_check_itself_notices_a_loose_statement() {
    assert!(touches_a_tenant("SELECT id FROM posts WHERE id = $1"));
    assert!(!is_confined("SELECT id FROM posts WHERE id = $1"));
    assert!(is_confined("SELECT id FROM posts WHERE brand_id = $1"));
}
