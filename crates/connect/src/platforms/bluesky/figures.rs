//! How often posts were liked, shared and answered, and how many follow an account.

use std::collections::BTreeMap;

use campanile_model::publish::Failure;
use serde::Deserialize;

use super::Bluesky;
use super::xrpc::Server;
use crate::platforms::{Access, Doing, Figures, PostFigures, ProfileFigures};

/// Most posts that may be asked for at once.
const AT_ONCE: usize = 25;

#[derive(Deserialize)]
struct Posts {
    posts: Vec<Post>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Post {
    uri: String,
    #[serde(default)]
    like_count: u64,
    #[serde(default)]
    repost_count: u64,
    #[serde(default)]
    reply_count: u64,
    #[serde(default)]
    quote_count: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(default)]
    followers_count: u64,
    #[serde(default)]
    follows_count: u64,
    #[serde(default)]
    posts_count: u64,
}

impl Figures for Bluesky {
    fn of_posts<'a>(
        &'a self,
        access: &'a Access<'a>,
        remote_ids: &'a [String],
    ) -> Doing<'a, Result<Vec<Option<PostFigures>>, Failure>> {
        Box::pin(async move {
            let server = Server::new(access.http, &self.endpoints.bluesky_appview, access.now);
            let mut known = BTreeMap::new();
            for chunk in remote_ids.chunks(AT_ONCE) {
                let uris: Vec<_> = chunk.iter().map(|id| ("uris", id.as_str())).collect();
                let answer: Posts = server.query("app.bsky.feed.getPosts", &uris).await?;
                known.extend(answer.posts.into_iter().map(|post| (post.uri.clone(), post)));
            }
            // Posts that are gone are left out of the answer, so places in it mean nothing.
            let figures = |id: &String| known.get(id).map(figures_of);
            Ok(remote_ids.iter().map(figures).collect())
        })
    }

    fn of_profile<'a>(
        &'a self,
        access: &'a Access<'a>,
    ) -> Doing<'a, Result<ProfileFigures, Failure>> {
        Box::pin(async move {
            let server = Server::new(access.http, &self.endpoints.bluesky_appview, access.now);
            let actor = [("actor", access.account.remote_id.as_str())];
            let profile: Profile = server.query("app.bsky.actor.getProfile", &actor).await?;
            Ok(ProfileFigures {
                followers: profile.followers_count,
                following: profile.follows_count,
                posts: profile.posts_count,
            })
        })
    }
}

fn figures_of(post: &Post) -> PostFigures {
    PostFigures {
        likes: post.like_count,
        reposts: post.repost_count,
        replies: post.reply_count,
        quotes: post.quote_count,
    }
}
