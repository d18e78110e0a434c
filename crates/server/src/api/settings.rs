//! Profile and schedule settings, and the password.

use campanile_model::{
    decode::Text,
    ids::UserId,
    input,
    settings::{Schedule, SettingsChanges},
};
use campanile_store::{
    Conn,
    audit::Change,
    brands, keys,
    users::{self, User},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::{self, Answer},
    api::auth,
    caller::Caller,
    extract::Body,
    password,
    problem::{Code, Problem},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct SettingsBody {
    settings: Settings,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Settings {
    profile: Profile,
    /// How the brand plans its posts.
    schedule: Schedule,
}

/// The user's own.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Profile {
    id: UserId,
    email: String,
    name: String,
    time_zone: String,
}

fn view(user: User, schedule: Schedule) -> SettingsBody {
    let User { id, email, name, time_zone, .. } = user;
    SettingsBody {
        settings: Settings { profile: Profile { id, email, name, time_zone }, schedule },
    }
}

async fn load(caller: &Caller, conn: &mut Conn) -> Result<(User, Schedule), Problem> {
    let user = users::find(conn, &caller.identity().user).await?.ok_or_else(Problem::not_found)?;
    let brand = brands::find(conn, caller.tenant()?).await?.ok_or_else(Problem::not_found)?;
    let schedule = serde_json::from_str(&brand.schedule).map_err(Problem::internal)?;
    Ok((user, schedule))
}

pub(crate) async fn get(caller: Caller) -> Result<Answer<SettingsBody>, Problem> {
    let mut conn = caller.app().db.read().await?;
    let (user, schedule) = load(&caller, &mut conn).await?;
    Answer::tagged(&view(user, schedule))
}

pub(crate) async fn update(
    caller: Caller,
    Body(changes): Body<SettingsChanges>,
) -> Result<Answer<SettingsBody>, Problem> {
    let tenant = caller.tenant()?;
    let now = caller.now();
    caller
        .write(async |mut tx| {
            tx.take_turns_on(tenant.brand().as_str()).await?;
            tx.take_turns_on(tenant.user().as_str()).await?;
            let (mut user, mut schedule) = load(&caller, &mut tx).await?;
            let before = Answer::<SettingsBody>::new(&view(user.clone(), schedule.clone()))?;
            caller.expect_tag(&answer::etag(before.body()))?;
            if let Some(profile) = changes.profile {
                user.name = profile.name.map_or(user.name, |name| name.0);
                user.time_zone = profile.time_zone.map_or(user.time_zone, |zone| zone.0);
                users::update_profile(&mut tx, &user.id, &user.name, &user.time_zone, now).await?;
            }
            if let Some(changes) = changes.schedule {
                schedule.apply(changes);
                let json = serde_json::to_string(&schedule).map_err(Problem::internal)?;
                brands::set_schedule(&mut tx, tenant, &json, now).await?;
            }
            let after = Answer::tagged(&view(user, schedule))?;
            let change = Change {
                action: "settings.updated",
                resource: "settings",
                resource_id: tenant.brand().as_str(),
                before: std::str::from_utf8(before.body()).ok(),
                after: std::str::from_utf8(after.body()).ok(),
            };
            caller.record(&mut tx, change).await?;
            Ok(after)
        })
        .await
}

input! {
    #[schemars(extend("examples" = [{
        "current_password": "the one you sign in with", "new_password": "a longer and better one"
    }]))]
    pub(crate) struct PasswordChange {
        current_password: Text<1, 256>,
        /// At least ten characters, at most 256 bytes.
        new_password: Text<{ password::SHORTEST }, { password::LONGEST_BYTES }>,
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Updated {
    updated: bool,
}

/// Changes the password and ends every other session of the user. Keys stay valid.
pub(crate) async fn change_password(
    caller: Caller,
    Body(change): Body<PasswordChange>,
) -> Result<Answer<Updated>, Problem> {
    let app = caller.app();
    let identity = caller.identity();
    if change.new_password.0.len() > password::LONGEST_BYTES {
        let message = format!("at most {} bytes", password::LONGEST_BYTES);
        return Err(Problem::invalid_field("new_password", "too_long", message));
    }
    let user = users::find(&mut app.db.read().await?, &identity.user).await?;
    let user = user.ok_or_else(Problem::not_found)?;
    auth::check_throttle(app, &user.email, caller.now()).await?;
    let current = &change.current_password.0;
    if !app.passwords.verify(current, Some(&user.password_hash)).await? {
        auth::count_failure(app, &user.email, caller.now()).await?;
        return Err(Problem::new(Code::WrongPassword, "Send the password you sign in with."));
    }
    let hash = app.passwords.hash(&change.new_password.0).await?;
    caller
        .write(async |mut tx| {
            users::update_password(&mut tx, &user.id, &hash, caller.now()).await?;
            users::forgive(&mut tx, &user.email).await?;
            keys::end_other_sessions(&mut tx, &user.id, identity.credential_id()).await?;
            let change = Change {
                action: "user.password_changed",
                resource: "user",
                resource_id: user.id.as_str(),
                before: None,
                after: None,
            };
            caller.record(&mut tx, change).await?;
            Answer::new(&Updated { updated: true })
        })
        .await
}
