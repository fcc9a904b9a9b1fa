// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers that are cold after their incidents.

use std::collections::HashMap;

use crate::simulate::ColdServer;
use crate::simulate::engine::{Completion, PlannedCall, Warming};
use atomic_breaker::Failure;

use super::call::LoggedCall;
use super::incident::{Incident, count};

/// The time at which the resource of a key is back after an incident.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    key: u32,
    at_us: u64,
    /// The number of calls that the key usually gets in a second.
    per_second: f64,
}

/// Stretches of ten seconds without a call, such as nights and jumps of the clock, say nothing of the usual load.
const STRETCH_US: u64 = 10_000_000;

/// The times at which the resources are back after these incidents. The usual number of calls is the mean while they
/// get any.
pub(super) fn recoveries(calls: &[LoggedCall], incidents: &[Incident]) -> Vec<Recovery> {
    // Of each key its calls, the stretches in which there are any, and the last of these.
    let mut keys: HashMap<u32, (u64, u64, Option<u64>)> = HashMap::new();
    for call in calls {
        let (number, stretches, last) = keys.entry(call.key).or_default();
        *number += 1;
        let stretch = Some(call.start_us / STRETCH_US);
        *stretches += u64::from(*last != stretch);
        *last = stretch;
    }
    let whole_us = calls.last().map_or(0, |last| last.start_us);
    let recovery = |it: &Incident| {
        let (number, stretches, _) = keys[&it.key];
        let busy_us = (stretches * STRETCH_US).min(whole_us).max(1_000_000);
        Recovery {
            key: it.key,
            // The first call after the last one that failed.
            at_us: it.until_us + 1,
            per_second: count(number) / count(busy_us) * 1e6,
        }
    };
    incidents.iter().map(recovery).collect()
}

/// The servers of a log, each cold after each of its incidents.
#[derive(Debug, Default)]
pub(crate) struct ColdServers {
    /// By key, the last recovery first.
    to_come: HashMap<u32, Vec<Warming>>,
}

impl ColdServers {
    /// Takes recoveries in the order of time.
    pub(super) fn new(server: ColdServer, recoveries: &[Recovery]) -> Self {
        let mut servers = Self::default();
        for it in recoveries.iter().rev() {
            let warming = Warming::new(server, it.at_us, it.per_second);
            servers.to_come.entry(it.key).or_default().push(warming);
        }
        servers
    }

    /// Decides the end of a call that is about to be made. Moments never go back.
    #[inline]
    pub(crate) fn completion(&mut self, call: &PlannedCall) -> Completion {
        let mut completion = call.completion;
        if !self.to_come.is_empty() && !self.bear(call.key, call.start_us) {
            completion.outcome = Failure::new().into();
            completion.is_cancelled = false;
        }
        completion
    }

    /// Returns whether the server of a key bears one more call.
    fn bear(&mut self, key: u32, at_us: u64) -> bool {
        let Some(to_come) = self.to_come.get_mut(&key) else {
            return true;
        };
        // The next one ends what is left of the one before.
        while let [.., next, _] = to_come[..] {
            if at_us < next.back_us() {
                break;
            }
            to_come.pop();
        }
        to_come.last_mut().is_none_or(|it| it.bears(at_us))
    }
}
