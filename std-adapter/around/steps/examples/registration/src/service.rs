// SPDX-License-Identifier: MIT OR Apache-2.0
//! A service over HTTP: this program once more, as a child process. It can be told to misbehave, and is killed.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path as Named, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::time::sleep;

use test_support::child::serve_parent;

/// The argument that makes this program a service.
pub(crate) const ARGUMENT: &str = "serve";

/// The behaviour of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Does the work, and responds when the caller no longer waits.
    Slow,
    /// 503 with `Retry-After`.
    Busy,
    /// Never responds.
    Hangs,
    /// There is no process.
    Dead,
}

impl Mood {
    pub(crate) const ALL: [Self; 5] = [Self::Well, Self::Slow, Self::Busy, Self::Hangs, Self::Dead];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Slow => "slow",
            Self::Busy => "busy",
            Self::Hangs => "hangs",
            Self::Dead => "dead",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mood| mood.name() == name)
    }
}

/// The completed work, by action and key: kept in a file, and loaded again after a kill.
struct Effects {
    done: HashMap<String, usize>,
    file: File,
}

impl Effects {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut done = HashMap::new();
        for effect in read(path)?.into_iter().filter(|effect| !effect.is_repeated) {
            done.insert(effect.what, done.len() + 1);
        }
        Ok(Self { done, file })
    }

    /// The receipt of the work; known requests are not done again.
    fn receipt(&mut self, what: String) -> io::Result<usize> {
        let known = self.done.get(&what).copied();
        let word = if known.is_some() { "again" } else { "did" };
        self.file
            .write_all(format!("{word} {what} .\n").as_bytes())?;
        let next = self.done.len() + 1;
        Ok(*self.done.entry(what).or_insert(next))
    }
}

/// A line of its file.
pub(crate) struct Effect {
    pub(crate) what: String,
    pub(crate) is_repeated: bool,
}

pub(crate) fn read(path: &Path) -> io::Result<Vec<Effect>> {
    let text = std::fs::read_to_string(path)?;
    // The last line may have been cut off.
    let whole = text.lines().filter_map(|line| line.strip_suffix(" ."));
    let effects = whole.filter_map(|line| {
        let (word, what) = line.split_once(' ')?;
        Some(Effect {
            what: what.to_owned(),
            is_repeated: word == "again",
        })
    });
    Ok(effects.collect())
}

#[derive(Clone)]
struct Service {
    mood: Arc<Mutex<Mood>>,
    effects: Arc<Mutex<Effects>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes its port, and serves until its parent ends.
pub(crate) async fn serve(port: u16, effects: &Path) -> Result<(), Box<dyn Error>> {
    let listener = listen(port).await?;
    println!("{}", listener.local_addr()?.port());
    let service = Service {
        mood: Arc::new(Mutex::new(Mood::Well)),
        effects: Arc::new(Mutex::new(Effects::open(effects)?)),
    };
    let mood = Arc::clone(&service.mood);
    std::thread::spawn(move || {
        serve_parent(|line| {
            if let Some(told) = Mood::of(line) {
                *locked(&mood) = told;
            }
        })
    });
    let app = Router::new()
        .route("/{what}", post(answer))
        .with_state(service);
    Ok(axum::serve(listener, app).await?)
}

/// While the port is free, a caller on this machine may by chance have it for its own end of a connection.
async fn listen(port: u16) -> io::Result<TcpListener> {
    let mut tries = 100;
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
            result => return result,
        }
        sleep(Duration::from_millis(10)).await;
    }
}

async fn answer(
    State(service): State<Service>,
    Named(what): Named<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let mood = *locked(&service.mood);
    match mood {
        Mood::Busy => {
            let hint = [(header::RETRY_AFTER, "1")];
            return (StatusCode::SERVICE_UNAVAILABLE, hint).into_response();
        }
        Mood::Hangs => std::future::pending().await,
        Mood::Well | Mood::Slow | Mood::Dead => {}
    }
    sleep(Duration::from_millis(fastrand::u64(60..180))).await;
    if (what == "check" && !body.contains('@')) || (what == "charge" && body == "expired") {
        let why = format!("{what}: {body:?} is not accepted");
        return (StatusCode::UNPROCESSABLE_ENTITY, why).into_response();
    }
    let Some(key) = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok())
    else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let receipt = locked(&service.effects).receipt(format!("{what} {key}"));
    if mood == Mood::Slow {
        sleep(Duration::from_secs(1)).await;
    }
    match receipt {
        Ok(receipt) => receipt.to_string().into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
