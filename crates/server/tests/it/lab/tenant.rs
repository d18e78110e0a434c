//! People who use the service.

use serde_json::{Value, json};

use super::Lab;

/// A user with a workspace and a brand of their own, and a key for everything.
pub(crate) struct Tenant {
    pub(crate) email: String,
    pub(crate) password: String,
    pub(crate) key: String,
    pub(crate) user_id: String,
    pub(crate) brand_id: String,
    pub(crate) whoami: Value,
}

impl Lab {
    /// Makes another tenant, as an operator would.
    pub(crate) fn tenant(&self, name: &str) -> Tenant {
        let email = format!("{name}@example.test");
        let password = format!("the password of {name}");
        self.cli(&["user", "create", "--email", &email, "--name", name, "--password", &password]);
        let key = self.new_key(&email, "*");
        self.meet(email, password, key)
    }

    /// The tenant that the first start made.
    pub(crate) fn owner(&self) -> Tenant {
        self.meet(self.email.clone(), self.password.clone(), self.key.clone())
    }

    /// Makes a key with these scopes, names with commas between them.
    pub(crate) fn new_key(&self, email: &str, scopes: &str) -> String {
        self.cli(&["key", "create", "--user", email, "--name", "a test", "--scopes", scopes])
    }

    /// The token of a new session.
    pub(crate) fn sign_in(&self, email: &str, password: &str) -> String {
        let body = json!({ "email": email, "password": password });
        let reply = self.post("/api/auth/sign-in").json(body).send().expect(201);
        text(&reply.json["session"]["token"])
    }

    fn meet(&self, email: String, password: String, key: String) -> Tenant {
        let whoami = self.get("/whoami").key(&key).send().expect(200).json;
        let brands = self.get("/brands").key(&key).send().expect(200).json;
        let user_id = text(&whoami["user"]["id"]);
        let brand_id = text(&brands["brands"][0]["id"]);
        Tenant { email, password, key, user_id, brand_id, whoami }
    }
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}")).to_owned()
}
