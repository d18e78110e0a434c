//! Configuration: one struct, filled from flags, `CAMPANILE_*` variables and a TOML file, in
//! that order of precedence.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use campanile_connect::platforms::Endpoints;
use campanile_store::db::Location;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, parser::ValueSource};
use serde::{Deserialize, Serialize};

/// Plans, approves and publishes social posts for many brands.
#[derive(Parser, Debug)]
#[command(name = "campanile", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) config: Config,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Config {
    /// A TOML file with the options below as keys (listen = "…"). [default: campanile.toml, if it is there]
    #[arg(long, global = true, env = "CAMPANILE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Where the service listens.
    #[arg(
        long,
        global = true,
        env = "CAMPANILE_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS"
    )]
    pub(crate) listen: SocketAddr,

    /// Holds the database, the media and the master key, unless they are placed elsewhere.
    #[arg(
        long,
        global = true,
        env = "CAMPANILE_DATA_DIR",
        default_value = "./data",
        value_name = "FOLDER"
    )]
    pub(crate) data_dir: PathBuf,

    /// sqlite:FILE or postgres://USER:PASSWORD@HOST/DATABASE. [default: sqlite:campanile.db in the data directory]
    #[arg(
        long,
        global = true,
        env = "CAMPANILE_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) database_url: Option<DatabaseUrl>,

    /// Where media is stored: file:FOLDER. [default: file:media in the data directory]
    #[arg(
        long,
        global = true,
        env = "CAMPANILE_STORAGE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) storage_url: Option<String>,

    /// The address under which clients and platforms reach the service. [default: http://LISTEN]
    #[arg(long, global = true, env = "CAMPANILE_PUBLIC_URL", value_name = "URL", value_parser = public_url)]
    pub(crate) public_url: Option<String>,

    /// 32 bytes in base64 that encrypt secrets and sign URLs. [default: master.key in the data directory, made on the first start]
    #[arg(
        long,
        global = true,
        env = "CAMPANILE_MASTER_KEY",
        hide_env_values = true,
        value_name = "KEY"
    )]
    pub(crate) master_key: Option<String>,

    /// Requests per minute and key, or "off".
    #[arg(
        long,
        global = true,
        env = "CAMPANILE_RATE_LIMIT",
        default_value = "600",
        value_name = "NUMBER"
    )]
    pub(crate) rate_limit: RateLimit,

    /// Lets outgoing requests reach loopback and private addresses: for tests and private networks only.
    #[arg(long, global = true, env = "CAMPANILE_ALLOW_PRIVATE_NETWORKS", default_value_t = false, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    pub(crate) allow_private_networks: bool,

    /// Serves GET /metrics for Prometheus on this address; off unless set.
    #[arg(long, global = true, env = "CAMPANILE_METRICS_LISTEN", value_name = "ADDRESS")]
    pub(crate) metrics_listen: Option<SocketAddr>,

    /// The least important messages to log: error, warn, info, debug or trace.
    #[arg(
        long,
        global = true,
        env = "CAMPANILE_LOG",
        default_value = "info",
        value_name = "LEVEL"
    )]
    pub(crate) log: tracing::level_filters::LevelFilter,

    /// Does not publish: another process does. PostgreSQL only.
    #[arg(long, global = true, env = "CAMPANILE_NO_RUNNER", default_value_t = false, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    pub(crate) no_runner: bool,

    /// Lets POST /api/internal/publish-run start a look at the queue, for deployments that are woken from outside.
    #[arg(
        long,
        global = true,
        env = "CAMPANILE_RUN_SECRET",
        hide_env_values = true,
        value_name = "SECRET"
    )]
    pub(crate) run_secret: Option<String>,

    /// Where Bluesky accounts sign in when no server is named.
    #[arg(long, global = true, env = "CAMPANILE_BLUESKY_URL", default_value = "https://bsky.social", value_name = "URL", value_parser = public_url)]
    pub(crate) bluesky_url: String,

    /// The directory of identities on the AT Protocol.
    #[arg(long, global = true, env = "CAMPANILE_PLC_URL", default_value = "https://plc.directory", value_name = "URL", value_parser = public_url)]
    pub(crate) plc_url: String,

    /// The largest image in bytes that the media library takes.
    #[arg(long, global = true, env = "CAMPANILE_IMAGE_LIMIT", default_value_t = 32 << 20, value_name = "BYTES")]
    pub(crate) image_limit: u64,

    /// The largest video in bytes that the media library takes.
    #[arg(long, global = true, env = "CAMPANILE_VIDEO_LIMIT", default_value_t = 1 << 30, value_name = "BYTES")]
    pub(crate) video_limit: u64,
}

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Command {
    /// Run the service (the default).
    Serve,
    /// Publish only, beside servers that do not. PostgreSQL only.
    Runner,
    /// Bring the store's schema up to date and exit.
    Migrate,
    /// Manage users.
    #[command(subcommand)]
    User(UserCommand),
    /// Manage brands.
    #[command(subcommand)]
    Brand(BrandCommand),
    /// Manage API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Print the OpenAPI document.
    Openapi,
    /// Write a consistent copy of the SQLite store to FILE, beside a running server or without one.
    Backup { file: PathBuf },
    /// Put a backup in the place of the SQLite store. The server must not run.
    Restore { file: PathBuf },
    /// Check store, keys, disk, clock and configuration, and say what to do.
    Doctor,
}

