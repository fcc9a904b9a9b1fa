// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that were recorded, in the order of their start.

mod answers;
mod call;
mod cold;
mod ends;
mod folds;
mod incident;

pub use answers::AnswerTimes;
pub use call::LoggedCall;
pub(crate) use cold::ColdServers;
pub(crate) use ends::{Ends, still_open};
pub(crate) use folds::folds_of;
pub use incident::Incident;
pub(crate) use incident::count;

use std::collections::HashMap;

use crate::simulate::ColdServer;
use crate::simulate::engine::{Completion, UsefulWithin};

use cold::{Recovery, recoveries};
use folds::mark_folds;
use incident::incidents;

/// A log in memory: 24 bytes a call, and its keys.
#[derive(Clone, Debug, Default)]
pub struct CallLog {
    pub(crate) calls: Vec<LoggedCall>,
    keys: Vec<Box<str>>,
    /// The times at which resources are back, for a replay with [cold servers](crate::Replay::cold_server).
    recoveries: Vec<Recovery>,
}

impl CallLog {
    /// A log of calls in any order, and the names of their keys, by number; there may be no names. Starts become relative to
    /// that of the first call.
    ///
    /// A call that a breaker rejected when the log was written gets the completion of the call of its key that began closest
    /// to it; if all calls of its key were rejected, it stays as it is.
    #[must_use]
    pub fn new(mut calls: Vec<LoggedCall>, keys: Vec<Box<str>>) -> Self {
        // Without the memory that a stable sort takes.
        calls.sort_unstable_by_key(|call| (call.start_us, call.key));
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

    /// The calls of the log, in the order of their start.
    pub fn calls(&self) -> &[LoggedCall] {
        &self.calls
    }

    /// The names of the log's keys, by number.
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }

    /// Finds the incidents, in the order of their start, and gives each call the number of its fold. Returns how many folds
    /// there are, too.
    pub(crate) fn divide(&mut self, useful: UsefulWithin) -> (Vec<Incident>, usize) {
        let incidents = incidents(&self.calls, useful);
        let folds = mark_folds(&mut self.calls, &incidents);
        self.recoveries = recoveries(&self.calls, &incidents);
        (incidents, folds)
    }

    /// The servers of the log, each cold after each of its incidents.
    pub(crate) fn cold_servers(&self, server: ColdServer, useful: UsefulWithin) -> ColdServers {
        if self.recoveries.is_empty() {
            let found = incidents(&self.calls, useful);
            return ColdServers::new(server, &recoveries(&self.calls, &found));
        }
        ColdServers::new(server, &self.recoveries)
    }
}

/// The calls of a key, seen from one of them.
#[derive(Default)]
struct Around {
    /// The start and the completion of the last call before that was made.
    before: Option<(u64, Completion)>,
    /// The numbers of the calls since that were rejected.
    rejected: Vec<usize>,
}

impl Around {
    /// Gives the rejected calls the completion of their neighbour in time, which may be the next call that was made.
    fn fill_in(&mut self, calls: &mut [LoggedCall], after: Option<(u64, Completion)>) {
        for number in self.rejected.drain(..) {
            let rejected = &mut calls[number];
            let distance = |(start_us, _): &(u64, Completion)| start_us.abs_diff(rejected.start_us);
            let neighbours = self.before.into_iter().chain(after);
            if let Some((_, completion)) = neighbours.min_by_key(distance) {
                *rejected = rejected.completed(completion);
            }
        }
        self.before = after;
    }
}

/// Gives each rejected call the completion of its neighbour in time.
fn fill_in(calls: &mut [LoggedCall]) {
    if !calls.iter().any(LoggedCall::was_rejected) {
        return;
    }
    let mut keys: HashMap<u32, Around> = HashMap::new();
    for number in 0..calls.len() {
        let call = calls[number];
        let around = keys.entry(call.key).or_default();
        if call.was_rejected() {
            around.rejected.push(number);
        } else {
            around.fill_in(calls, Some((call.start_us, call.completion())));
        }
    }
    for mut around in keys.into_values() {
        around.fill_in(calls, None);
    }
}
