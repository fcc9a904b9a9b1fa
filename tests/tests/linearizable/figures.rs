// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of the rounds: a test whose callers never overlap shows nothing.

use std::collections::BTreeMap;
use std::fmt;

use super::history::History;
use super::operation::{Answer, Record, Recorded};
use super::rules::Kind;

/// As many rounds are played on a machine that is busy, however long they take.
pub(crate) const FEWEST: u64 = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Rounds whose history was searched.
    pub(crate) rounds: u64,
    /// Rounds with so many transitions that epochs came round again: not searched.
    pub(crate) too_long: u64,
    pub(crate) operations: u64,
    pub(crate) transitions: u64,
    /// Pairs of operations of different callers.
    pairs: u64,
    overlapping: u64,
    /// Rounds in which operations overlapped and one of the two made a transition.
    contended: u64,
    /// Rounds that the order of the calls does not explain.
    pub(crate) reordered: u64,
    /// Operations that the search tried.
    pub(crate) steps: u64,
    /// Exchanges that were lost to another caller.
    pub(crate) lost: u64,
    kinds: BTreeMap<Kind, u64>,
    /// The number of times that each thing happened, by name.
    seen: BTreeMap<String, u64>,
}

/// Rounds in which too little happens find nothing.
const EXPECTED: [&str; 14] = [
    "FailureLimit",
    "TripDemanded",
    "RetryAfter",
    "OpenTimeOver",
    "ProbeFailed",
    "ProbeCancelled",
    "ProbeLost",
    "ProbesSucceeded",
    "TrafficReturned",
    "Manual",
    "Restored",
    "rejected while Open",
    "rejected while HalfOpen",
    "rejected while Returning",
];

impl Figures {
    pub(crate) fn count(&mut self, history: &History) {
        self.rounds += 1;
        *self.kinds.entry(history.plan.kind).or_default() += 1;
        let records = &history.records;
        self.operations += records.len() as u64;
        let made = records.iter().filter(|record| record.is_transition());
        self.transitions += made.count() as u64;
        for name in records.iter().flat_map(names) {
            *self.seen.entry(name).or_default() += 1;
        }
        let mut is_contended = false;
        for (place, one) in records.iter().enumerate() {
            for other in records[..place]
                .iter()
                .filter(|other| other.caller != one.caller && other.caller * one.caller != 0)
            {
                self.pairs += 1;
                if one.overlaps(other) {
                    self.overlapping += 1;
                    is_contended |= one.is_transition() || other.is_transition();
                }
            }
        }
        self.contended += u64::from(is_contended);
        self.reordered += u64::from(!history.is_in_order_of_calls());
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.too_long += other.too_long;
        self.operations += other.operations;
        self.transitions += other.transitions;
        self.pairs += other.pairs;
        self.overlapping += other.overlapping;
        self.contended += other.contended;
        self.reordered += other.reordered;
        self.steps += other.steps;
        self.lost += other.lost;
        for (kind, rounds) in &other.kinds {
            *self.kinds.entry(*kind).or_default() += rounds;
        }
        for (name, times) in &other.seen {
            *self.seen.entry(name.clone()).or_default() += times;
        }
    }

    /// Rounds in which nothing overlaps find nothing.
    #[track_caller]
    pub(crate) fn have_met(&self) {
        assert!(self.rounds >= FEWEST, "{self}");
        assert!(self.overlapping > 0 && self.contended > 0, "{self}");
        assert!(self.reordered > 0, "{self}");
        for name in EXPECTED {
            // On a busy machine there may be few rounds.
            let is_seen = self.rounds < 2_000 || self.seen.contains_key(name);
            assert!(is_seen, "no {name}: {self}");
        }
    }
}

/// The transition and the rejection of an operation, by name.
fn names(record: &Record) -> Vec<String> {
    match &record.answer {
        Recorded::Here(Answer { heard, .. }) => {
            let causes = heard.transitions.iter();
            let causes = causes.map(|made| format!("{:?}", made.notice.cause));
            let rejections = heard.rejected.iter();
            causes
                .chain(rejections.map(|(state, _)| format!("rejected while {state:?}")))
                .collect()
        }
        Recorded::Elsewhere(words) => {
            let heard = words.split("heard: ").nth(1).unwrap_or_default();
            let named = |before: &str, name: &str| {
                let rest = heard.split(before).nth(1)?;
                Some(format!("{name}{}", rest.split(',').next()?))
            };
            let cause = named("cause: ", "");
            cause
                .into_iter()
                .chain(named("rejected: [(", "rejected while "))
                .collect()
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permille = 1_000 * self.overlapping / self.pairs.max(1);
        write!(
            f,
            "{} rounds and {} with too many transitions, {} operations, {} transitions, each notified once; {} of {} \
             pairs of different callers overlapped ({}.{} %), {} rounds had a transition that overlapped, {} an order \
             other than that of the calls; {} operations tried in a place; {:?}; {:?}",
            self.rounds,
            self.too_long,
            self.operations,
            self.transitions,
            self.overlapping,
            self.pairs,
            permille / 10,
            permille % 10,
            self.contended,
            self.reordered,
            self.steps,
            self.kinds,
            self.seen,
        )?;
        // Random schedules do not count them.
        match self.lost {
            0 => Ok(()),
            lost => write!(f, "; {lost} exchanges lost to another caller"),
        }
    }
}
