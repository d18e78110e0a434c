//! Everything that has to be there before the first kill.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::{
    Outcome,
    api::Api,
    doubles::{Addresses, CALM_DOWN, Kind, TOKEN_PREFIX},
    options::Options,
    process::{Role, Service, beside, free_address},
};

/// The platforms, in a process that the kills do not reach.
pub(crate) struct Platforms {
    // Ends when this handle, and with it the pipe to it, is dropped.
    _process: Child,
    pub(crate) addresses: Addresses,
    pub(crate) ledger: PathBuf,
}

impl Platforms {
    pub(crate) async fn start(folder: &Path, seed: u64) -> Outcome<Self> {
        let ledger = folder.join("ledger.jsonl");
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("doubles").arg("--ledger").arg(&ledger).arg("--seed").arg(seed.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let printed = process.stdout.take().ok_or("the platforms print nothing")?;
        let line = BufReader::new(printed).lines().next_line().await?;
        let addresses = serde_json::from_str(&line.ok_or("the platforms did not start")?)?;
        Ok(Self { _process: process, addresses, ledger })
    }

    /// Nothing fails from now on.
    pub(crate) async fn calm_down(&self) -> Outcome {
        let origin = self.origin(Kind::Honoured)?;
        let http = campanile_connect::Http::new(campanile_connect::Policy {
            allow_private: true,
            ..campanile_connect::Policy::default()
        });
        let request =
            http::Request::get(format!("{origin}{CALM_DOWN}")).body(bytes::Bytes::new())?;
        http.request(request, &campanile_connect::AnswerLimits::default()).await?;
        Ok(())
    }

    fn origin(&self, kind: Kind) -> Outcome<&str> {
        let origin = self.addresses.origins.get(&kind).ok_or("a platform is missing")?;
        Ok(origin)
    }

    /// What connects an account, by the platform that the service knows it under.
    fn form(&self, kind: Kind, account: &str) -> Outcome<(&'static str, Value)> {
        let server = self.origin(kind)?;
        Ok(match kind {
            Kind::Bluesky => {
                let handle = format!("{account}.test");
                ("bluesky", json!({ "handle": handle, "app_password": "trial", "server": server }))
            }
            _ => {
                let platform = if kind == Kind::Container { "container" } else { "mastodon" };
                let token = format!("{TOKEN_PREFIX}{account}");
                (platform, json!({ "server": server, "access_token": token }))
            }
        })
    }
}

/// How the service is started in this run.
pub(crate) fn service(
    options: &Options,
    folder: &Path,
    platforms: &Platforms,
    database: Option<&str>,
) -> Outcome<(Service, String)> {
    let usual = if options.flaw.is_some() { "campanile-flawed" } else { "campanile-tried" };
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize()?,
        None => beside(usual)?,
    };
    let address = free_address()?;
    let data = folder.join("data");
    let key = STANDARD.encode(b"the master key of a single trial");
    let mut environment = BTreeMap::new();
    let mut set = |name: &str, value: &str| environment.insert(name.to_owned(), value.to_owned());
    set("CAMPANILE_LISTEN", &address);
    set("CAMPANILE_DATA_DIR", &data.to_string_lossy());
    set("CAMPANILE_RATE_LIMIT", "off");
    set("CAMPANILE_ALLOW_PRIVATE_NETWORKS", "true");
    set("CAMPANILE_LOG", "warn");
    set("CAMPANILE_MASTER_KEY", &key);
    set("CAMPANILE_PLC_URL", platforms.origin(Kind::Bluesky)?);
    set("CAMPANILE_BLUESKY_URL", platforms.origin(Kind::Bluesky)?);
    if let Some(url) = database {
        set("CAMPANILE_DATABASE_URL", url);
    }
    if let Some(flaw) = options.flaw {
        set("CAMPANILE_FLAW", flaw.name());
    }
    let folder = folder.to_owned();
    Ok((Service { binary, folder, environment }, format!("http://{address}")))
}

/// Starts the service for the first time and connects all accounts; names and ids of them.
pub(crate) async fn connect(
    service: &Service,
    role: Role,
    origin: &str,
    platforms: &Platforms,
    accounts: usize,
) -> Outcome<(Api, BTreeMap<String, String>)> {
    let process = service.start(role, None)?;
    let api = Api::new(origin, &service.first_key().await?);
    let mut connections = BTreeMap::new();
    for kind in Kind::ALL {
        for account in (0..accounts).map(|number| kind.account(number)) {
            let (platform, form) = platforms.form(kind, &account)?;
            let path = format!("/connections/{platform}");
            let reply = api.ask("POST", &path, Some(&form)).await;
            let id = reply.json["connection"]["id"].as_str();
            let id = id.ok_or_else(|| format!("{account} was not connected: {}", reply.json))?;
            connections.insert(account, id.to_owned());
        }
    }
    process.kill().await?;
    Ok((api, connections))
}
