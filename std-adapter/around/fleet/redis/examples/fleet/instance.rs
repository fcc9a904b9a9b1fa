// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process of the fleet.

use std::error::Error;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use atomic_breaker_fleet::{FleetConfig, Joined, Seat};
use atomic_breaker_fleet_redis::RedisFleet;
use atomic_breaker_server::{
    Breaker, Config, Observer, State, StdClock, Transition, word::NativeWord,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use crate::log::{Entry, What, since};
use crate::scene::{END, QUORUM, call_every};
use test_support::child::serve_parent;

/// The argument that makes this program an instance.
pub(crate) const ARGUMENT: &str = "instance";

/// The lines that it prints when it has joined, and at the end.
pub(crate) const READY: &str = "ready";
pub(crate) const DONE: &str = "done";

/// Five consecutive failures open it, at first for a second.
const RULES: Config = Config::new()
    .consecutive_failures(5)
    .open_for(Duration::from_secs(1))
    .exponential(2, Duration::from_secs(4))
    .jitter_percent(20);

type Guard = Arc<Breaker<StdClock, NativeWord, (), (Option<Seat>, Log)>>;

/// Its breaker, in the fleet if there is one.
fn guard(fleet: Option<&Joined>, log: &Log) -> Result<Guard, Box<dyn Error>> {
    let seat = fleet.map(|fleet| fleet.seat("upstream")).transpose()?;
    let guard = Breaker::builder(RULES, StdClock)
        .observer((seat.clone(), log.clone()))
        .build();
    let guard = Arc::new(guard);
    if let Some(seat) = seat {
        seat.take(Arc::clone(&guard));
    }
    Ok(guard)
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(
    arguments: &mut impl Iterator<Item = String>,
) -> Result<(), Box<dyn Error>> {
    let number: u32 = arguments.next().ok_or("which instance?")?.parse()?;
    let upstream: u16 = arguments.next().ok_or("which upstream?")?.parse()?;
    let fleet = match arguments.next() {
        Some(address) => {
            let engine = RedisFleet::new(&address, "example")?;
            let fleet = Joined::new(engine, FleetConfig::new(QUORUM))?;
            let connected = fleet.watch();
            timeout(
                Duration::from_secs(10),
                { connected }.wait_for(|status| status.is_connected),
            )
            .await
            .map_err(|_| format!("not in the fleet within 10 s: {:?}", fleet.status()))??;
            Some(fleet)
        }
        None => None,
    };

    say(READY)?;
    let beginning = beginning().await?;
    let log = Log::new(beginning);
    let guard = guard(fleet.as_ref(), &log)?;
    // Each instance starts at a different moment.
    let every = call_every(number);
    let mut next = Instant::now() + every * (number * 7 % 50) / 50;
    while since(beginning) < END {
        sleep_until(next).await;
        next = Instant::now() + every;
        let at = since(beginning);
        let what = call(&guard, upstream).await;
        log.add(Entry { at, what });
    }
    for entry in log.entries() {
        say(&entry.line())?;
    }
    say(DONE)?;
    // Runs until the parent ends it.
    std::future::pending().await
}

async fn call(guard: &Guard, upstream: u16) -> What {
    let Ok(permit) = guard.acquire() else {
        return What::Rejected;
    };
    let is_probe = permit.is_probe();
    let answered = timeout(Duration::from_millis(500), ask(upstream)).await;
    if matches!(answered, Ok(Ok(()))) {
        permit.success();
        [What::Answered, What::ProbeAnswered][usize::from(is_probe)]
    } else {
        permit.failure();
        [What::Failed, What::ProbeFailed][usize::from(is_probe)]
    }
}

async fn ask(upstream: u16) -> io::Result<()> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, upstream)).await?;
    connection.write_all(b"?").await?;
    connection.read_u8().await?;
    Ok(())
}

/// The parent sends the time. Without a parent this process ends.
async fn beginning() -> Result<SystemTime, Box<dyn Error>> {
    let (tell, told) = oneshot::channel();
    let mut tell = Some(tell);
    thread::spawn(move || {
        serve_parent(|line| {
            if let (Some(tell), Ok(us)) = (tell.take(), line.parse()) {
                let _ = tell.send(us);
            }
        })
    });
    Ok(UNIX_EPOCH + Duration::from_micros(told.await?))
}

fn say(line: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

/// Also observes the breaker.
#[derive(Clone)]
struct Log {
    beginning: SystemTime,
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Log {
    fn new(beginning: SystemTime) -> Self {
        Self {
            beginning,
            entries: Arc::default(),
        }
    }

    fn add(&self, entry: Entry) {
        let entries = self.entries.lock();
        entries.unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    fn entries(&self) -> Vec<Entry> {
        let entries = self.entries.lock();
        std::mem::take(&mut entries.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Log {
    fn transition(&self, made: &Transition) {
        let at = since(self.beginning);
        match made.to {
            State::Open => self.add(Entry {
                at,
                what: What::Opened,
            }),
            State::Closed => self.add(Entry {
                at,
                what: What::Closed,
            }),
            _ => {}
        }
    }
}
