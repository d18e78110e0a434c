//! A post as it is written down: everything that a repeated call must say again.

use std::collections::BTreeMap;

use campanile_model::{
    publish::{Class, Failure, Receipt},
    time,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::facets::{self, Feature, Span};
use super::tid;
use crate::platforms::{Account, Draft, Operation};

pub(super) const COLLECTION: &str = "app.bsky.feed.post";

/// The identities behind handles.
pub(super) type Identities = BTreeMap<String, String>;

/// What is kept of a post before the call is made.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Frozen {
    pub(super) repo: String,
    pub(super) rkey: String,
    pub(super) record: Value,
}

/// A post that others can point at, in exactly this version.
#[derive(Debug, Serialize, Deserialize)]
struct StrongReference {
    uri: String,
    cid: String,
}

impl Frozen {
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|_| {
            let message = "what was kept of the post cannot be read";
            Failure::new(Class::MissingContent, "frozen_unreadable", message)
        })
    }

    /// The post of an operation, without anything that has to be uploaded.
    pub(super) fn compose(
        account: &Account,
        draft: &Draft,
        operation: &Operation<'_>,
        identities: &Identities,
    ) -> Result<Self, Failure> {
        // Posts of the same time have no order, so each part is a little younger.
        let created_at = operation.due.saturating_add(i64::from(operation.part));
        let text = draft.text_of(operation.part);
        let mut record = Map::new();
        let mut add = |name: &str, value: Value| record.insert(name.to_owned(), value);
        add("$type", json!(COLLECTION));
        add("text", json!(text));
        let facets: Vec<Value> =
            facets::find(text).iter().filter_map(|span| facet(span, identities)).collect();
        if !facets.is_empty() {
            add("facets", json!(facets));
        }
        if operation.part > 0 {
            add("reply", reply(operation.previous)?);
        }
        if let Some(languages) = &draft.options.languages
            && !languages.0.is_empty()
        {
            add("langs", json!(languages));
        }
        if let Some(labels) = labels(draft) {
            add("labels", labels);
        }
        add("createdAt", json!(time::format(created_at)));
        Ok(Self {
            repo: account.remote_id.clone(),
            rkey: tid::of_operation(operation.key, created_at),
            record: Value::Object(record),
        })
    }

    pub(super) fn set_embed(&mut self, embed: Value) {
        if let Some(record) = self.record.as_object_mut() {
            record.insert("embed".to_owned(), embed);
        }
    }

    /// The whole of it as text.
    pub(super) fn write(&self) -> String {
        json!(self).to_string()
    }

    pub(super) fn receipt(&self, cid: &str) -> Receipt {
        let Self { repo, rkey, record: _ } = self;
        let uri = format!("at://{repo}/{COLLECTION}/{rkey}");
        Receipt {
            reference: Some(json!({ "uri": uri, "cid": cid }).to_string()),
            remote_id: uri,
            url: Some(format!("https://bsky.app/profile/{repo}/post/{rkey}")),
        }
    }

    /// Whether a record that was found is this post. Pictures may have been uploaded twice and
    /// differ; the words and the moment do not.
    pub(super) fn is_same(&self, found: &Value) -> bool {
        let same =
            |name: &str| self.record.get(name).is_some_and(|value| found.get(name) == Some(value));
        same("text") && same("createdAt")
    }
}

fn facet(span: &Span, identities: &Identities) -> Option<Value> {
    let feature = match &span.feature {
        Feature::Mention(handle) => {
            // A handle that is nobody's stays plain text.
            json!({ "$type": "app.bsky.richtext.facet#mention", "did": identities.get(handle)? })
        }
        Feature::Link(uri) => json!({ "$type": "app.bsky.richtext.facet#link", "uri": uri }),
        Feature::Tag(tag) => json!({ "$type": "app.bsky.richtext.facet#tag", "tag": tag }),
    };
    let index = json!({ "byteStart": span.start, "byteEnd": span.end });
    Some(json!({ "index": index, "features": [feature] }))
}

/// A part answers the one before it, and belongs to the first.
fn reply(previous: &[Receipt]) -> Result<Value, Failure> {
    let reference = |receipt: Option<&Receipt>| {
        let reference = receipt?.reference.as_deref()?;
        serde_json::from_str::<StrongReference>(reference).ok()
    };
    match (reference(previous.first()), reference(previous.last())) {
        (Some(root), Some(parent)) => Ok(json!({ "root": root, "parent": parent })),
        _ => {
            let message = "it is not known which post this part of the thread answers";
            Err(Failure::new(Class::MissingContent, "thread_broken", message))
        }
    }
}

fn labels(draft: &Draft) -> Option<Value> {
    let labels = draft.options.labels.as_ref().filter(|labels| !labels.0.is_empty())?;
    let values: Vec<Value> = labels.0.iter().map(|label| json!({ "val": label })).collect();
    Some(json!({ "$type": "com.atproto.label.defs#selfLabels", "values": values }))
}

#[cfg(test)]
mod tests;
