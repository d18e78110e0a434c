//! Cursors: opaque, signed, and good for the list they were made for alone.

use campanile_model::{
    decode::{Text, Whole},
    input,
};
use campanile_store::page::Page;

use crate::{
    app::App,
    problem::{Code, Problem},
    vault,
};

pub(crate) type Limit = Whole<1, 200>;
pub(crate) type Cursor = Text<1, 400>;

const USUAL: i64 = 50;

input! {
    /// A list without filters.
    pub(crate) struct Paging {
        /// How many to return.
        limit: Option<Limit>,
        /// `next_cursor` of the page before.
        cursor: Option<Cursor>,
    }
}

/// The page that was asked for. `list` names the list, its owner and its filters.
pub(crate) fn page(
    app: &App,
    list: &str,
    limit: Option<Limit>,
    cursor: Option<&Cursor>,
) -> Result<Page, Problem> {
    let below = cursor.map(|cursor| open(app, list, &cursor.0)).transpose()?;
    Ok(Page { limit: limit.map_or(USUAL, |limit| limit.0), below })
}

/// The cursor that goes on below the id `next`, as JSON.
pub(crate) fn next(app: &App, list: &str, next: Option<&str>) -> Option<String> {
    next.map(|id| {
        let signature = app.vault.sign_text("cursor", &[list, id]);
        vault::base64(format!("{id}.{signature}").as_bytes())
    })
}

fn open(app: &App, list: &str, cursor: &str) -> Result<String, Problem> {
    let text = vault::from_base64(cursor).and_then(|bytes| String::from_utf8(bytes).ok());
    text.as_deref()
        .and_then(|text| text.split_once('.'))
        .filter(|(id, signature)| app.vault.verify_text("cursor", &[list, id], signature))
        .map(|(id, _)| id.to_owned())
        .ok_or_else(|| {
            Problem::new(
                Code::InvalidCursor,
                "Take next_cursor from the page before, with the same filters, brand and key.",
            )
        })
}
