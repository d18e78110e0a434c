//! One row of an answer, whichever engine gave it.

use super::{Result, StoreError, boxed};

/// Columns are read by position: a store function names them in its own `SELECT`.
pub enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

macro_rules! column {
    ($(#[$doc:meta])* $name:ident -> $kind:ty, $read:ident) => {
        $(#[$doc])*
        pub fn $name(&self, column: usize) -> Result<$kind> {
            match self {
                Self::Sqlite(row) => {
                    row.get_ref(column).map_err(decode)?.$read().map_err(decode)
                }
                Self::Postgres(row) => row.try_get(column).map_err(decode),
            }
        }
    };
}

impl Row<'_> {
    column!(int -> i64, as_i64);
    column!(optional_int -> Option<i64>, as_i64_or_null);
    column!(
        /// Borrowed from the row: nothing is copied.
        str -> &str, as_str);
    column!(optional_str -> Option<&str>, as_str_or_null);
    column!(bytes -> &[u8], as_blob);

    pub fn text(&self, column: usize) -> Result<String> {
        self.str(column).map(str::to_owned)
    }

    pub fn optional_text(&self, column: usize) -> Result<Option<String>> {
        Ok(self.optional_str(column)?.map(str::to_owned))
    }

    pub fn id<K: campanile_model::ids::Kind>(
        &self,
        column: usize,
    ) -> Result<campanile_model::ids::Id<K>> {
        Ok(campanile_model::ids::Id::stored(self.str(column)?))
    }
}

fn decode(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Database(boxed(error))
}
