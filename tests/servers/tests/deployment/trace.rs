// SPDX-License-Identifier: MIT OR Apache-2.0
//! The history of a simulation: what happened when, as one number and as the last events; and its end where a property
//! does not hold.

use std::collections::VecDeque;
use std::fmt;
use std::process::exit;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use tokio::time::Instant;

/// The number of events that a failure shows.
const SHOWN: usize = 60;

static TRACE: Mutex<Trace> = Mutex::new(Trace {
    hash: 0xCBF2_9CE4_8422_2325,
    events: 0,
    last: VecDeque::new(),
});
static BEGAN: OnceLock<(u64, Instant)> = OnceLock::new();

struct Trace {
    /// FNV-1a of all events.
    hash: u64,
    events: u64,
    last: VecDeque<String>,
}

impl Trace {
    fn lock() -> MutexGuard<'static, Self> {
        TRACE.lock().expect("no panic under the lock")
    }

    fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

/// Begins the history of this process.
pub(crate) fn begin(seed: u64) {
    BEGAN
        .set((seed, Instant::now()))
        .expect("one simulation in a process");
}

/// The virtual time since the beginning.
pub(crate) fn time() -> Duration {
    BEGAN
        .get()
        .map_or(Duration::ZERO, |(_, began)| began.elapsed())
}

/// Adds an event.
pub(crate) fn event(what: fmt::Arguments<'_>) {
    let at = time();
    let line = format!("{} {what}", at.as_millis());
    let mut trace = Trace::lock();
    trace.events += 1;
    trace.mix(line.as_bytes());
    if trace.last.len() == SHOWN {
        trace.last.pop_front();
    }
    trace.last.push_back(line);
}

macro_rules! note {
    ($($text:tt)*) => { $crate::trace::event(format_args!($($text)*)) };
}
pub(crate) use note;

/// The number of events, and a hash of all of them.
pub(crate) fn sum() -> (u64, u64) {
    let trace = Trace::lock();
    (trace.events, trace.hash)
}

/// A property does not hold: says which, when and after what, and ends the process.
pub(crate) fn broken(property: &str, why: fmt::Arguments<'_>) -> ! {
    let seed = BEGAN.get().map_or(0, |(seed, _)| *seed);
    println!("the last events, in milliseconds:");
    for line in &Trace::lock().last {
        println!("  {line}");
    }
    let (days, of_day) = (time().as_secs() / 86_400, time().as_secs() % 86_400);
    let (hours, minutes, seconds) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    println!(
        "BROKEN {property}: seed {seed}, day {days} {hours:02}:{minutes:02}:{seconds:02} ({} ms): {why}",
        time().as_millis()
    );
    exit(3)
}

macro_rules! holds {
    ($property:expr, $holds:expr, $($why:tt)*) => {
        match $holds {
            true => {}
            false => $crate::trace::broken($property, format_args!($($why)*)),
        }
    };
}
pub(crate) use holds;
