//! Calls that were recorded, in the order of their start.

use std::collections::HashMap;

use crate::call::{Call, Ending};
use crate::cold::Recovery;

/// A log in memory: 24 bytes a call, and its keys.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(crate) calls: Vec<Call>,
    keys: Vec<Box<str>>,
    /// For a replay with [cold servers](crate::Replay::cold_server).
    pub(crate) recoveries: Vec<Recovery>,
}

impl Log {
    /// Calls in any order, and the names of their keys, by number; there may be none. Calls begin at the first one's
    /// start.
    ///
    /// A call that a breaker rejected when the log was written gets the ending of the call of its key that began closest
    /// to it; if all calls of its key were rejected, it stays as it is.
    ///
    /// # Panics
    /// If there are more than 4 294 967 295 calls.
    #[must_use]
    pub fn new(mut calls: Vec<Call>, keys: Vec<Box<str>>) -> Self {
        // Without the memory that a stable sort takes.
        calls.sort_unstable_by_key(|call| (call.start_us, call.key));
        assert!(
            u32::try_from(calls.len()).is_ok(),
            "a log has at most 4 294 967 295 calls"
        );
        let first = calls.first().map_or(0, |call| call.start_us);
        for call in &mut calls {
            call.start_us -= first;
        }
        fill_in(&mut calls);
        Self {
            calls,
            keys,
            recoveries: Vec::new(),
        }
    }

    /// Its calls, in the order of their start.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The names of its keys, by number.
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }
}

/// The calls of a key, seen from one of them.
#[derive(Default)]
struct Around {
    /// The last call before that was made: its start and its ending.
    before: Option<(u64, Ending)>,
    /// Rejected calls since.
    rejected: Vec<u32>,
}

/// Gives each rejected call the ending of its neighbour in time.
fn fill_in(calls: &mut [Call]) {
    if !calls.iter().any(Call::was_rejected) {
        return;
    }
    let mut keys: HashMap<u32, Around> = HashMap::new();
    for number in 0..calls.len() {
        let call = calls[number];
        let around = keys.entry(call.key).or_default();
        if call.was_rejected() {
            around.rejected.push(number as u32);
            continue;
        }
        let after = (call.start_us, call.ending());
        for rejected in around.rejected.drain(..) {
            let rejected = &mut calls[rejected as usize];
            let is_closer = |(before, _): &(u64, Ending)| {
                rejected.start_us - before <= after.0 - rejected.start_us
            };
            let (_, ending) = around.before.filter(is_closer).unwrap_or(after);
            *rejected = rejected.ending_with(ending);
        }
        around.before = Some(after);
    }
    for around in keys.into_values() {
        for rejected in around.rejected {
            let rejected = &mut calls[rejected as usize];
            if let Some((_, ending)) = around.before {
                *rejected = rejected.ending_with(ending);
            }
        }
    }
}