#[derive(Subcommand, Clone, Debug, Serialize, Deserialize)]
pub(crate) enum UserCommand {
    /// Create a user; without a workspace they get one of their own with a first brand.
    Create {
        #[arg(long)]
        email: String,
        #[arg(long)]
        name: String,
        /// Made up and printed when left out.
        #[arg(long)]
        password: Option<String>,
        /// Id or name of an existing workspace.
        #[arg(long)]
        workspace: Option<String>,
    },
    /// Shut a user out: no sign-in, no session, no key.
    Disable {
        #[arg(long)]
        email: String,
    },
    /// Let a disabled user in again.
    Enable {
        #[arg(long)]
        email: String,
    },
}

#[derive(Subcommand, Clone, Debug, Serialize, Deserialize)]
pub(crate) enum BrandCommand {
    /// Create a brand in the user's workspace.
    Create {
        /// E-mail address of the user.
        #[arg(long)]
        user: String,
        #[arg(long)]
        name: String,
    },
}

#[derive(Subcommand, Clone, Debug, Serialize, Deserialize)]
pub(crate) enum KeyCommand {
    /// Create a key and print it, alone, on standard output.
    Create {
        /// E-mail address of the user.
        #[arg(long)]
        user: String,
        #[arg(long)]
        name: String,
        /// Scope names with commas between them, or "*".
        #[arg(long, value_delimiter = ',')]
        scopes: Vec<String>,
        /// When the key ends, as an RFC 3339 time.
        #[arg(long)]
        expires_at: Option<String>,
    },
    /// Revoke a key.
    Revoke {
        /// E-mail address of the user.
        #[arg(long)]
        user: String,
        /// Id of the key.
        #[arg(long)]
        id: String,
    },
}

/// Requests per minute; `None` is no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimit(pub(crate) Option<u32>);

impl FromStr for RateLimit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("off", _) => Ok(Self(None)),
            (_, Ok(number)) if number > 0 => Ok(Self(Some(number))),
            _ => Err("a number of requests per minute from 1 on, or \"off\""),
        }
    }
}

/// Kept as written; may hold a password, so it does not print.
#[derive(Clone)]
pub(crate) struct DatabaseUrl(pub(crate) Location);

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DatabaseUrl(…)")
    }
}

impl FromStr for DatabaseUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err("sqlite: needs a file name");
            }
            return Ok(Self(Location::Sqlite(path.into())));
        }
        let postgres =
            ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        if postgres {
            return Ok(Self(Location::Postgres(text.to_owned())));
        }
        Err("begins with sqlite: or postgres://")
    }
}

fn public_url(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).map_err(|error| error.to_string())?;
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || !plain {
        return Err(
            "an http or https address without query, such as https://posts.example.org".into()
        );
    }
    Ok(text.trim_end_matches('/').to_owned())
}

impl Config {
    pub(crate) fn location(&self) -> Location {
        match &self.database_url {
            Some(url) => url.0.clone(),
            None => Location::Sqlite(self.data_dir.join("campanile.db")),
        }
    }

    /// Where SQLite keeps its file; `None` on PostgreSQL.
    pub(crate) fn sqlite_file(&self) -> Option<PathBuf> {
        match self.location() {
            Location::Sqlite(path) => Some(path),
            Location::Postgres(_) => None,
        }
    }

    pub(crate) fn endpoints(&self) -> Endpoints {
        Endpoints {
            plc: self.plc_url.clone(),
            bluesky: self.bluesky_url.clone(),
            ..Endpoints::default()
        }
    }

    pub(crate) fn public_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{}", self.listen))
    }
}

/// Reads flags, environment and file. A mistake is one line for the operator.
pub(crate) fn load(arguments: &[String]) -> Result<Cli, String> {
    let mut command = Cli::command();
    for (name, value) in read_file(arguments)? {
        let known = command.get_arguments().any(|argument| argument.get_id() == name.as_str());
        if !known || name == "config" {
            return Err(format!("the configuration file has an unknown setting: {name}"));
        }
        command = command.mut_arg(&name, |argument| argument.default_value(value));
    }
    let matches = command.try_get_matches_from(arguments).map_err(|error| refusal(&error))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| refusal(&error))?;
    // A variable or a file may be shared by servers and runners; a flag is meant for this one.
    let typed = matches.value_source("no_runner") == Some(ValueSource::CommandLine);
    if typed && cli.config.no_runner && matches!(cli.command, Some(Command::Runner)) {
        return Err("`runner` does nothing but publish, so --no-runner leaves it nothing to do: \
                    give that to `campanile serve`, on PostgreSQL"
            .to_owned());
    }
    Ok(cli)
}

