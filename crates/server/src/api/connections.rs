//! Connected accounts, and the platforms they are on.

use campanile_connect::platforms::{About, Connect, Connected, Form, Limits, Platform, Refusal};
use campanile_model::{
    decode::{Faults, Instant, Text},
    ids::ConnectionId,
    input,
    publish::{Class, ConnectionStatus, Failure},
};
use campanile_store::{
    audit::Change,
    connections::{self, Connection},
};
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::{
    answer::{Answer, Created, Deleted, Either},
    caller::Caller,
    extract::{Body, PathText, Query},
    problem::{Code, Problem},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct PlatformList {
    platforms: Vec<PlatformView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PlatformView {
    #[schemars(extend("examples" = ["mastodon"]))]
    id: &'static str,
    name: &'static str,
    /// Whether accounts of it can be connected in this installation.
    ready: bool,
    connect: Connect,
    /// What can be published to it.
    post_types: &'static [&'static str],
    /// The options of a target that it understands.
    options: &'static [&'static str],
    limits: Limits,
    /// How many of the brand's accounts are on it.
    connections: usize,
}

pub(crate) async fn platforms(caller: Caller) -> Result<Answer<PlatformList>, Problem> {
    let app = caller.app();
    let mut conn = app.db.read().await?;
    let connections = connections::list(&mut conn, caller.tenant()?).await?;
    let platforms = app.engine.platforms.all().iter().map(|platform| {
        let About { id, name, connect, post_types, options, limits, .. } = platform.about().clone();
        let ready = platform.manual().is_some();
        let connections = connections.iter().filter(|found| found.platform == id).count();
        PlatformView { id, name, ready, connect, post_types, options, limits, connections }
    });
    Answer::new(&PlatformList { platforms: platforms.collect(), next_cursor: None })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ConnectionView {
    id: ConnectionId,
    #[schemars(extend("examples" = ["mastodon"]))]
    platform: String,
    /// What the platform, or the account's server there, calls it, for ever.
    remote_id: String,
    /// What people call it.
    #[schemars(extend("examples" = ["news@social.example"]))]
    handle: String,
    /// Where it lives; `null` where a platform has but one server.
    server: Option<String>,
    status: ConnectionStatus,
    /// What the credential may do, in the platform's words.
    scopes: Vec<String>,
    created_at: Instant,
    updated_at: Instant,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ConnectionList {
    connections: Vec<ConnectionView>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ConnectionBody {
    connection: ConnectionView,
}

fn view(connection: &Connection) -> ConnectionView {
    let Connection { id, platform, remote_id, handle, server, .. } = connection.clone();
    ConnectionView {
        id,
        platform,
        remote_id,
        handle,
        server: (!server.is_empty()).then_some(server),
        status: connection.status,
        scopes: connection.scopes.split_whitespace().map(str::to_owned).collect(),
        created_at: Instant(connection.created_at),
        updated_at: Instant(connection.updated_at),
    }
}

fn body(connection: &Connection) -> ConnectionBody {
    ConnectionBody { connection: view(connection) }
}

pub(crate) async fn list(caller: Caller) -> Result<Answer<ConnectionList>, Problem> {
    let mut conn = caller.app().db.read().await?;
    let found = connections::list(&mut conn, caller.tenant()?).await?;
    let connections = found.iter().map(view).collect();
    Answer::new(&ConnectionList { connections, next_cursor: None })
}

input! {
    /// What an account is connected with; which fields are needed depends on the platform.
    #[schemars(extend("examples" = [{
        "server": "social.example", "access_token": "shown once by the server"
    }]))]
    pub(crate) struct NewConnection {
        /// The account's name on the platform.
        handle: Option<Text<1, 300>>,
        /// A password made for this service alone, never the account's own.
        app_password: Option<Text<1, 300>>,
        /// The account's server, as a host name or an address.
        server: Option<Text<1, 300>>,
        access_token: Option<Text<1, 2000>>,
    }
}

