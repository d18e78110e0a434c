//! The operator's commands: the same code beside a running server and without one.

use campanile_model::{
    decode::{At, Faults, Field, Json},
    ids::{BrandId, KeyId, UserId, WorkspaceId},
    label::{Email, Name},
    scope::{Scope, Scopes},
    settings::Schedule,
    time,
};
use campanile_store::{
    StoreError, Tx,
    audit::{self, Actor, Change},
    brands::{self, Brand},
    keys::{self, Key},
    users::{self, User},
};
use serde::{Deserialize, Serialize};

use crate::{
    api,
    app::App,
    config::{BrandCommand, KeyCommand, UserCommand},
    credential, doctor, password,
};

/// What can be asked of a running server through its control socket.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) enum Request {
    User(UserCommand),
    Brand(BrandCommand),
    Key(KeyCommand),
    Backup(std::path::PathBuf),
    Doctor,
}

/// What goes to standard output, or the one line that says what is wrong.
pub(crate) type Reply = Result<String, String>;

pub(crate) async fn run(app: &App, request: Request) -> Reply {
    match request {
        Request::User(UserCommand::Create { email, name, password, workspace }) => {
            create_user(app, &email, &name, password, workspace.as_deref()).await
        }
        Request::User(UserCommand::Disable { email }) => set_disabled(app, &email, true).await,
        Request::User(UserCommand::Enable { email }) => set_disabled(app, &email, false).await,
        Request::Brand(BrandCommand::Create { user, name }) => {
            create_brand(app, &user, &name).await
        }
        Request::Key(KeyCommand::Create { user, name, scopes, expires_at }) => {
            create_key(app, &user, &name, &scopes, expires_at.as_deref()).await
        }
        Request::Key(KeyCommand::Revoke { user, id }) => revoke_key(app, &user, &id).await,
        Request::Backup(file) => backup(app, &file).await,
        Request::Doctor => doctor::examine(app).await,
    }
}

#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error("{0}")]
    Told(String),
    #[error("the store failed: {0}")]
    Store(#[from] StoreError),
}

impl From<Mistake> for String {
    fn from(mistake: Mistake) -> Self {
        mistake.to_string()
    }
}

fn told<T>(text: impl Into<String>) -> Result<T, Mistake> {
    Err(Mistake::Told(text.into()))
}

/// Reads a command-line value by the rules that the API has for it.
fn read<T: Field>(field: &str, text: &str) -> Result<T, Mistake> {
    let mut faults = Faults::new(0);
    let value = T::decode(Json::Text(text.to_owned()), &At::Root, &mut faults);
    faults.check(value).map_err(|faults| {
        let reason = faults.first().map_or("not valid", |fault| fault.message.as_str());
        Mistake::Told(format!("--{field}: {reason}"))
    })
}

fn actor(app: &App, workspace: &WorkspaceId) -> Actor {
    Actor {
        workspace: workspace.clone(),
        brand: None,
        user: None,
        door: "cli",
        credential: None,
        request_id: format!("cli_{}", app.now()),
        ip: None,
    }
}

async fn record(
    app: &App,
    tx: &mut Tx,
    workspace: &WorkspaceId,
    action: &'static str,
    resource: &'static str,
    id: &str,
    after: Option<serde_json::Value>,
) -> Result<(), StoreError> {
    let after = after.map(|after| after.to_string());
    let change =
        Change { action, resource, resource_id: id, before: None, after: after.as_deref() };
    audit::record(tx, &actor(app, workspace), change, app.now()).await
}

/// Everything the very first start makes.
pub(crate) struct Welcome {
    pub(crate) email: String,
    pub(crate) password: String,
    pub(crate) key: String,
}

