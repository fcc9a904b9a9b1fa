// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events and their times.

use std::collections::HashSet;
use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use atomic_breaker_fleet::{Fleet, Messages, Notice, PeriodId};
use atomic_breaker_fleet_redis::RedisFleet;
use tokio::runtime::Runtime;

use crate::instance::{ARGUMENT, DONE, READY};
use crate::log::{Entry, since};
use crate::redis_server::RedisServer;
use crate::upstream::Upstream;
use test_support::child::Process;

pub(crate) const INSTANCES: u32 = 50;
pub(crate) const QUORUM: u32 = 3;

/// The server is killed and started again.
const DIES: Duration = Duration::from_secs(2);
const RETURNS: Duration = Duration::from_secs(12);
pub(crate) const END: Duration = Duration::from_secs(18);

/// The first instance calls most often, the n-th 1/n as often.
pub(crate) fn call_every(number: u32) -> Duration {
    Duration::from_millis(10) * (number + 1)
}

pub(crate) struct Run {
    pub(crate) is_fleet: bool,
    pub(crate) died: Duration,
    pub(crate) returned: Duration,
    /// The log of each instance.
    pub(crate) logs: Vec<Vec<Entry>>,
    /// Periods for which the fleet opened.
    pub(crate) periods: usize,
    /// Requests to Redis between the start and the end.
    pub(crate) requests: u64,
}

/// Children are killed when it ends, however it ends.
pub(crate) fn run(redis: Option<&RedisServer>) -> Result<Run, Box<dyn Error>> {
    let upstream = Upstream::start(0)?;
    let port = upstream.port;
    let address = redis.map(RedisServer::address);
    let mut instances = Vec::new();
    for number in 0..INSTANCES {
        let (number, port) = (number.to_string(), port.to_string());
        let mut arguments = vec![ARGUMENT, &number, &port];
        arguments.extend(address.as_deref());
        instances.push(Process::start(&arguments)?);
    }
    for instance in &mut instances {
        expect(instance, READY)?;
    }
    let listener = address.as_deref().map(Listener::start).transpose()?;
    let before = redis.map(requests).transpose()?;

    let beginning = SystemTime::now();
    let us = beginning.duration_since(UNIX_EPOCH)?.as_micros();
    for instance in &mut instances {
        instance.tell(&us.to_string())?;
    }
    until(beginning, DIES);
    drop(upstream);
    let died = since(beginning);
    until(beginning, RETURNS);
    let upstream = Upstream::start(port)?;
    let returned = since(beginning);
    until(beginning, END);
    let after = redis.map(requests).transpose()?;
    let logs = instances
        .iter_mut()
        .map(entries)
        .collect::<io::Result<_>>()?;
    drop(upstream);
    Ok(Run {
        is_fleet: redis.is_some(),
        died,
        returned,
        logs,
        periods: listener.map_or(0, |listener| listener.periods().len()),
        requests: after
            .zip(before)
            .map_or(0, |(after, before)| after - before),
    })
}

fn until(beginning: SystemTime, time: Duration) {
    sleep(time.saturating_sub(since(beginning)));
}

fn expect(instance: &mut Process, word: &str) -> io::Result<()> {
    let line = instance.line()?;
    if line == word {
        Ok(())
    } else {
        Err(io::Error::other(format!("an instance says {line:?}")))
    }
}

fn entries(instance: &mut Process) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    loop {
        let line = instance.line()?;
        if line == DONE {
            return Ok(entries);
        }
        let entry = Entry::parse(&line);
        entries.push(entry.ok_or_else(|| io::Error::other(format!("an instance says {line:?}")))?);
    }
}

/// Runs of the script, readings included, and readings of all records.
fn requests(redis: &RedisServer) -> io::Result<u64> {
    let kinds = ["evalsha", "eval", "hgetall"];
    kinds.iter().map(|kind| redis.done(kind)).sum()
}

/// Receives the engine's messages.
struct Listener {
    _runtime: Runtime,
    periods: Arc<Mutex<HashSet<PeriodId>>>,
}

impl Listener {
    fn start(address: &str) -> Result<Self, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let engine = RedisFleet::new(address, "example")?;
        let mut messages = runtime.block_on(engine.subscribe())?;
        let periods: Arc<Mutex<HashSet<PeriodId>>> = Arc::default();
        let heard = Arc::clone(&periods);
        runtime.spawn(async move {
            while let Ok(message) = messages.next().await {
                if let Notice::Open(period) = message.notice {
                    lock(&heard).insert(period.id);
                }
            }
        });
        Ok(Self {
            _runtime: runtime,
            periods,
        })
    }

    fn periods(&self) -> MutexGuard<'_, HashSet<PeriodId>> {
        lock(&self.periods)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
