// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times at which the resource was down: found in a log by a sequential test.

use std::collections::HashMap;

use crate::simulate::engine::{UsefulWithin, Usefulness};

use super::call::LoggedCall;

/// A stretch of a log in which most calls of a key failed, hung until their callers left, or were answered too late to be useful.
/// Stretches that are less than a minute apart are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Incident {
    /// The number of the key in the log's list of keys.
    pub key: u32,
    /// The time at which the first call began that failed, in microseconds since the beginning of the log.
    pub from_us: u64,
    /// The time at which the last call began that failed, before the resource worked again; in microseconds, too.
    pub until_us: u64,
    /// The calls of the key in this time.
    pub calls: u64,
    /// The number of the key's calls that failed in this time, or were answered too late.
    pub failed: u64,
}

/// A sequential probability ratio test, restarted whenever it favours the other side: the cumulative sum of E. S. Page,
/// "Continuous Inspection Schemes", Biometrika 41 (1954). One call is worth the logarithm of how much more likely it is
/// where half of the calls fail than where only the usual share does.
///
/// The test calls an alarm at ln(10⁹), so by chance at most once in a thousand million calls of which the usual share fails
/// (G. Lorden, "Procedures for Reacting to a Change in Distribution", Annals of Mathematical Statistics 42 (1971)). With a
/// usual share of 10 % that takes 13 in a row, with 0.5 % five.
#[derive(Clone, Copy, Debug)]
struct Test {
    failed: f64,
    useful: f64,
}

const ALARM: f64 = 20.723_265_836_946_41;

/// The least and the largest share of calls that usually fail.
const USUAL: (f64, f64) = (0.005, 0.1);

impl Test {
    fn new(usual: f64) -> Self {
        Self {
            failed: (0.5 / usual).ln(),
            useful: (0.5 / (1.0 - usual)).ln(),
        }
    }

    const fn worth(self, has_failed: bool) -> f64 {
        if has_failed { self.failed } else { self.useful }
    }
}

/// The share of a key's calls that have failed lately while it was up: a busy hour may have more than the whole log.
#[derive(Clone, Copy, Debug)]
struct Lately {
    /// The mean of the blocks so far, the last ones weighing most.
    share: f64,
    /// Counts of the block that has begun.
    calls: u32,
    failed: u32,
    test: Test,
}

/// The share is learned anew after so many calls, of which the last block makes this part.
const BLOCK: u32 = 100;
const LAST_BLOCK: f64 = 0.25;

impl Lately {
    fn new(usual: f64) -> Self {
        Self {
            share: usual / 2.0,
            calls: 0,
            failed: 0,
            test: Test::new(usual),
        }
    }

    /// The test is for twice the share of late, at least the usual one, and at most the [largest](USUAL).
    fn see(&mut self, has_failed: bool, usual: f64) {
        self.calls += 1;
        self.failed += u32::from(has_failed);
        if self.calls == BLOCK {
            let block = f64::from(self.failed) / f64::from(BLOCK);
            self.share += (block - self.share) * LAST_BLOCK;
            self.test = Test::new((2.0 * self.share).clamp(usual, USUAL.1.max(usual)));
            (self.calls, self.failed) = (0, 0);
        }
    }
}

/// The history of a key in a log, call by call.
#[derive(Clone, Copy, Debug)]
struct KeyWatch {
    lately: Lately,
    sum: f64,
    /// The calls since the sum left zero: they may begin an incident, or belong to the one that has not ended.
    since: Option<Incident>,
    /// The incident that has not ended, if the resource is down.
    incident: Option<Incident>,
}

impl KeyWatch {
    fn new(usual: f64) -> Self {
        Self {
            lately: Lately::new(usual),
            sum: 0.0,
            since: None,
            incident: None,
        }
    }