/// Makes an owner, a workspace, a brand and a key in an empty store; `None` in any other.
pub(crate) async fn first_start(app: &App) -> Result<Option<Welcome>, String> {
    let store = |error: StoreError| Mistake::from(error).to_string();
    let mut conn = app.db.read().await.map_err(store)?;
    if users::count(&mut conn).await.map_err(store)? > 0 {
        return Ok(None);
    }
    drop(conn);
    let (email, password) = ("owner@localhost", credential::random_text(20).to_string());
    create_user(app, email, "Owner", Some(password.clone()), None).await?;
    let key = create_key(app, email, "First key", &["*".to_owned()], None).await?;
    Ok(Some(Welcome { email: email.to_owned(), password, key }))
}

async fn create_user(
    app: &App,
    email: &str,
    name: &str,
    password: Option<String>,
    workspace: Option<&str>,
) -> Reply {
    let email: Email = read("email", email)?;
    let name: Name = read("name", name)?;
    let made_up = password.is_none();
    let password = password.unwrap_or_else(|| credential::random_text(20).to_string());
    if password.chars().count() < password::SHORTEST || password.len() > password::LONGEST_BYTES {
        return Err("--password: at least 10 characters and at most 256 bytes".to_owned());
    }
    let hash = password::hash_now(&password).ok_or("the password cannot be hashed")?;
    let now = app.now();
    let (user, brand) = app
        .db
        .write(async |mut tx| {
            let (workspace, role) = match workspace {
                Some(wanted) => (find_workspace(&mut tx, wanted).await?, "member"),
                None => {
                    let id = WorkspaceId::new(now);
                    users::insert_workspace(&mut tx, &id, &format!("{}'s workspace", name.0), now)
                        .await?;
                    (id, "owner")
                }
            };
            let user = User {
                id: UserId::new(now),
                workspace: workspace.clone(),
                email: email.as_str().to_owned(),
                name: name.0.clone(),
                time_zone: "UTC".to_owned(),
                role: role.to_owned(),
                password_hash: hash,
                created_at: now,
                disabled_at: None,
            };
            if !users::insert(&mut tx, &user).await? {
                return told(format!("a user with the address {} exists already", email.as_str()));
            }
            let brand = match brands::first_of(&mut tx, &workspace).await? {
                Some(brand) => brand,
                None => insert_brand(app, &mut tx, &workspace, "My brand").await?,
            };
            brands::add_member(&mut tx, &brand, &user.id, now).await?;
            let shown = serde_json::json!({ "email": user.email, "name": user.name, "role": role });
            record(app, &mut tx, &workspace, "user.created", "user", user.id.as_str(), Some(shown))
                .await?;
            Ok::<_, Mistake>((user, brand))
        })
        .await?;
    let mut out =
        format!("user       {}\nworkspace  {}\nbrand      {brand}\n", user.id, user.workspace);
    if made_up {
        out.push_str(&format!("password   {password}\n"));
    }
    Ok(out)
}

async fn find_workspace(tx: &mut Tx, wanted: &str) -> Result<WorkspaceId, Mistake> {
    let mut found = users::find_workspace(tx, wanted).await?;
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => told(format!("--workspace: there is no workspace {wanted}")),
        _ => told("--workspace: several workspaces have this name; use the id"),
    }
}

async fn insert_brand(
    app: &App,
    tx: &mut Tx,
    workspace: &WorkspaceId,
    name: &str,
) -> Result<BrandId, Mistake> {
    let now = app.now();
    let schedule = serde_json::to_string(&Schedule::default()).unwrap_or_default();
    let brand = Brand {
        id: BrandId::new(now),
        workspace: workspace.clone(),
        name: name.to_owned(),
        schedule,
        created_at: now,
        updated_at: now,
    };
    brands::insert(tx, &brand).await?;
    brands::add_owners(tx, &brand.id, workspace, now).await?;
    let shown = serde_json::json!({ "name": name });
    let id = brand.id.as_str();
    record(app, tx, workspace, "brand.created", "brand", id, Some(shown)).await?;
    Ok(brand.id)
}

async fn find_user(tx: &mut Tx, email: &str) -> Result<User, Mistake> {
    let email: Email = read("user", email)?;
    match users::find_by_email(tx, email.as_str()).await? {
        Some(user) => Ok(user),
        None => told(format!("there is no user with the address {}", email.as_str())),
    }
}