pub(crate) async fn create(
    caller: Caller,
    PathText(platform): PathText,
    Body(new): Body<NewConnection>,
) -> Result<Either<Created<ConnectionBody>, Answer<ConnectionBody>>, Problem> {
    let app = caller.app();
    let tenant = caller.tenant()?;
    let platform = app.engine.platforms.find(&platform).ok_or_else(Problem::not_found)?;
    let about = platform.about();
    let Some(manual) = platform.manual() else {
        let detail = format!("Connect {} in a browser instead.", about.name);
        return Err(Problem::new(Code::NotYetAvailable, detail));
    };
    let mut form = form(&caller, about, new)?;
    form.insert("brand_id", Zeroizing::new(tenant.brand().as_str().to_owned()));
    let connected = manual.connect(&app.http, &form, caller.now()).await.map_err(refused)?;
    keep(&caller, platform.as_ref(), &connected).await
}

/// The fields that the platform asks for, and no others.
fn form(caller: &Caller, about: &About, new: NewConnection) -> Result<Form, Problem> {
    let Connect::Manual { required, optional } = about.connect else {
        return Err(Problem::not_found());
    };
    let given = [
        ("handle", new.handle.map(|text| text.0)),
        ("app_password", new.app_password.map(|text| text.0)),
        ("server", new.server.map(|text| text.0)),
        ("access_token", new.access_token.map(|text| text.0)),
    ];
    let mut faults = Faults::new(caller.now());
    let mut form = Form::new();
    for (name, text) in given {
        match text {
            Some(text) if text.chars().any(char::is_control) => {
                faults.add_field(name, "invalid_format", "write it in one line");
            }
            Some(text) if required.contains(&name) || optional.contains(&name) => {
                form.insert(name, Zeroizing::new(text));
            }
            Some(_) => {
                let message = format!("{} takes no such field", about.name);
                faults.add_field(name, "unknown_field", message);
            }
            None if required.contains(&name) => {
                let message = format!("{} needs it", about.name);
                faults.add_field(name, "required", message);
            }
            None => {}
        }
    }
    if faults.is_empty() { Ok(form) } else { Err(Problem::invalid(faults.into_vec())) }
}

fn refused(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Field(field, code, message) => Problem::invalid_field(field, code, message),
        Refusal::Platform(failure) => upstream(&failure),
    }
}

/// What a platform said, for a caller who waits for it.
pub(crate) fn upstream(failure: &Failure) -> Problem {
    let code = match (failure.class, failure.code.as_str()) {
        (Class::Auth, _) => Code::ReconnectRequired,
        (_, "timeout") => Code::UpstreamTimeout,
        _ => Code::UpstreamFailed,
    };
    let detail = format!("The platform says: {}", failure.message);
    Problem::new(code, detail)
        .with("platform_code", serde_json::json!(failure.code))
        .with("platform_message", serde_json::json!(failure.message))
}

/// Stores the account, or the new credential of one that is connected already.
async fn keep(
    caller: &Caller,
    platform: &dyn Platform,
    connected: &Connected,
) -> Result<Either<Created<ConnectionBody>, Answer<ConnectionBody>>, Problem> {
    let tenant = caller.tenant()?;
    let fresh = new_connection(caller, platform, connected)?;
    let (platform, identity) = (&fresh.platform, &fresh.identity);
    let mut known = None;
    let added = caller
        .write(async |mut tx| {
            // Somebody else may be connecting the same account.
            let turn = format!("{}|{platform}|{identity}", tenant.brand());
            tx.take_turns_on(&turn).await?;
            known = connections::find_by_account(&mut tx, tenant, platform, identity).await?;
            if known.is_some() {
                return Err(Problem::not_found());
            }
            connections::insert(&mut tx, &fresh).await?;
            record(caller, &mut tx, "connection.created", None, Some(&fresh)).await?;
            Answer::new(&body(&fresh))
        })
        .await;
    match known {
        Some(before) => renew(caller, &before, connected).await.map(Either::Second),
        None => added.map(Either::First),
    }
}

/// The same account with its new credential.
async fn renew(
    caller: &Caller,
    before: &Connection,
    connected: &Connected,
) -> Result<Answer<ConnectionBody>, Problem> {
    let after = reconnected(caller, before, connected)?;
    caller
        .write(async |mut tx| {
            connections::update(&mut tx, &after).await?;
            record(caller, &mut tx, "connection.renewed", Some(before), Some(&after)).await?;
            Answer::new(&body(&after))
        })
        .await
}