    /// Returns an incident that has just ended.
    fn see(&mut self, call: &LoggedCall, has_failed: bool, usual: f64) -> Option<Incident> {
        let worth = self.lately.test.worth(has_failed);
        let since = self.since.get_or_insert(Incident {
            key: call.key,
            from_us: call.start_us,
            until_us: call.start_us,
            calls: 0,
            failed: 0,
        });
        since.until_us = call.start_us;
        since.calls += 1;
        since.failed += u64::from(has_failed);
        // Evidence that it is down, or up again.
        if self.incident.is_none() {
            self.sum += worth;
            self.lately.see(has_failed, usual);
        } else {
            self.sum -= worth;
        }
        if self.sum <= 0.0 {
            self.sum = 0.0;
            // What came since the last failed call belongs to the incident, which goes on.
            if let (Some(incident), Some(since)) = (&mut self.incident, self.since.take()) {
                incident.until_us = since.until_us;
                incident.calls += since.calls;
                incident.failed += since.failed;
            }
            return None;
        }
        if self.sum < ALARM {
            return None;
        }
        self.sum = 0.0;
        // What belongs to an incident says nothing of the usual share.
        (self.lately.calls, self.lately.failed) = (0, 0);
        let since = self.since.take();
        match self.incident.take() {
            None => {
                self.incident = since;
                None
            }
            ended => ended,
        }
    }
}

/// The incidents of a log, in the order of their start, one that goes on at its end included.
///
/// The share of calls that usually fails is learned from the log: twice that of the calls outside of what would be an
/// incident if it were 10 %, but at least 0.5 % and at most 10 %. For a key it is twice that of its last few hundred
/// calls, if that is more.
pub(super) fn incidents(calls: &[LoggedCall], useful: UsefulWithin) -> Vec<Incident> {
    let worth = |call: &LoggedCall| match useful.worth(call.completion()) {
        Usefulness::Useful => Some(false),
        Usefulness::Wasted => Some(true),
        Usefulness::Neither => None,
    };
    let find = |usual: f64| {
        let mut keys: HashMap<u32, KeyWatch> = HashMap::new();
        let mut found = Vec::new();
        let (mut all, mut failed) = (0, 0);
        for call in calls {
            if let Some(has_failed) = worth(call) {
                all += 1;
                failed += u64::from(has_failed);
                let watched = keys.entry(call.key).or_insert_with(|| KeyWatch::new(usual));
                found.extend(watched.see(call, has_failed, usual));
            }
        }
        found.extend(keys.values().filter_map(|watched| watched.incident));
        let outside =
            |all: u64, inside: fn(&Incident) -> u64| all - found.iter().map(inside).sum::<u64>();
        let (all, failed) = (outside(all, |it| it.calls), outside(failed, |it| it.failed));
        found.sort_unstable_by_key(|it| (it.from_us, it.key));
        (found, all, failed)
    };
    let (_, all, failed) = find(USUAL.1);
    let usual: f64 = 2.0 * count(failed) / count(all.max(1));
    let (pieces, ..) = find(usual.clamp(USUAL.0, USUAL.1));
    joined(pieces, calls, worth)
}

/// Pieces of a key that are less than this apart are one incident: a minute.
const APART_US: u64 = 60_000_000;

/// Joins pieces, which are in the order of their start, and counts the calls between them as well.
fn joined(
    pieces: Vec<Incident>,
    calls: &[LoggedCall],
    worth: impl Fn(&LoggedCall) -> Option<bool>,
) -> Vec<Incident> {
    let number = pieces.len();
    let mut keys: HashMap<u32, Vec<Incident>> = HashMap::new();
    for piece in pieces {
        let of_key = keys.entry(piece.key).or_default();
        match of_key.last_mut() {
            Some(last) if piece.from_us.saturating_sub(last.until_us) < APART_US => {
                last.until_us = piece.until_us;
            }
            _ => of_key.push(piece),
        }
    }
    if keys.values().map(Vec::len).sum::<usize>() < number {
        for incident in keys.values_mut().flatten() {
            (incident.calls, incident.failed) = (0, 0);
        }
        for call in calls {
            let (Some(has_failed), Some(of_key)) = (worth(call), keys.get_mut(&call.key)) else {
                continue;
            };
            let place = of_key.partition_point(|it| it.until_us < call.start_us);
            let incident = of_key.get_mut(place);
            if let Some(incident) = incident.filter(|it| it.from_us <= call.start_us) {
                incident.calls += 1;
                incident.failed += u64::from(has_failed);
            }
        }
    }
    let mut incidents: Vec<_> = keys.into_values().flatten().collect();
    incidents.sort_unstable_by_key(|it| (it.from_us, it.key));
    incidents
}

/// A number of calls, for a cost or a share.
#[expect(clippy::cast_precision_loss, reason = "no log has 2⁵³ calls")]
pub(crate) fn count(calls: u64) -> f64 {
    calls as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alarm_is_the_logarithm_that_it_says() {
        assert!((1e9_f64.ln() - ALARM).abs() < 1e-13);
    }
}
