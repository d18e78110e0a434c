//! Starting: the runtime, the lock, the store, and what runs on top of them.

use std::{fs::File, future::Future, os::unix::fs::DirBuilderExt, sync::Arc};

use campanile_model::time::Clock;
use campanile_store::{Db, StoreError, audit, migrate as schema};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
    task::JoinHandle,
};

use crate::{
    admin::{self, Request, Welcome},
    app::{App, Shared},
    background, canary,
    clock::StoreClock,
    config::Config,
    control, logs, serve as http,
    vault::Vault,
    web,
};

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        // SQLite is read in place; spare threads keep a slow read from holding up the others.
        .worker_threads((cores * 2).max(4))
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime cannot start: {error}"))
}

/// The data directory with its lock. On PostgreSQL several processes may share it.
fn claim(config: &Config) -> Result<Claim, String> {
    let mut private = std::fs::DirBuilder::new();
    private.recursive(true).mode(0o700).create(&config.data_dir).map_err(|error| {
        format!("the data directory {} cannot be made: {error}", config.data_dir.display())
    })?;
    if config.sqlite_file().is_none() {
        return Ok(Claim::Shared);
    }
    Ok(match control::lock(&config.data_dir)? {
        Some(lock) => Claim::Ours(lock),
        None => Claim::Taken,
    })
}

