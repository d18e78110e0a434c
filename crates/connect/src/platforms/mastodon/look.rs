//! Finding a status among those of the account.

use std::collections::HashSet;

use campanile_model::publish::{Class, Failure, Receipt};
use campanile_model::time::{self, Millis, SECOND};

use super::answers::{clock, failure};
use super::api::{Api, quoted};
use super::frozen::Frozen;
use super::instance::Instance;
use super::text::{comparable, from_html};
use super::wire::{NewStatus, Source, Status};
use crate::platforms::{Account, Sight, expect_json, from_fetch};

/// Pages that are read at most; more than 400 statuses since the post was due are not a feed.
const MOST_PAGES: usize = 10;
/// No server has pages smaller than this when it is asked for more.
const SMALL_PAGE: usize = 20;
/// Statuses whose sources are asked for at most.
const MOST_SOURCES: usize = 10;
/// How well the clock of a server is known from the header `date`.
const PRECISION: Millis = 5 * SECOND;

/// The statuses of an account since some moment.
struct Recent {
    statuses: Vec<Status>,
    /// Whether the moment was reached.
    is_whole: bool,
    /// How much the server's clock is ahead of ours.
    ahead: Option<Millis>,
}

/// The ids of what is there already, before the first call.
pub(super) async fn seen(
    api: &Api<'_>,
    account: &Account,
    frozen: &Frozen,
) -> Result<Vec<String>, Failure> {
    let recent = recent(api, account, frozen.since()).await?;
    Ok(recent.statuses.into_iter().map(|status| status.id).collect())
}

/// Looks for what a call may have published. The same words may be out for another post already,
/// which then is among the `taken`: every post has a status of its own.
pub(super) async fn find(
    api: &Api<'_>,
    account: &Account,
    frozen: &Frozen,
    taken: &[String],
) -> Sight {
    let recent = match recent(api, account, frozen.since()).await {
        Ok(recent) => recent,
        Err(failure) => return Sight::Unreadable(failure),
    };
    let mut candidates = recent.statuses;
    let seen = frozen.seen.as_deref().unwrap_or_default();
    let earliest = earliest(frozen, recent.ahead);
    candidates.retain(|status| {
        let is_known = seen.contains(&status.id) || taken.contains(&status.id);
        let is_other = is_known || created(status) < earliest;
        !is_other && has_form(status, &frozen.status)
    });
    let matches = match say_the_same(api, candidates, &frozen.status).await {
        Ok(matches) => matches,
        Err(failure) => return Sight::Unreadable(failure),
    };
    match matches.as_slice() {
        [] if !recent.is_whole => {
            unknowable("the account has posted so much that the post cannot be looked for")
        }
        [] if frozen.status.visibility == "direct" && !Instance::of(account).is_mastodon() => {
            unknowable("the server may not list posts that only those mentioned can see")
        }
        [] => Sight::Absent,
        [status] => Sight::Found(receipt(status)),
        _ => unknowable("several posts of the account say the same"),
    }
}

pub(super) fn receipt(status: &Status) -> Receipt {
    let is_web = |url: &&String| url.starts_with("https://") || url.starts_with("http://");
    let url = status.url.as_ref().filter(is_web).or(status.uri.as_ref().filter(is_web));
    Receipt { remote_id: status.id.clone(), url: url.cloned(), reference: Some(status.id.clone()) }
}

fn unknowable(message: &str) -> Sight {
    Sight::Unknowable(Failure::new(Class::Ambiguous, "cannot_be_found_out", message))
}

/// The moment before which nothing can be this post. Where nobody looked before the first call,
/// one that says the same may be older than ours, and only its time shows that: so the server's
/// clock is compared with our own, as far as its answer tells.
fn earliest(frozen: &Frozen, ahead: Option<Millis>) -> Millis {
    match (&frozen.seen, ahead) {
        (None, Some(ahead)) => frozen.due + ahead - PRECISION,
        _ => frozen.since(),
    }
}

/// The newest statuses back to `since`, page by page.
async fn recent(api: &Api<'_>, account: &Account, since: Millis) -> Result<Recent, Failure> {
    let own = format!("/api/v1/accounts/{}/statuses", quoted(&account.remote_id));
    let mut path = format!("{own}?limit=40&exclude_reblogs=true");
    let mut recent = Recent { statuses: Vec::new(), is_whole: false, ahead: None };
    let mut known = HashSet::new();
    for _ in 0..MOST_PAGES {
        let (mut page, ahead) = page(api, &path).await?;
        recent.ahead = recent.ahead.or(ahead);
        // How many a page has is the server's choice: only an empty one is surely the last, or
        // a small one that comes again from a server without pages.
        let is_end = page.is_empty() || known.len() < SMALL_PAGE;
        page.retain(|status| known.insert(status.id.clone()));
        let Some(last) = page.last() else {
            return Ok(Recent { is_whole: is_end, ..recent });
        };
        path = format!("{own}?limit=40&exclude_reblogs=true&max_id={}", quoted(&last.id));
        let is_old = created(last) < since;
        recent.statuses.extend(page.into_iter().filter(|status| created(status) >= since));
        if is_old {
            return Ok(Recent { is_whole: true, ..recent });
        }
    }
    Ok(recent)
}