async fn set_disabled(app: &App, email: &str, disabled: bool) -> Reply {
    let now = app.now();
    app.db
        .write(async |mut tx| {
            let user = find_user(&mut tx, email).await?;
            users::set_disabled(&mut tx, &user.id, disabled.then_some(now), now).await?;
            let action = if disabled { "user.disabled" } else { "user.enabled" };
            record(app, &mut tx, &user.workspace, action, "user", user.id.as_str(), None).await?;
            Ok::<_, Mistake>(format!("user       {}\n", user.id))
        })
        .await
        .map_err(String::from)
}

async fn create_brand(app: &App, email: &str, name: &str) -> Reply {
    let name: Name = read("name", name)?;
    app.db
        .write(async |mut tx| {
            let user = find_user(&mut tx, email).await?;
            let brand = insert_brand(app, &mut tx, &user.workspace, &name.0).await?;
            brands::add_member(&mut tx, &brand, &user.id, app.now()).await?;
            Ok::<_, Mistake>(format!("{brand}\n"))
        })
        .await
        .map_err(String::from)
}

async fn create_key(
    app: &App,
    email: &str,
    name: &str,
    scopes: &[String],
    expires_at: Option<&str>,
) -> Reply {
    let name: Name = read("name", name)?;
    let scopes = read_scopes(scopes)?;
    let now = app.now();
    let expires_at = match expires_at.map(time::parse) {
        None => None,
        Some(Some(at)) if at > now => Some(at),
        Some(_) => {
            return Err("--expires-at: a future time such as 2027-01-31T12:00:00Z".to_owned());
        }
    };
    let fresh = credential::new_key();
    let key = Key {
        id: KeyId::new(now),
        name: name.0,
        hint: fresh.hint.clone(),
        scopes,
        created_at: now,
        expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    app.db
        .write(async |mut tx| {
            let user = find_user(&mut tx, email).await?;
            keys::insert(&mut tx, &user.id, &key, &fresh.hash).await?;
            let shown = serde_json::to_value(api::keys::view(&key)).ok();
            let id = key.id.as_str();
            record(app, &mut tx, &user.workspace, "key.created", "key", id, shown).await?;
            Ok::<_, Mistake>(())
        })
        .await?;
    Ok(format!("{}\n", fresh.text.as_str()))
}

fn read_scopes(names: &[String]) -> Result<Scopes, Mistake> {
    let unknown: Vec<_> = names
        .iter()
        .filter(|name| Scope::parse(name).is_none())
        .map(|name| format!("{name:?}"))
        .collect();
    if !unknown.is_empty() || names.is_empty() {
        let known: Vec<_> = Scope::ALL.iter().map(|scope| scope.name()).collect();
        let unknown = unknown.join(", ");
        return told(format!("--scopes: unknown: {unknown}; choose from {}", known.join(", ")));
    }
    Ok(Scopes::of(&names.iter().filter_map(|name| Scope::parse(name)).collect::<Vec<_>>()))
}

async fn revoke_key(app: &App, email: &str, id: &str) -> Reply {
    let id: KeyId = read("id", id)?;
    app.db
        .write(async |mut tx| {
            let user = find_user(&mut tx, email).await?;
            if !keys::revoke(&mut tx, &user.id, &id, app.now()).await? {
                return told("--id: this user has no such key that is still good");
            }
            let id = id.as_str();
            record(app, &mut tx, &user.workspace, "key.revoked", "key", id, None).await?;
            Ok::<_, Mistake>(format!("{id}\n"))
        })
        .await
        .map_err(String::from)
}

async fn backup(app: &App, file: &std::path::Path) -> Reply {
    if file.exists() {
        return Err(format!("{} exists already; choose another name", file.display()));
    }
    let (db, target) = (app.db.clone(), file.to_owned());
    tokio::task::spawn_blocking(move || db.sqlite_backup(&target))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| Mistake::from(error).to_string())?;
    Ok(format!(
        "wrote {}\nKeep the media folder and master.key of the data directory with it.\n",
        file.display()
    ))
}
