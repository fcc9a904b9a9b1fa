// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a key, trying again, time limits: in paused time.
//!
//! | file | what |
//! |---|---|
//! | `ready` | until a key admits |
//! | `shadow` | where rejections are not enforced, or only a part |
//! | `room` | a registry without room, and keys that lose their slot |
//! | `again` | calls that are tried again, and calls with a limit |
//! | `probed` | keys that are pinged while they are open |
//! | `lies` | keys that answer pings and fail calls, and how long that is remembered |
//! | `outages` | days with probers, operators and callers that leave |
//! | `fail_over` | an hour of callers with two replicas |
//! | `dropped` | futures that are dropped at any await |
//! | `served` | a resource that fails at random and is then well: all who wait are served |

mod again;
mod dropped;
mod fail_over;
mod lies;
mod outages;
mod probed;
mod ready;
mod room;
mod served;
mod shadow;

use std::sync::Arc;

use atomic_breaker_server::{Guard, Registry, TokioClock};
use tokio::time::Instant;

use super::{Diary, MS, RULES, SECOND};

type Waited = Registry<u32, TokioClock, (), Diary>;

fn keys() -> Arc<Waited> {
    let keys = Registry::builder(RULES)
        .capacity(16)
        .clock(TokioClock)
        .observer(Diary::default());
    Arc::new(keys.build().unwrap())
}

/// Two failures trip it.
fn trip(keys: &Waited, key: u32) {
    for _ in 0..2 {
        let _ = keys.of(key).call(|| Err::<(), _>("no answer"));
    }
}

/// The number of times that a caller was rejected, or would have been.
fn rejections(keys: &Waited) -> usize {
    keys.observer().rejected.lock().unwrap().len()
}

fn probes_in_flight(keys: &Waited, key: u32) -> u8 {
    keys.entry(&key)
        .map_or(0, |entry| entry.snapshot.probes_in_flight())
}

/// In milliseconds, as sleeps end with a millisecond.
fn ms_since(begin: Instant) -> u128 {
    begin.elapsed().as_millis()
}
