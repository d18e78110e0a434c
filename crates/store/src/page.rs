//! Pages of a list: newest first, stable while rows are added.

/// Which part of a list is asked for.
#[derive(Clone, Debug)]
pub struct Page {
    pub limit: i64,
    /// Only rows whose id lies below this one.
    pub below: Option<String>,
}

/// Counts rows onto a page, and knows where the next one starts.
pub struct Window {
    limit: i64,
    pub shown: i64,
    last: String,
    /// The last id shown, once a row came that did not fit.
    pub next: Option<String>,
}

impl Window {
    /// A filter that no index serves looks through this many rows at most; a page can then be
    /// short, or empty, and still say where to go on.
    pub const WIDTH: i64 = 5000;

    pub fn new(limit: i64) -> Self {
        Self { limit, shown: 0, last: String::new(), next: None }
    }

    pub fn admits(&mut self, id: &str) -> bool {
        if self.shown < self.limit {
            self.shown += 1;
            self.last.clear();
            self.last.push_str(id);
            return true;
        }
        self.next.get_or_insert_with(|| self.last.clone());
        false
    }
}