fn refusal(error: &clap::Error) -> String {
    match error.kind() {
        clap::error::ErrorKind::DisplayHelp
        | clap::error::ErrorKind::DisplayVersion
        | clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => one_line(&error.render().to_string()),
    }
}

/// clap explains at length; an operator reading a service log wants the first sentence.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    lines.fold(first, |line, more| format!("{line} {more}"))
}

fn read_file(arguments: &[String]) -> Result<Vec<(String, String)>, String> {
    let Some(path) = file_name(arguments) else { return Ok(Vec::new()) };
    let shown = path.display();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("the configuration file {shown} cannot be read: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        format!("the configuration file {shown} is not valid TOML: {}", error.message())
    })?;
    let plain = |(name, value): (String, toml::Value)| match value {
        toml::Value::String(text) => Ok((name, text)),
        toml::Value::Integer(number) => Ok((name, number.to_string())),
        toml::Value::Boolean(choice) => Ok((name, choice.to_string())),
        _ => Err(format!("the configuration file {shown}: {name} must be a text or a number")),
    };
    table.into_iter().map(plain).collect()
}

/// The file must be known before the arguments can be read with its values as defaults.
fn file_name(arguments: &[String]) -> Option<PathBuf> {
    let flag = arguments.iter().enumerate().find_map(|(index, argument)| {
        match argument.strip_prefix("--config")? {
            "" => arguments.get(index + 1).cloned(),
            rest => rest.strip_prefix('=').map(str::to_owned),
        }
    });
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads it")]
    let variable = || std::env::var("CAMPANILE_CONFIG").ok();
    let usual = || PathBuf::from("campanile.toml");
    flag.or_else(variable).map(PathBuf::from).or_else(|| usual().exists().then(usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_with(arguments: &[&str]) -> Result<Cli, String> {
        let mut all = vec!["campanile".to_owned()];
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        load(&all)
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_wrong_value_is_one_clear_line() {
        for arguments in [
            ["--listen", "nowhere"],
            ["--rate-limit", "0"],
            ["--database-url", "mysql://x"],
            ["--public-url", "ftp://x"],
            ["--config", "/does/not/exist.toml"],
            ["--nonsense", "1"],
        ] {
            let error = load_with(&arguments).unwrap_err();
            assert!(!error.contains('\n') && !error.is_empty(), "{error}");
        }
    }

    #[test]
    fn a_switch_does_not_swallow_the_command_behind_it() {
        for (arguments, on) in [
            (&["--no-runner", "serve"][..], true),
            (&["serve", "--no-runner"], true),
            (&["--no-runner=true", "serve"], true),
            (&["--no-runner=false", "serve"], false),
            (&["serve"], false),
        ] {
            let cli = load_with(arguments).unwrap();
            assert!(matches!(cli.command, Some(Command::Serve)), "{arguments:?}");
            assert_eq!(cli.config.no_runner, on, "{arguments:?}");
        }
        let cli = load_with(&["--allow-private-networks", "runner"]).unwrap();
        assert!(cli.config.allow_private_networks && matches!(cli.command, Some(Command::Runner)));
    }

    #[test]
    fn a_runner_that_is_told_not_to_publish_is_refused() {
        for arguments in [
            &["runner", "--no-runner"][..],
            &["--no-runner", "runner"],
            &["--no-runner=true", "runner"],
        ] {
            let error = load_with(arguments).unwrap_err();
            assert!(error.contains("--no-runner") && !error.contains('\n'), "{error}");
        }
        assert!(load_with(&["runner", "--no-runner=false"]).is_ok());
        let error = load_with(&["serve", "--no-runner", "runner"]).unwrap_err();
        assert!(error.contains("unexpected argument 'runner'"), "{error}");
    }

    #[test]
    fn a_file_gives_defaults_that_flags_override() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        std::fs::write(&file, "listen = \"127.0.0.1:99\"\nrate_limit = \"off\"").unwrap();
        let file = file.to_str().unwrap();

        let cli = load_with(&["--config", file]).unwrap();
        assert_eq!(cli.config.listen.port(), 99);
        assert!(cli.config.rate_limit.0.is_none());
        let cli = load_with(&["--config", file, "--listen", "127.0.0.1:98"]).unwrap();
        assert_eq!(cli.config.listen.port(), 98);

        std::fs::write(file, "lisen = \"x\"").unwrap();
        assert!(load_with(&["--config", file]).unwrap_err().contains("lisen"));
    }
}
