//! `GET /reference`: the table for machines.

use std::sync::LazyLock;

use campanile_model::{
    scope::Scope,
    time::{self, Millis},
};
use serde_json::{Value, json};

use crate::{
    answer::Document,
    api::{self, exclusions::EXCLUSIONS, features::FEATURES},
    route::{BASE_PATH, Route, Rule},
};

pub(crate) const API_NAME: &str = "Campanile External API";
pub(crate) const VERSION: &str = "v1";

/// Everything but the time, which alone differs between two requests.
static PAYLOAD: LazyLock<Value> = LazyLock::new(|| payload(&api::table()));

pub(crate) fn document(now: Millis) -> Document {
    let mut payload = PAYLOAD.clone();
    let stable = payload.to_string();
    payload["generated_at"] = json!(time::format(now));
    Document::with_stable_tag(payload.to_string(), &stable)
}

fn payload(table: &[Route]) -> Value {
    let mut resources: Vec<_> = table.iter().map(|row| row.resource).collect();
    resources.sort_unstable();
    resources.dedup();
    let session_routes: Vec<_> = table
        .iter()
        .filter(|row| matches!(row.rule, Rule::Session))
        .map(|row| json!({ "method": row.method.as_str(), "path": row.colon_path() }))
        .collect();
    let scopes: Vec<_> = Scope::ALL
        .iter()
        .map(|scope| json!({ "name": scope, "description": scope.grants() }))
        .collect();
    let exclusions: Vec<_> = EXCLUSIONS
        .iter()
        .map(|(method, path, reason)| json!({ "method": method, "path": path, "reason": reason }))
        .collect();
    json!({
        "api_name": API_NAME,
        "version": VERSION,
        "base_path": BASE_PATH,
        "generated_at": null,
        "auth": { "api_key_header": "x-api-key", "session_routes": session_routes },
        "scope_count": scopes.len(),
        "route_count": table.len(),
        "feature_count": FEATURES.len(),
        "resources": resources,
        "scopes": scopes,
        "routes": table.iter().map(route).collect::<Vec<_>>(),
        "features": FEATURES.iter().map(|feature| self::feature(feature, table)).collect::<Vec<_>>(),
        "internal_exclusions": exclusions,
    })
}

fn route(row: &Route) -> Value {
    let mut value = json!({
        "method": row.method.as_str(),
        "path": row.colon_path(),
        "resource": row.resource,
        "auth": row.rule.name(),
        "required_scopes": row.rule.scopes(),
        "description": row.about,
        "internal_equivalent": row.internal_path().map(|path| path.replace('{', ":").replace('}', "")),
    });
    if let Some(alternatives) = row.rule.alternatives() {
        value["scope_alternatives"] = json!(alternatives);
    }
    value
}

fn feature(feature: &api::features::Feature, table: &[Route]) -> Value {
    let rows: Vec<_> = table.iter().filter(|row| row.feature == feature.id).collect();
    let mut resources: Vec<_> = rows.iter().map(|row| row.resource).collect();
    resources.dedup();
    let documented: Vec<_> =
        rows.iter().map(|row| format!("{} {}", row.method, row.colon_path())).collect();
    json!({
        "id": feature.id,
        "name": feature.name,
        "coverage_status": if feature.internal_only { "internal-only" } else { "covered" },
        "app_surfaces": feature.surfaces,
        "external_resources": resources,
        "documented_routes": documented,
        "notes": feature.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_belongs_to_a_feature_and_says_what_it_does() {
        for row in api::table() {
            assert!(FEATURES.iter().any(|feature| feature.id == row.feature), "{}", row.path);
            assert!(!row.about.is_empty(), "{}", row.path);
        }
    }

    #[test]
    fn the_counts_are_those_of_the_contract() {
        assert_eq!(PAYLOAD["route_count"], 72);
        assert_eq!(PAYLOAD["scope_count"], 24);
        assert_eq!(PAYLOAD["feature_count"], 17);
        assert_eq!(PAYLOAD["resources"].as_array().map(Vec::len), Some(19));
    }
}