enum Claim {
    Ours(#[expect(dead_code, reason = "held for its lock")] File),
    Taken,
    Shared,
}

async fn open(config: Config) -> Result<App, String> {
    let vault = Vault::open(config.master_key.as_deref(), &config.data_dir);
    let vault = vault.map_err(|error| describe(&error))?;
    let db = Db::open(&config.location()).await.map_err(|error| describe(&error))?;
    let backups = config.data_dir.join("backups");
    std::fs::create_dir_all(&backups).map_err(|error| error.to_string())?;
    let clock = Arc::new(StoreClock::default());
    clock.ask(&db).await.map_err(|error| describe(&error))?;
    schema::migrate(&db, &backups, clock.now()).await.map_err(|error| describe(&error))?;
    let newest = async { audit::stay_above(&mut db.read().await?).await };
    newest.await.map_err(|error: StoreError| describe(&error))?;
    let app = App::new(config, db, clock, vault)?;
    canary::check(&app).await.map_err(|error| describe(&error))?;
    Ok(app)
}

/// An error and its causes in one line.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

pub(crate) fn serve(config: Config) -> Result<(), String> {
    logs::start(config.log);
    if config.no_runner && config.sqlite_file().is_some() {
        return Err("no_runner needs PostgreSQL: on SQLite one process does everything".to_owned());
    }
    let claim = claim(&config)?;
    if let Claim::Taken = claim {
        let folder = config.data_dir.display();
        return Err(format!(
            "a server is already running on {folder}; stop it first, or choose another data directory"
        ));
    }
    runtime()?.block_on(async {
        let listener = TcpListener::bind(config.listen).await.map_err(|error| {
            format!("cannot listen on {}: {error}; choose another --listen", config.listen)
        })?;
        let app: Shared = Arc::new(open(config).await?);
        if let Some(welcome) = admin::first_start(&app).await? {
            greet(&app, &welcome);
        }
        serve_until_stopped(app, listener).await
    })
}

/// Shown once: the password and the key cannot be read again.
fn greet(app: &App, welcome: &Welcome) {
    let url = &app.public_url;
    let Welcome { email, password, key } = welcome;
    let key = key.trim_end();
    println!(
        "Campanile is ready. This is shown once; keep it.\n\n\
         address   {url}\n\
         e-mail    {email}\n\
         password  {password}\n\
         key       {key}\n\n\
         Try it:\n\n\
         curl -s -H 'authorization: Bearer {key}' {url}/api/external/v1/whoami\n"
    );
}

async fn serve_until_stopped(app: Shared, listener: TcpListener) -> Result<(), String> {
    let stop = stop_signal()?;
    clean_temporary(&app);
    let work = tokio::spawn(background::run(app.clone()));
    let time = follow_time(&app);
    let (publishing, stop_publishing) = publish(&app);
    let commands = app.config.sqlite_file().map(|_| {
        let app = app.clone();
        tokio::spawn(async move {
            if let Err(error) = control::serve(app).await {
                tracing::error!(error = &error as &dyn std::error::Error, "no control socket");
            }
        })
    });
    let metrics = match app.config.metrics_listen {
        Some(address) => {
            let listener = TcpListener::bind(address).await;
            let listener =
                listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
            let router = web::metrics_router(app.clone());
            Some(tokio::spawn(http::run(app.clone(), router, listener, std::future::pending())))
        }
        None => None,
    };
    tracing::info!(address = %app.config.listen, url = app.public_url, "listening");
    http::run(app.clone(), web::router(&app), listener, stop).await;
    tracing::info!("stopping");
    drop(stop_publishing);
    if let Some(publishing) = publishing {
        // It lets what is in hand come to its end.
        let _ = publishing.await;
    }
    work.abort();
    for task in [time].into_iter().chain(commands).chain(metrics) {
        task.abort();
    }
    background::finish(&app).await;
    app.db.close().await;
    Ok(())
}

fn follow_time(app: &Shared) -> JoinHandle<()> {
    let app = app.clone();
    tokio::spawn(async move { app.clock.follow(&app.db).await })
}

/// Starts the runner, unless another process publishes; it stops when the sender is dropped.
fn publish(app: &Shared) -> (Option<JoinHandle<()>>, oneshot::Sender<()>) {
    let (sender, stopped) = oneshot::channel();
    let running = (!app.config.no_runner).then(|| {
        let engine = app.engine.clone();
        tokio::spawn(campanile_engine::run(engine, async {
            let _ = stopped.await;
        }))
    });
    (running, sender)
}

/// Publishes without serving: for installations with several processes on one PostgreSQL.
pub(crate) fn runner(config: Config) -> Result<(), String> {
    logs::start(config.log);
    if config.sqlite_file().is_some() {
        return Err(
            "a runner of its own needs PostgreSQL; `campanile serve` publishes as well".into()
        );
    }
    runtime()?.block_on(async {
        let app: Shared = Arc::new(open(config).await?);
        let stop = stop_signal()?;
        tracing::info!("publishing");
        let time = follow_time(&app);
        campanile_engine::run(app.engine.clone(), stop).await;
        time.abort();
        app.db.close().await;
        Ok(())
    })
}

/// Resolves when the operator asks the process to stop; a second time it stops at once.
fn stop_signal() -> Result<impl Future<Output = ()>, String> {
    let listen = |kind| signal(kind).map_err(|error| format!("no signals: {error}"));
    let (mut terminate, mut interrupt) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            logs::flush();
            std::process::exit(1);
        });
    })
}

/// What a process that was killed left half-way.
fn clean_temporary(app: &App) {
    // On PostgreSQL another process may be using its files right now.
    if app.config.sqlite_file().is_none() {
        return;
    }
    for entry in std::fs::read_dir(&app.temporary).into_iter().flatten().flatten() {
        let _ = std::fs::remove_file(entry.path());
    }
}

pub(crate) fn migrate(config: Config) -> Result<String, String> {
    if let Claim::Taken = claim(&config)? {
        return Ok("a server is running, so the schema is up to date\n".to_owned());
    }
    runtime()?.block_on(open(config))?;
    Ok(format!("the schema is at version {}\n", schema::NEWEST))
}

/// Runs a command through the server that is running, or by itself.
pub(crate) fn administer(config: Config, request: Request) -> Result<String, String> {
    let claim = claim(&config)?;
    if let Claim::Taken = claim {
        return control::ask(&config.data_dir, &request);
    }
    runtime()?.block_on(async {
        let app = open(config).await?;
        let reply = admin::run(&app, request).await;
        app.db.close().await;
        reply
    })
}
