// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a history.

use proptest::prelude::*;
use tests::reference::{Command, Report};

use super::any;

/// An event of a history. Callers are numbers modulo the permit holders, 0 being the one with the latest
/// permit; rules are numbers modulo their count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// With the clock's dice.
    Acquire(u32),
    Report(usize, Report),
    /// The call of a permit begins only now.
    Renew(usize),
    /// A permit is dropped.
    Drop(usize),
    /// An attempt is dropped: it fails.
    DropAttempt(usize),
    /// A token is forgotten.
    Lose(usize),
    /// This many rounds of probes are lost, if it is half-open or due.
    LoseRounds(usize),
    Operator(Command),
    /// The word is restored as one that outlived its clock, this many milliseconds ago if that is known.
    Restore(Option<u64>),
    /// The word is restored as one that outlived its users.
    RestoreRunning,
    Rules(usize),
    /// Milliseconds.
    Advance(u64),
    /// To just before, at or after the end of the wait of a caller.
    AdvanceToDeadline(i64),
    /// To just before, at or after the end of something that the rules measure.
    AdvanceToEdge(usize, i64),
    /// To this many wraps and ticks, and a few milliseconds, after the time that the word holds.
    AdvanceToWrap(i64, i64, u64),
    StepBack(u64),
}

/// Distances from the wrap at which something ends or begins, in ticks, and the ticks beside them.
fn edges(guard: i64) -> impl Strategy<Value = i64> {
    (prop::sample::select(vec![-guard, 0, guard]), -2_i64..=2).prop_map(|(edge, near)| edge + near)
}

/// Mostly a caller with a recent permit.
fn caller() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 2 => 0_usize..4, 1 => any::<usize>()]
}

/// Rarely so many that the word cannot count them.
fn rounds() -> impl Strategy<Value = usize> {
    prop_oneof![9 => 1_usize..5, 1 => 5_usize..40]
}

pub(crate) fn events(guard: i64) -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        24 => any::dice().prop_map(Event::Acquire),
        20 => (caller(), any::reports()).prop_map(|(caller, report)| Event::Report(caller, report)),
        2 => caller().prop_map(Event::Renew),
        3 => caller().prop_map(Event::Drop),
        1 => caller().prop_map(Event::DropAttempt),
        1 => caller().prop_map(Event::Lose),
        1 => rounds().prop_map(Event::LoseRounds),
        3 => any::commands().prop_map(Event::Operator),
        1 => prop::option::of(any::times()).prop_map(Event::Restore),
        1 => Just(Event::RestoreRunning),
        2 => any::<usize>().prop_map(Event::Rules),
        6 => (0_u64..2_000).prop_map(Event::Advance),
        2 => any::times().prop_map(Event::Advance),
        6 => (-1_i64..3).prop_map(Event::AdvanceToDeadline),
        4 => (any::<usize>(), -1_i64..3).prop_map(|(which, more)| Event::AdvanceToEdge(which, more)),
        2 => (1_i64..4, edges(guard), 0_u64..3)
            .prop_map(|(wraps, ticks, ms)| Event::AdvanceToWrap(wraps, ticks, ms)),
        2 => (0_u64..3_000).prop_map(Event::StepBack),
        1 => any::times().prop_map(Event::StepBack),
    ];
    prop::collection::vec(event, 1..300)
}
