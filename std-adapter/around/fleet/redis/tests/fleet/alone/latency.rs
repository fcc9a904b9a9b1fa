// SPDX-License-Identifier: MIT OR Apache-2.0
//! The latency of a thread's calls while the engine's tasks run on another, whatever happens to the server in the
//! middle of an outage. The same thread alternates with calls to a breaker without a fleet, so that the machine affects
//! both alike.

use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_server::{Breaker, Config, StdClock};

use super::{LAPS, ms};
use crate::figures::{figure, is_alone};
use crate::process::{OPEN_MS, Process, connected, trip};
use crate::proxy::Proxy;
use crate::server::Server;

/// The permitted excess over a breaker without an engine, at the 99.9th percentile.
const MORE: Duration = Duration::from_micros(50);
/// The longest that any call may take beyond that.
const LONGEST: Duration = Duration::from_millis(5);

/// From before the event until after the open time.
const LAP: Duration = Duration::from_millis(OPEN_MS + 1_000);

struct Latencies {
    with: Vec<Duration>,
    without: Vec<Duration>,
}

/// 999 of 1,000 are shorter.
fn most(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() * 999 / 1_000]
}

fn timed(call: impl FnOnce() -> bool) -> Duration {
    let began = Instant::now();
    std::hint::black_box(call());
    began.elapsed()
}

/// Calls both for the length of a lap.
fn calls(process: &Process) -> Latencies {
    let rules = Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_millis(OPEN_MS));
    let alone = Breaker::new(rules, StdClock);
    let call_alone = || alone.call(|| Err::<(), ()>(())).is_ok();
    let call = || process.call(false);
    let mut all = Latencies {
        with: Vec::new(),
        without: Vec::new(),
    };
    let began = Instant::now();
    let mut is_first = false;
    while began.elapsed() < LAP {
        is_first = !is_first;
        if is_first {
            all.with.push(timed(call));
            all.without.push(timed(call_alone));
        } else {
            all.without.push(timed(call_alone));
            all.with.push(timed(call));
        }
        thread::sleep(Duration::from_micros(50));
    }
    all.with.sort_unstable();
    all.without.sort_unstable();
    all
}

/// Disturbances of the server that go through a proxy.
fn lap(happens: impl FnOnce(Server, &Proxy) -> Option<Server>) -> Option<Latencies> {
    let server = Server::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let proxy = Proxy::start(server.port);
    let all = runtime.block_on(async {
        let all: Vec<Process> = (0..10).map(|_| Process::new(proxy.fleet())).collect();
        connected(&all).await;
        trip(&all).await;
        all
    });
    thread::scope(|scope| {
        let caller = scope.spawn(|| calls(&all[5]));
        thread::sleep(Duration::from_millis(300));
        let _server = happens(server, &proxy);
        Some(caller.join().unwrap())
    })
}

fn unmoved(what: &str, mut happens: impl FnMut(Server, &Proxy) -> Option<Server>) {
    for number in 1..=LAPS {
        let Some(found) = lap(&mut happens) else {
            return;
        };
        assert!(found.with.len() > 1_000, "{} calls", found.with.len());
        let (with, without) = (most(&found.with), most(&found.without));
        let longest = *found.with.last().unwrap();
        let holds = with <= without + MORE && (longest <= LONGEST || !is_alone());
        if !holds && number < LAPS {
            continue;
        }
        figure(
            &format!("{what}: 99.9th percentile of calls, without an engine, longest"),
            format_args!("{with:?}, {without:?}, {longest:?}"),
            if is_alone() {
                format!("at most {MORE:?} more, {}", ms(LONGEST))
            } else {
                format!("at most {MORE:?} more")
            },
        );
        assert!(holds, "{what}: {with:?} {without:?} {longest:?}");
        return;
    }
}

#[test]
fn of_a_server_that_answers() {
    unmoved("the server answers", |server, _| Some(server));
}

#[test]
fn of_a_server_that_is_stopped() {
    unmoved("the server is stopped", |server, _| {
        server.signal("STOP");
        Some(server)
    });
}

#[test]
fn of_a_server_that_is_killed() {
    unmoved("the server is killed", |server, _| {
        drop(server);
        None
    });
}

#[test]
fn of_a_server_that_is_flushed() {
    unmoved("the server is flushed", |server, _| {
        server.command(&["FLUSHALL"]);
        Some(server)
    });
}

#[test]
fn of_connections_that_are_cut() {
    unmoved("every connection is cut", |server, _| {
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        Some(server)
    });
}

#[test]
fn of_connections_that_go_silent() {
    unmoved("every connection goes silent", |server, proxy| {
        proxy.stall(true);
        Some(server)
    });
}