fn new_connection(
    caller: &Caller,
    platform: &dyn Platform,
    connected: &Connected,
) -> Result<Connection, Problem> {
    let (tenant, now) = (caller.tenant()?, caller.now());
    let account = &connected.account;
    let connection = Connection {
        id: ConnectionId::new(now),
        brand: tenant.brand().clone(),
        platform: platform.about().id.to_owned(),
        remote_id: account.remote_id.clone(),
        identity: platform.identity(account),
        handle: account.handle.clone(),
        server: account.server.clone(),
        details: account.details.to_string(),
        status: ConnectionStatus::Connected,
        scopes: connected.scopes.join(" "),
        secret: Vec::new(),
        secret_version: 1,
        created_by: tenant.user().clone(),
        created_at: now,
        updated_at: now,
    };
    sealed(caller, connection, connected)
}

fn reconnected(
    caller: &Caller,
    before: &Connection,
    connected: &Connected,
) -> Result<Connection, Problem> {
    let account = &connected.account;
    let connection = Connection {
        handle: account.handle.clone(),
        server: account.server.clone(),
        details: account.details.to_string(),
        status: ConnectionStatus::Connected,
        scopes: connected.scopes.join(" "),
        secret_version: before.secret_version + 1,
        updated_at: caller.now(),
        ..before.clone()
    };
    sealed(caller, connection, connected)
}

fn sealed(
    caller: &Caller,
    mut connection: Connection,
    connected: &Connected,
) -> Result<Connection, Problem> {
    let accounts = &caller.app().engine.accounts;
    let secret = accounts.seal(&connection, &connected.secret);
    connection.secret = secret.map_err(|error| Problem::internal(std::io::Error::other(error)))?;
    Ok(connection)
}

async fn record(
    caller: &Caller,
    tx: &mut campanile_store::Tx,
    action: &'static str,
    before: Option<&Connection>,
    after: Option<&Connection>,
) -> Result<(), Problem> {
    let json = |connection: &Connection| serde_json::to_string(&view(connection));
    let text = |connection: Option<&Connection>| {
        connection.map(json).transpose().map_err(Problem::internal)
    };
    let (before_json, after_json) = (text(before)?, text(after)?);
    let Some(connection) = after.or(before) else { return Ok(()) };
    let change = Change {
        action,
        resource: "connection",
        resource_id: connection.id.as_str(),
        before: before_json.as_deref(),
        after: after_json.as_deref(),
    };
    caller.record(tx, change).await
}

input! {
    pub(crate) struct WhichConnection {
        /// Needed when the brand has several accounts on the platform.
        connection_id: Option<ConnectionId>,
    }
}

pub(crate) async fn remove(
    caller: Caller,
    PathText(platform): PathText,
    Query(which): Query<WhichConnection>,
) -> Result<Answer<Deleted>, Problem> {
    let app = caller.app();
    let tenant = caller.tenant()?;
    let platform = app.engine.platforms.find(&platform).ok_or_else(Problem::not_found)?;
    let mut conn = app.db.read().await?;
    let found = connections::list(&mut conn, tenant).await?;
    drop(conn);
    let connection = choose(found, platform.about().id, which.connection_id.as_ref())?;
    let answer = caller
        .write(async |mut tx| {
            connections::delete(&mut tx, tenant, &connection.id).await?;
            record(&caller, &mut tx, "connection.deleted", Some(&connection), None).await?;
            Answer::new(&Deleted::YES)
        })
        .await?;
    app.engine.accounts.forget(&connection.id);
    // The account is gone here already; the platform is told as a courtesy.
    if let (Some(manual), Ok((account, secret))) =
        (platform.manual(), app.engine.accounts.open(&connection))
    {
        manual.disconnect(&app.http, &account, &secret).await;
    }
    Ok(answer)
}

fn choose(
    found: Vec<Connection>,
    platform: &str,
    wanted: Option<&ConnectionId>,
) -> Result<Connection, Problem> {
    let mut candidates = found
        .into_iter()
        .filter(|connection| connection.platform == platform)
        .filter(|connection| wanted.is_none_or(|wanted| connection.id == *wanted));
    let first = candidates.next().ok_or_else(Problem::not_found)?;
    if candidates.next().is_some() {
        return Err(Problem::new(
            Code::AmbiguousConnection,
            "The brand has several accounts there; name one with connection_id.",
        ));
    }
    Ok(first)
}
