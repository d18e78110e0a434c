//! A million queued posts within a minute: one by one, as a service gets them, they would take
//! longer than all that is measured with them.

use campanile_model::time::Millis;
use campanile_store::{Conn, Db, StoreError, Tx, db::Value};

use crate::Outcome;

/// The tables that hold a queued post, and the column that the rows of one brand are sorted by.
const TABLES: [(&str, &str); 3] =
    [("posts", "id"), ("publish_jobs", "id"), ("publish_targets", "job_id")];

/// The first and last id of the rows that are copied.
type Range = (String, String);

/// Queues all that is due from `from` on so many times more, each time `later` than before.
pub(super) async fn add(db: &Db, from: Millis, times: usize, later: Millis) -> Outcome {
    let (jobs, posts) = originals(&mut db.read().await?, from).await?;
    let mut statements = Vec::new();
    for (table, sorted_by) in TABLES {
        let range = if table == "posts" { &posts } else { &jobs };
        let statement = statement(&mut db.read().await?, table, sorted_by).await?;
        statements.push((statement, range));
    }
    for (number, copy) in (1_i64..).zip(0..times) {
        // Less than any id of our time, so that what is planned next comes last, as always.
        let mark = format!("_00{copy:03}");
        let write = async |mut tx: Tx| {
            for (sql, (first, last)) in &statements {
                let shift = Value::Int(later * number);
                let values = [Value::Text(first), Value::Text(last), Value::Text(&mark), shift];
                tx.execute(sql, &values).await?;
            }
            Ok::<_, StoreError>(())
        };
        db.write(write).await?;
    }
    count(db, &posts, i64::try_from(times)?).await
}

async fn originals(conn: &mut Conn, from: Millis) -> Outcome<(Range, Range)> {
    const SQL: &str = "
        SELECT min(id), max(id), min(post_id), max(post_id) FROM publish_jobs WHERE run_at >= $1";
    let values = [Value::Int(from)];
    let found = conn.optional(SQL, &values, |row| {
        Ok(((row.text(0)?, row.text(1)?), (row.text(2)?, row.text(3)?)))
    });
    Ok(found.await?.ok_or("nothing is queued that could be copied")?)
}

/// Copies whole rows, whatever their columns are: other ids, later times, all else the same.
async fn statement(conn: &mut Conn, table: &str, sorted_by: &str) -> Outcome<String> {
    let columns = conn.dialect().pick(
        "SELECT name FROM pragma_table_info($1)",
        "SELECT CAST(column_name AS TEXT) FROM information_schema.columns
          WHERE table_schema = current_schema() AND table_name = CAST($1 AS TEXT)",
    );
    let columns = conn.all(columns, &[Value::Text(table)], |row| row.text(0)).await?;
    let values = columns.iter().map(|column| match column.as_str() {
        "id" | "job_id" | "post_id" => format!("replace({column}, '_', $3)"),
        "scheduled_at" | "run_at" | "due_at" | "next_at" | "wake_at" => format!("{column} + $4"),
        _ => column.clone(),
    });
    let values = values.collect::<Vec<_>>().join(", ");
    Ok(format!(
        "INSERT INTO {table} ({}) SELECT {values} FROM {table}
          WHERE brand_id IN (SELECT id FROM brands) AND {sorted_by} BETWEEN $1 AND $2
          ORDER BY brand_id, {sorted_by}",
        columns.join(", ")
    ))
}

/// A brand knows how many posts it has.
async fn count(db: &Db, (first, last): &Range, times: i64) -> Outcome {
    const SQL: &str = "
        INSERT INTO brand_counts (brand_id, shard, kind, amount)
        SELECT brand_id, 0, status, count(*) * $3 FROM posts
         WHERE brand_id IN (SELECT id FROM brands) AND id BETWEEN $1 AND $2
         GROUP BY brand_id, status
        ON CONFLICT (brand_id, shard, kind)
        DO UPDATE SET amount = brand_counts.amount + excluded.amount";
    let values = [Value::Text(first), Value::Text(last), Value::Int(times)];
    db.write(async |mut tx: Tx| tx.execute(SQL, &values).await).await?;
    Ok(())
}
