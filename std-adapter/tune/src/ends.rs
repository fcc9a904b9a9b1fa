//! Breakers that are still open when their key has no more calls.
//!
//! A log ends, and so do keys, such as pods that are replaced. Time for which a breaker is open beyond that meets no call, so it
//! would cost nothing, and the longest open time would be the best: for an outage that the log shows no end of, as long as
//! settings can be. Such an outage is taken to end where its calls do, and the calls that the key usually has in the open time
//! that is left are counted as rejected.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use atomic_breaker::State;

use crate::call::Call;
use crate::figures::Figures;
use crate::guard::{Change, Keys};

/// The calls of a key, or of all keys where they share a breaker.
#[derive(Clone, Copy, Debug)]
struct End {
    calls: u64,
    first_us: u64,
    last_us: u64,
    /// Of its last call.
    part: usize,
}

/// When keys have no more calls, and how many they usually have.
#[derive(Debug)]
pub(crate) struct Ends {
    keys: HashMap<u32, End>,
    keyed: bool,
}

/// Calls that come closer together than this are a burst, which does not show how many there usually are.
const BURST_US: u64 = 10_000_000;

impl Ends {
    /// Of all keys of a log.
    #[cfg(feature = "replay")]
    pub(crate) fn of(calls: &[Call], keys: Keys) -> Self {
        Self::of_some(calls, keys, |_| true)
    }

    /// Of the keys whose breakers have opened and were not tried again.
    pub(crate) fn of_open(calls: &[Call], keys: Keys, changes: &[Change]) -> Self {
        let open: HashSet<u32> = still_open(changes).into_keys().collect();
        if open.is_empty() {
            return Self::of_some(&[], keys, |_| false);
        }
        Self::of_some(calls, keys, |key| open.contains(&key))
    }

    fn of_some(calls: &[Call], keys: Keys, is_one: impl Fn(u32) -> bool) -> Self {
        let keyed = keys != Keys::One;
        let mut ends: HashMap<u32, End> = HashMap::new();
        for call in calls {
            let key = if keyed { call.key } else { 0 };
            if !is_one(key) {
                continue;
            }
            let end = ends.entry(key).or_insert(End {
                calls: 0,
                first_us: call.start_us,
                last_us: 0,
                part: 0,
            });
            end.calls += 1;
            (end.last_us, end.part) = (call.start_us, call.part());
        }
        Self { keys: ends, keyed }
    }

    /// Adds the calls that these changes would have rejected after the last one, to the part of that one.
    pub(crate) fn charge(&self, changes: &[Change], parts: &mut [Figures]) {
        for (key, change) in still_open(changes) {
            let Some(end) = self.keys.get(if self.keyed { &key } else { &0 }) else {
                continue;
            };
            let open = change.transition.open_for().unwrap_or_default();
            let until = Duration::from_micros(change.at_us).saturating_add(open);
            let from = Duration::from_micros(end.last_us.max(change.at_us));
            let left = until.saturating_sub(from);
            let length = u128::from((end.last_us - end.first_us).max(BURST_US));
            let calls = (u128::from(end.calls) * left.as_micros() + length / 2) / length;
            // Where parts are not told apart, there is one.
            let place = end.part.min(parts.len().saturating_sub(1));
            if let Some(part) = parts.get_mut(place) {
                part.rejected_after_end += u64::try_from(calls).unwrap_or(u64::MAX);
            }
        }
    }
}

/// The last changes of the breakers that had opened, and met no call when their open time was over.
fn still_open(changes: &[Change]) -> HashMap<u32, Change> {
    let mut last = HashMap::new();
    for change in changes {
        last.insert(change.key, *change);
    }
    last.retain(|_, change| change.transition.to == State::Open);
    last
}