async fn page(api: &Api<'_>, path: &str) -> Result<(Vec<Status>, Option<Millis>), Failure> {
    let answer = api.get(path).await.map_err(|error| from_fetch(&error))?;
    if !answer.status().is_success() {
        return Err(failure(&answer, api.now));
    }
    let ahead = clock(&answer).map(|clock| clock - api.now);
    Ok((expect_json(&answer)?, ahead))
}

/// A status without a readable time counts as new, so that it is looked at.
fn created(status: &Status) -> Millis {
    time::parse(&status.created_at).unwrap_or(Millis::MAX)
}

/// Whether everything but the words fits.
fn has_form(status: &Status, sent: &NewStatus) -> bool {
    let options = |options: &[String]| options.iter().map(|o| comparable(o)).collect::<Vec<_>>();
    let shown = status.poll.as_ref().map(|poll| {
        let titles: Vec<String> = poll.options.iter().map(|option| option.title.clone()).collect();
        options(&titles)
    });
    status.reblog.is_none()
        && status.in_reply_to_id == sent.in_reply_to_id
        && status.media_attachments.len() == sent.media_ids.len()
        && shown == sent.poll.as_ref().map(|poll| options(&poll.options))
        && fits(&status.visibility, &sent.visibility)
}

/// Servers show less than was asked for where they restrict an account.
fn fits(shown: &str, sent: &str) -> bool {
    shown == sent || (sent, shown) == ("public", "unlisted")
}

/// Those that have the same words, by what is shown or by what the server kept of the original.
async fn say_the_same(
    api: &Api<'_>,
    candidates: Vec<Status>,
    sent: &NewStatus,
) -> Result<Vec<Status>, Failure> {
    // A warning without a text becomes the text.
    let spoiler = sent.spoiler_text.as_deref().unwrap_or_default();
    let words = if sent.status.trim().is_empty() { spoiler } else { &sent.status };
    let words = comparable(words);
    let (mut same, others): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|status| comparable(&from_html(&status.content)) == words);
    for status in others.into_iter().take(MOST_SOURCES) {
        if source(api, &status.id).await?.is_some_and(|text| comparable(&text) == words) {
            same.push(status);
        }
    }
    Ok(same)
}

/// What the author sent; `None` where the server does not tell.
async fn source(api: &Api<'_>, id: &str) -> Result<Option<String>, Failure> {
    let path = format!("/api/v1/statuses/{}/source", quoted(id));
    let answer = api.get(&path).await.map_err(|error| from_fetch(&error))?;
    match answer.status().as_u16() {
        200..=299 => Ok(Some(expect_json::<Source>(&answer)?.text)),
        429 | 500..=599 => Err(failure(&answer, api.now)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::NewPoll;
    use super::*;

    fn shown(json: &serde_json::Value) -> Status {
        let mut whole = serde_json::json!({ "id": "1", "visibility": "public" });
        whole.as_object_mut().unwrap().extend(json.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    fn sent() -> NewStatus {
        NewStatus { status: "a".into(), visibility: "public".into(), ..NewStatus::default() }
    }

    #[test]
    fn the_form_has_to_fit() {
        let plain = shown(&serde_json::json!({}));
        assert!(has_form(&plain, &sent()));
        for other in [
            serde_json::json!({ "in_reply_to_id": "7" }),
            serde_json::json!({ "media_attachments": [{}] }),
            serde_json::json!({ "visibility": "private" }),
            serde_json::json!({ "reblog": { "id": "2" } }),
            serde_json::json!({ "poll": { "options": [{ "title": "x" }] } }),
        ] {
            assert!(!has_form(&shown(&other), &sent()), "{other}");
        }
    }

    #[test]
    fn a_restricted_account_is_shown_less_widely() {
        assert!(has_form(&shown(&serde_json::json!({ "visibility": "unlisted" })), &sent()));
        assert!(!fits("public", "unlisted"));
        assert!(!fits("public", "private"));
    }

    #[test]
    fn polls_are_compared_by_their_options() {
        let options = vec!["Yes".to_owned(), "No".to_owned()];
        let poll = NewPoll { options, expires_in: 300, multiple: false, hide_totals: false };
        let sent = NewStatus { poll: Some(poll), ..sent() };
        let poll = |titles: &[&str]| {
            let options: Vec<_> =
                titles.iter().map(|title| serde_json::json!({ "title": title })).collect();
            shown(&serde_json::json!({ "poll": { "options": options } }))
        };

        assert!(has_form(&poll(&["Yes", "No "]), &sent));
        assert!(!has_form(&poll(&["No", "Yes"]), &sent));
        assert!(!has_form(&poll(&["Yes"]), &sent));
    }

    #[test]
    fn only_web_addresses_are_given_out() {
        let status = shown(&serde_json::json!({ "url": "javascript:x", "uri": "https://a.bc/1" }));
        assert_eq!(receipt(&status).url.as_deref(), Some("https://a.bc/1"));
        assert_eq!(receipt(&shown(&serde_json::json!({}))).url, None);
    }
}
