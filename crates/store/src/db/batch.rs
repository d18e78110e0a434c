//! One statement of PostgreSQL for many sets of parameters.
//!
//! A statement is written for one set, as SQLite runs it. PostgreSQL would have to be sent it
//! once for each; instead it gets the parameters as arrays, and joins the statement with them.

use deadpool_postgres::Object;
use tokio_postgres::{
    Statement,
    types::{ToSql, Type},
};

use super::{Result, Value, postgres::judge};

/// The statement over arrays, prepared.
pub(super) async fn prepare(client: &Object, sql: &str) -> Result<Statement> {
    let single = client.prepare_cached(sql).await.map_err(judge)?;
    client.prepare_cached(&for_all(sql, single.params())).await.map_err(judge)
}

/// All first parameters, all second ones, and so on.
pub(super) struct Columns<'v>(Vec<Vec<Value<'v>>>);

impl<'v> Columns<'v> {
    pub(super) fn new(statement: &Statement, sets: &[Vec<Value<'v>>]) -> Self {
        let column = |index: usize| {
            sets.iter().map(|set| set.get(index).copied().unwrap_or(Value::Null)).collect()
        };
        Self((0..statement.params().len()).map(column).collect())
    }

    pub(super) fn bind(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.0.iter().map(|column| column as &(dyn ToSql + Sync)).collect()
    }
}

/// The statement over arrays. `INSERT … VALUES (…)` becomes `INSERT … SELECT … FROM`, and
/// `UPDATE … WHERE` gets a `FROM` and says which sets have changed a row.
fn for_all(sql: &str, kinds: &[Type]) -> String {
    let arrays: Vec<_> =
        (1..).zip(kinds).map(|(number, kind)| format!("${number}::{}[]", kind.name())).collect();
    let names: Vec<_> = (1..=kinds.len()).map(|number| format!("p{number}")).collect();
    let from = format!(
        "FROM unnest({}) WITH ORDINALITY AS given ({}, place)",
        arrays.join(", "),
        names.join(", ")
    );
    let named = named(sql);
    match named.split_once("VALUES (") {
        Some((head, values)) => {
            let values = values.trim_end().strip_suffix(')').unwrap_or(values);
            format!("{head} SELECT {values} {from}")
        }
        None => {
            let (head, condition) = named.rsplit_once("WHERE ").unwrap_or((&named, "true"));
            format!("{head} {from} WHERE {condition} RETURNING given.place")
        }
    }
}

/// `given.p1` for `$1`, and so on.
fn named(sql: &str) -> String {
    sql.replace('$', "given.p")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_for_one_becomes_one_for_all() {
        let kinds = [Type::TEXT, Type::INT8];
        let from = "FROM unnest($1::text[], $2::int8[]) WITH ORDINALITY AS given (p1, p2, place)";
        assert_eq!(
            for_all("UPDATE t SET a = $2 WHERE id = $1 AND a < $2", &kinds),
            format!(
                "UPDATE t SET a = given.p2  {from} WHERE id = given.p1 AND a < given.p2 \
                 RETURNING given.place"
            )
        );
        assert_eq!(
            for_all("INSERT INTO t (id, a) VALUES ($1, $2)", &kinds),
            format!("INSERT INTO t (id, a)  SELECT given.p1, given.p2 {from}")
        );
    }
}
