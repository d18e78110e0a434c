//! Two tenants with everything that the cases need.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::AtomicU32,
};

use campanile_model::time::{DAY, SECOND};
use serde_json::{Value, json};

use crate::{
    contract_table::SCOPES,
    lab::{Lab, Tenant, wait_until},
    steps::{each, from_now, list, new_picture_of, text},
};

/// In everything that the neighbour wrote, and in nothing else.
const CANARY: &str = "canary7d1";
const OWN_FOLDER: &str = "own/folder";

pub(super) struct World<'lab> {
    pub(super) lab: &'lab Lab,
    /// What must never be told to the caller.
    pub(super) canaries: Vec<String>,
    pub(super) keys: BTreeMap<&'static str, String>,
    pub(super) revoked: String,
    pub(super) expired: String,
    pub(super) session: String,
    pub(super) brands: BTreeMap<&'static str, String>,
    pub(super) own: Things,
    pub(super) foreign: Things,
    neighbour: Tenant,
    /// Routes that the OpenAPI document puts off.
    later: BTreeSet<String>,
    /// For names that are used once.
    pub(super) number: AtomicU32,
}

/// What a tenant owns, one of each kind.
pub(super) struct Things {
    pub(super) post: String,
    pub(super) key: String,
    pub(super) media: String,
    /// In the library.
    pub(super) picture: String,
    pub(super) folder: String,
    pub(super) connection: String,
    pub(super) job: String,
}

impl<'lab> World<'lab> {
    pub(super) fn make(lab: &'lab Lab) -> Self {
        let soon = from_now(lab, SECOND);
        let expired = lab.cli(&[
            "key",
            "create",
            "--user",
            &lab.email,
            "--name",
            "short",
            "--scopes",
            "*",
            "--expires-at",
            &soon,
        ]);
        let (caller, neighbour) = (lab.owner(), lab.tenant(&format!("{CANARY}mail")));
        let session = lab.sign_in(&caller.email, &caller.password);
        let second = lab.post("/api/internal/brands").session(&session);
        let second = second.json(json!({ "name": "Second" })).send().expect(201).json;

        let their_session = lab.sign_in(&neighbour.email, &neighbour.password);
        let their_brand = format!("/api/internal/brands/{}", neighbour.brand_id);
        let name = json!({ "name": format!("{CANARY} brand") });
        lab.patch(&their_brand).session(&their_session).json(name).send().expect(200);

        let keys = SCOPES.map(|scope| (scope, new_key(lab, &session, "one", scope).1));
        let (id, revoked) = new_key(lab, &session, "gone", "*");
        lab.delete(&format!("/keys/{id}")).session(&session).send().expect(200);
        let own = things(lab, &caller, &session, "own", OWN_FOLDER);
        let folder = format!("{CANARY}/folder");
        let foreign = things(lab, &neighbour, &their_session, CANARY, &folder);
        let gone = || lab.get("/whoami").key(&expired).send().code() == "expired_api_key";
        wait_until("the key has expired", gone);

        let mut canaries = vec![CANARY.to_owned(), neighbour.user_id.clone()];
        canaries.push(text(&neighbour.whoami["workspace"]["id"]).to_owned());
        let theirs =
            [&foreign.post, &foreign.key, &foreign.media, &foreign.connection, &foreign.job];
        canaries.extend(theirs.map(String::clone));
        let brands = [
            ("own", caller.brand_id.clone()),
            ("second", text(&second["brand"]["id"]).to_owned()),
            ("foreign", neighbour.brand_id.clone()),
        ];
        Self {
            lab,
            canaries,
            keys: keys.into(),
            revoked,
            expired,
            session,
            brands: brands.into(),
            own,
            foreign,
            neighbour,
            later: later(lab),
            number: AtomicU32::new(0),
        }
    }

    pub(super) fn is_later(&self, route: &str) -> bool {
        self.later.contains(route)
    }

    /// Everything that a stranger could have changed.
    pub(super) fn what_the_neighbour_sees(&self) -> Vec<Value> {
        let paths = [
            "/posts",
            "/content-folders?scope=posts",
            "/content-folders?scope=media",
            "/brands",
            "/settings",
            "/connections",
            "/schedule",
        ];
        let key = &self.neighbour.key;
        let mut seen =
            paths.map(|path| self.lab.get(path).key(key).send().expect(200).json).to_vec();
        // A list of media has signed addresses in it, a list of keys the time of their last use.
        let media = self.lab.get("/media-library").key(key).send().expect(200).json;
        seen.push(json!(each(&media["items"], "id")));
        let keys = self.lab.get("/keys").key(key).send().expect(200).json;
        seen.extend(list(&keys["keys"]).iter().map(|key| json!([key["id"], key["revoked_at"]])));
        seen
    }

    pub(super) fn expect_no_traces_in_the_neighbours_log(&self) {
        let path = "/audit-logs?limit=200";
        let log = self.lab.get(path).key(&self.neighbour.key).send().expect(200).json;
        assert!(log["next_cursor"].is_null(), "more entries than the neighbour made");
        for entry in list(&log["audit_logs"]) {
            let user = &entry["actor"]["user_id"];
            assert!(user.is_null() || user == self.neighbour.user_id.as_str(), "{entry}");
        }
    }
}

fn new_key(lab: &Lab, session: &str, name: &str, scope: &str) -> (String, String) {
    let body = json!({ "name": name, "scopes": [scope] });
    let made = lab.post("/keys").session(session).json(body).send().expect(201).json;
    (text(&made["key"]["id"]).to_owned(), text(&made["api_key"]).to_owned())
}

fn things(lab: &Lab, tenant: &Tenant, session: &str, mark: &str, folder: &str) -> Things {
    let send = |path: &str, body: Value| {
        lab.post(path).key(&tenant.key).json(body).send().expect(201).json
    };
    let post =
        json!({ "content": format!("{mark} content"), "tags": [mark], "folder_path": folder });
    let post = send("/posts", post);
    let folders = json!({ "scope": "media", "folder_path": format!("{folder}/empty") });
    send("/content-folders", folders);
    let picture = new_picture_of(lab, &tenant.key);
    let item = json!({
        "storage_path": picture, "name": mark, "tags": [mark], "folder_path": folder
    });
    let item = send("/media-library", item);
    let connection = send("/connections/sandbox", json!({ "handle": mark }));
    let connection = text(&connection["connection"]["id"]).to_owned();
    let planned = json!({
        "content": format!("{mark} planned"), "scheduled_at": from_now(lab, 1000 * DAY),
        "targets": [{ "connection_id": connection }],
    });
    send("/posts", planned);
    let jobs = lab.get("/schedule").key(&tenant.key).send().expect(200).json;
    Things {
        connection,
        job: text(&jobs["publish_jobs"][0]["id"]).to_owned(),
        post: text(&post["post"]["id"]).to_owned(),
        key: new_key(lab, session, mark, "posts:read").0,
        media: text(&item["item"]["id"]).to_owned(),
        picture,
        folder: folder.to_owned(),
    }
}

fn later(lab: &Lab) -> BTreeSet<String> {
    let document = lab.get("/openapi.json").send().expect(200).json;
    let mut later = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("operations") {
            if operation["x-availability"] == "later" {
                let path = path.replace('{', ":").replace('}', "");
                later.insert(format!("{} {path}", method.to_uppercase()));
            }
        }
    }
    later
}
