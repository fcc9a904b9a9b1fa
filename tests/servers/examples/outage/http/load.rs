// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gateway: calls that begin at a fixed rate, a limited number of callers, and their records.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atomic_breaker_http::State;
use atomic_breaker_server::Transition;
use axum::http::Uri;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout_at};

use super::condition::Counts;
use super::scenario::{CALLERS, END, EVERY, ORDER, PATIENCE};
use super::server::Server;
use test_support::progress::Progress;

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    Failed,
    /// By the breaker of the host; no request was sent.
    Rejected,
    /// All callers were busy for too long.
    TurnedAway,
}

/// A call, from its arrival at the gateway on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) host: usize,
    /// Since the start of the run.
    pub(crate) arrived: Duration,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
}

/// A client.
pub(crate) trait Caller: Clone + Send + Sync + 'static {
    fn call(&self, url: Uri) -> impl Future<Output = Outcome> + Send;

    /// The state of the breaker of a host, if there is one.
    fn state(&self, _host: SocketAddr) -> Option<State> {
        None
    }

    /// The transitions of the breaker of a host, if there is one, in the order of time.
    fn history(&self, _host: SocketAddr) -> Option<Vec<(std::time::Instant, Transition)>> {
        None
    }
}

/// A run of the scene.
pub(crate) struct Run {
    pub(crate) name: &'static str,
    pub(crate) calls: Vec<Call>,
    /// The records of each host.
    pub(crate) counts: Vec<Counts>,
    /// The transitions of the breaker of each host, if there was one, and their times since the start of the run.
    pub(crate) histories: Vec<Option<Vec<(Duration, Transition)>>>,
}

pub(crate) fn url(host: SocketAddr) -> Uri {
    format!("http://{host}/").parse().expect("an address")
}

/// The state that all calls share.
struct Gateway<C> {
    client: C,
    addresses: Vec<SocketAddr>,
    callers: Semaphore,
    calls: Mutex<Vec<Call>>,
}

impl<C: Caller> Gateway<C> {
    async fn call(&self, host: usize, begin: Instant, arrived: Instant) {
        let turn = timeout_at(arrived + PATIENCE, self.callers.acquire()).await;
        let outcome = match turn {
            Ok(Ok(_caller)) => self.client.call(url(self.addresses[host])).await,
            _ => Outcome::TurnedAway,
        };
        let call = Call {
            host,
            arrived: arrived - begin,
            took: arrived.elapsed(),
            outcome,
        };
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(call);
    }

    fn calls(&self) -> Vec<Call> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clone()
    }
}

/// Plays the scene with a client.
pub(crate) fn run<C: Caller>(
    name: &'static str,
    client: impl FnOnce(&[SocketAddr]) -> C,
) -> io::Result<Run> {
    let mut server = Server::start()?;
    let gateway = Arc::new(Gateway {
        client: client(&server.addresses),
        addresses: server.addresses.clone(),
        callers: Semaphore::new(CALLERS),
        calls: Mutex::new(Vec::new()),
    });
    server.begin()?;
    let begin = Runtime::new()?.block_on(play(name, &gateway))?;
    let since_begin = |(at, told): (std::time::Instant, Transition)| {
        (at.saturating_duration_since(begin.into_std()), told)
    };
    let histories = server.addresses.iter().map(|host| {
        let history = gateway.client.history(*host)?;
        Some(history.into_iter().map(since_begin).collect())
    });
    let histories = histories.collect();
    let mut calls = gateway.calls();
    calls.sort_by_key(|call| call.arrived);
    Ok(Run {
        name,
        calls,
        counts: server.counts()?,
        histories,
    })
}

/// Starts calls until the end, whatever their results; returns when it began.
async fn play<C: Caller>(name: &str, gateway: &Arc<Gateway<C>>) -> io::Result<Instant> {
    let mut shown = Shown {
        name,
        calls: 0,
        progress: Progress::new(),
    };
    let mut tasks = JoinSet::new();
    let mut arrivals = interval(EVERY);
    let begin = arrivals.tick().await;
    for host in ORDER.into_iter().cycle() {
        // Calls that are late because this machine was busy arrive together.
        let arrived = arrivals.tick().await;
        if arrived - begin >= END {
            break;
        }
        let gateway_of_call = Arc::clone(gateway);
        tasks.spawn(async move { gateway_of_call.call(host, begin, arrived).await });
        shown.show(arrived - begin, gateway)?;
    }
    tasks.join_all().await;
    shown.progress.end()?;
    Ok(begin)
}

/// The progress that is shown while the scene is played.
struct Shown<'a> {
    name: &'a str,
    calls: usize,
    progress: Progress,
}

impl Shown<'_> {
    fn show<C: Caller>(&mut self, time: Duration, gateway: &Gateway<C>) -> io::Result<()> {
        if !self.progress.is_due() {
            return Ok(());
        }
        let calls = gateway.calls();
        let new = &calls[self.calls.min(calls.len())..];
        let count = |outcome| new.iter().filter(|call| call.outcome == outcome).count();
        let states = gateway.addresses.iter();
        let states = states.filter_map(|host| gateway.client.state(*host));
        self.progress.show(&format!(
            "{:<18} {:4.1} s  answered {:3}  failed {:3}  rejected {:3}  turned away {:3}  callers {:2}  open {}",
            self.name,
            time.as_secs_f64(),
            count(Outcome::Answered),
            count(Outcome::Failed),
            count(Outcome::Rejected),
            count(Outcome::TurnedAway),
            CALLERS - gateway.callers.available_permits(),
            states.filter(|state| *state == State::Open).count(),
        ))?;
        self.calls = calls.len();
        Ok(())
    }
}
