// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a search.

use tests::reference::{Command, Report};

use super::world::RuleSet;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A caller acquires while the clock's dice show this number.
    Acquire(usize, u32),
    Report(usize, Report),
    /// The caller begins its call only now.
    Renew(usize),
    /// The caller drops its permit.
    Drop(usize),
    /// The caller forgets its token.
    Lose(usize),
    Operator(Command),
    /// The word is restored as one that outlived its clock, this many milliseconds ago if that is known.
    Restore(Option<u64>),
    /// The word is restored as one that outlived its users.
    RestoreRunning,
    /// The word is taken up with other rules.
    Rules(usize),
    /// One millisecond passes.
    Pass,
    /// The clock steps back one millisecond.
    StepBack,
}

impl Event {
    /// Returns whether the breaker takes part; otherwise there is nothing to compare.
    pub(crate) fn concerns_the_breaker(self) -> bool {
        !matches!(self, Self::Lose(_) | Self::Pass | Self::StepBack)
    }
}

/// The longest open time that is demanded, in milliseconds.
const LONGEST_DEMAND: u64 = 4;

const REPORTS: [Report; 8] = [
    Report::Success,
    Report::Failure(0),
    Report::Failure(1),
    Report::Failure(2),
    Report::TripAtOnce,
    Report::TripFor(3),
    Report::RetryAfter(3),
    Report::Nothing,
];

const COMMANDS: [Command; 9] = [
    Command::Trip,
    Command::TripFor(LONGEST_DEMAND),
    Command::ForceOpen,
    Command::Release,
    Command::Reset,
    Command::Disable,
    Command::Enable,
    Command::ProbeNow,
    Command::ProbeEarly,
];

/// Of unknown length, none at all, the shortest, and one that a longer time outlasts.
const SLEEPS: [Option<u64>; 4] = [None, Some(0), Some(1), Some(2)];

/// A quarter and three quarters.
const DICE: [u32; 2] = [1 << 30, 3 << 30];

/// All events under some sets of rules.
pub(crate) fn events<B>(callers: usize, sets: &[RuleSet<B>]) -> Vec<Event> {
    let mut events = vec![Event::Pass, Event::StepBack, Event::RestoreRunning];
    events.extend(SLEEPS.map(Event::Restore));
    events.extend(COMMANDS.map(Event::Operator));
    if sets.len() > 1 {
        events.extend((0..sets.len()).map(Event::Rules));
    }
    // The dice are used only while traffic returns gradually.
    let is_chancy = sets.iter().any(|set| set.plain.returning.is_some());
    let dice = if is_chancy { &DICE[..] } else { &DICE[..1] };
    for caller in 0..callers {
        events.extend(dice.iter().map(|dice| Event::Acquire(caller, *dice)));
        events.extend([
            Event::Renew(caller),
            Event::Drop(caller),
            Event::Lose(caller),
        ]);
        events.extend(REPORTS.map(|report| Event::Report(caller, report)));
    }
    events
}
