// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hosts: this program once more, as a child process with a port for each.

use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::sleep;

use super::condition::{Answer, Condition, Counts};
use super::scenario::{HOSTS, WORK};
use test_support::child::{Process, serve_parent};

/// The argument that makes this program the hosts.
pub(crate) const ARGUMENT: &str = "serve-http";

/// The origin of the scene's time; all hosts are healthy before.
static BEGIN: OnceLock<Instant> = OnceLock::new();

/// Serves until the parent ends. Its lines: `begin` starts the scene, `count` requests the hosts' counts.
pub(crate) fn serve() -> io::Result<()> {
    let runtime = Runtime::new()?;
    let mut ports = Vec::new();
    let mut conditions = Vec::new();
    for host in &HOSTS {
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        ports.push(listener.local_addr()?.port().to_string());
        let condition = Arc::new(Condition::new(&host.scene));
        let routes = Router::new().fallback(answer).with_state(condition.clone());
        conditions.push(condition);
        runtime.spawn(async move { axum::serve(listener, routes).await });
    }
    println!("{}", ports.join(" "));
    serve_parent(|line| match line {
        "begin" => {
            let _ = BEGIN.set(Instant::now());
            println!("begun");
        }
        _ => {
            for condition in &conditions {
                println!("{}", condition.counts());
            }
        }
    })
}

async fn answer(State(condition): State<Arc<Condition>>) -> Response {
    let begun = BEGIN.get().map(Instant::elapsed).unwrap_or_default();
    match condition.receive(begun) {
        Answer::Well => {
            sleep(WORK).await;
            "hello".into_response()
        }
        Answer::Fail => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Answer::Down => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Answer::DownFor(seconds) => later(StatusCode::SERVICE_UNAVAILABLE, seconds),
        Answer::LimitedFor(seconds) => later(StatusCode::TOO_MANY_REQUESTS, seconds),
        Answer::Hang => pending().await,
    }
}

fn later(status: StatusCode, seconds: u64) -> Response {
    (status, [(RETRY_AFTER, seconds.to_string())]).into_response()
}

/// The parent's side.
pub(crate) struct Server {
    process: Process,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Server {
    /// Starts the hosts and waits until they listen.
    pub(crate) fn start() -> io::Result<Self> {
        let mut process = Process::start(&[ARGUMENT])?;
        let line = process.line()?;
        let addresses = line.split(' ').map(|port| {
            let port = port.parse().map_err(io::Error::other)?;
            Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        });
        let addresses = addresses.collect::<io::Result<_>>()?;
        Ok(Self { process, addresses })
    }

    /// Begins the scene.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.process.tell("begin")?;
        self.process.line().map(drop)
    }

    /// The counts of each host.
    pub(crate) fn counts(&mut self) -> io::Result<Vec<Counts>> {
        self.process.tell("count")?;
        let counts = HOSTS.iter().map(|_| self.process.line()?.parse());
        counts.collect()
    }
}
