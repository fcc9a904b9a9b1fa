// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that are still open when their key has no more calls.
//!
//! A log ends, and so do keys, such as pods that are replaced. Time for which a breaker is open beyond that meets no call, so it
//! would cost nothing, and the longest open time would be the best: for an outage that the log shows no end of, as long as
//! settings can be. Such an outage is taken to end where its calls do, and the calls that the key usually has in the open time
//! that is left are counted as rejected.

use std::collections::HashMap;
use std::time::Duration;

use crate::simulate::engine::BreakerScope;
use crate::simulate::{Figures, StateChange};
use atomic_breaker::State;

use super::call::LoggedCall;

/// The calls of a key, or of all keys where they share a breaker.
#[derive(Clone, Copy, Debug)]
struct End {
    calls: u64,
    first_us: u64,
    last_us: u64,
    /// The fold of the last call.
    fold: u16,
}

/// The times at which keys have no more calls, and the usual number of calls.
#[derive(Debug)]
pub(crate) struct Ends {
    keys: HashMap<u32, End>,
    breakers: BreakerScope,
}

/// Calls that come closer together than this are a burst, which does not show how many there usually are.
const BURST_US: u64 = 10_000_000;

impl Ends {
    pub(crate) fn of(calls: &[LoggedCall], breakers: BreakerScope) -> Self {
        let mut keys: HashMap<u32, End> = HashMap::new();
        for call in calls {
            let end = keys.entry(of_breaker(breakers, call.key)).or_insert(End {
                calls: 0,
                first_us: call.start_us,
                last_us: 0,
                fold: 0,
            });
            end.calls += 1;
            (end.last_us, end.fold) = (call.start_us, call.fold());
        }
        Self { keys, breakers }
    }

    /// Adds the calls that these changes would have rejected after the last one, to the counts of that one's fold; to the
    /// last counts where there are fewer.
    pub(crate) fn charge(&self, changes: &[StateChange], folds: &mut [Figures]) {
        for change in still_open(changes) {
            let Some(end) = self.keys.get(&of_breaker(self.breakers, change.key)) else {
                continue;
            };
            let open = change.transition.open_for().unwrap_or_default();
            let until = Duration::from_micros(change.at_us).saturating_add(open);
            let from = Duration::from_micros(end.last_us.max(change.at_us));
            let left = until.saturating_sub(from);
            let length = u128::from((end.last_us - end.first_us).max(BURST_US));
            let calls = (u128::from(end.calls) * left.as_micros() + length / 2) / length;
            let place = usize::from(end.fold).min(folds.len().saturating_sub(1));
            if let Some(fold) = folds.get_mut(place) {
                fold.rejected_after_end += u64::try_from(calls).unwrap_or(u64::MAX);
            }
        }
    }
}

/// The key under which a call is counted.
const fn of_breaker(breakers: BreakerScope, key: u32) -> u32 {
    match breakers {
        BreakerScope::Single => 0,
        BreakerScope::PerKey { .. } => key,
    }
}

/// The last changes of the breakers that had opened, and met no call when their open time was over.
pub(crate) fn still_open(changes: &[StateChange]) -> impl Iterator<Item = StateChange> {
    let last: HashMap<u32, StateChange> = changes.iter().map(|it| (it.key, *it)).collect();
    last.into_values()
        .filter(|change| change.transition.to == State::Open)
}
