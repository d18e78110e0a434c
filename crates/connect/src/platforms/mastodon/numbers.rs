//! Deleting statuses, and counting what became of them.

use std::collections::HashMap;

use campanile_model::publish::{Failure, Receipt};

use super::answers::failure;
use super::api::{Api, quoted};
use super::wire::{Profile, Status};
use crate::platforms::{PostFigures, ProfileFigures, expect_json, from_fetch};

/// Servers answer for so many statuses at once.
const AT_ONCE: usize = 20;

pub(super) async fn delete(api: &Api<'_>, receipt: &Receipt) -> Result<(), Failure> {
    let path = format!("/api/v1/statuses/{}?delete_media=true", quoted(&receipt.remote_id));
    let answer = api.delete(&path).await.map_err(|error| from_fetch(&error))?;
    match answer.status().as_u16() {
        200..=299 | 404 | 410 => Ok(()),
        _ => Err(failure(&answer, api.now)),
    }
}

pub(super) async fn of_posts(
    api: &Api<'_>,
    ids: &[String],
) -> Result<Vec<Option<PostFigures>>, Failure> {
    let mut figures = Vec::with_capacity(ids.len());
    for ids in ids.chunks(AT_ONCE) {
        let found = several(api, ids).await?;
        // Older servers do not have the call, or answer it with something else. A list without
        // any of the statuses may come from one of those.
        if found.is_empty() {
            for id in ids {
                figures.push(single(api, id).await?);
            }
        } else {
            figures.extend(ids.iter().map(|id| found.get(id).copied()));
        }
    }
    Ok(figures)
}

async fn several(api: &Api<'_>, ids: &[String]) -> Result<HashMap<String, PostFigures>, Failure> {
    let query: Vec<String> = ids.iter().map(|id| format!("id[]={}", quoted(id))).collect();
    let path = format!("/api/v1/statuses?{}", query.join("&"));
    let answer = api.get(&path).await.map_err(|error| from_fetch(&error))?;
    if matches!(answer.status().as_u16(), 401 | 429 | 500..=599) {
        return Err(failure(&answer, api.now));
    }
    let statuses: Vec<Status> = expect_json(&answer).unwrap_or_default();
    let known = statuses.into_iter().filter(|status| ids.contains(&status.id));
    Ok(known.map(|status| (status.id.clone(), figures(&status))).collect())
}

async fn single(api: &Api<'_>, id: &str) -> Result<Option<PostFigures>, Failure> {
    let path = format!("/api/v1/statuses/{}", quoted(id));
    let answer = api.get(&path).await.map_err(|error| from_fetch(&error))?;
    match answer.status().as_u16() {
        200..=299 => Ok(Some(figures(&expect_json(&answer)?))),
        404 | 410 => Ok(None),
        _ => Err(failure(&answer, api.now)),
    }
}

fn figures(status: &Status) -> PostFigures {
    PostFigures {
        likes: status.favourites_count,
        reposts: status.reblogs_count,
        replies: status.replies_count,
        quotes: status.quotes_count,
    }
}

pub(super) async fn of_profile(api: &Api<'_>) -> Result<ProfileFigures, Failure> {
    let path = "/api/v1/accounts/verify_credentials";
    let answer = api.get(path).await.map_err(|error| from_fetch(&error))?;
    if !answer.status().is_success() {
        return Err(failure(&answer, api.now));
    }
    let profile: Profile = expect_json(&answer)?;
    Ok(ProfileFigures {
        followers: profile.followers_count,
        following: profile.following_count,
        posts: profile.statuses_count,
    })
}
