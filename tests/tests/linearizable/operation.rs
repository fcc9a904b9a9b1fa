// SPDX-License-Identifier: MIT OR Apache-2.0
//! Questions to the breaker, its answers, and their times: the words of a history.

use std::time::Duration;

use atomic_breaker::{Outcome, State, Wait};
use tests::reference::{Command, Notice, Report, View};

/// A permit, named by the caller that asked for it and a number of that caller's own.
pub(crate) type Id = u64;

/// A question to the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Acquire(Id),
    Report(Id, Report),
    Drop(Id),
    Renew(Id),
    Operator(Command),
    /// The word is restored as one that outlived its clock, this many milliseconds ago if that is known.
    Restore(Option<u64>),
    RestoreRunning,
    Snapshot,
    State,
}

impl Operation {
    /// The permit that it ends or renews.
    pub(crate) fn permit(self) -> Option<Id> {
        match self {
            Self::Report(id, _) | Self::Drop(id) | Self::Renew(id) => Some(id),
            _ => None,
        }
    }
}

/// The readings of an operation beside the word: it takes effect with these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// The last reading of the clock.
    pub(crate) now: u64,
    /// The last rules that it looked up.
    pub(crate) rules: usize,
    pub(crate) dice: u32,
    /// The open time that was drawn at random, in ticks, if the operation opened the breaker.
    pub(crate) drawn: Option<u64>,
}

/// A transition as it was returned or notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) notice: Notice,
    pub(crate) at_ms: u32,
    pub(crate) epoch: u64,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Admitted {
        is_probe: bool,
        trips: u8,
    },
    Rejected {
        state: State,
        wait: Wait,
        retry_in: Option<Duration>,
    },
    Made(Option<Made>),
    Renewed(bool),
    Seen(Box<View>, u64),
    State(State),
    /// A word that no breaker writes.
    Corrupt,
}

/// The notices that an observer got during an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) transitions: Vec<Made>,
    pub(crate) rejected: Vec<(State, Wait)>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) cancelled: u32,
}

/// All that came of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) said: Said,
    pub(crate) heard: Heard,
}

/// An answer as it was recorded: by this process, or as the words of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    Here(Answer),
    Elsewhere(String),
}

impl Recorded {
    pub(crate) fn is(&self, answer: &Answer) -> bool {
        match self {
            Self::Here(recorded) => recorded == answer,
            Self::Elsewhere(words) => *words == format!("{answer:?}"),
        }
    }
}

/// An operation of a history. Stamps come from one counter, so that of two operations that do not overlap, all of the
/// earlier one happens before the later one begins.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) caller: u64,
    pub(crate) operation: Operation,
    pub(crate) inputs: Inputs,
    pub(crate) answer: Recorded,
    pub(crate) called: u64,
    pub(crate) returned: u64,
}

/// Rules that were set: their number in the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) rules: usize,
    pub(crate) called: u64,
    pub(crate) returned: u64,
}

impl Record {
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.called < other.returned && other.called < self.returned
    }

    /// The answer, if this process recorded it.
    pub(crate) fn here(&self) -> Option<&Answer> {
        match &self.answer {
            Recorded::Here(answer) => Some(answer),
            Recorded::Elsewhere(_) => None,
        }
    }

    pub(crate) fn here_mut(&mut self) -> Option<&mut Answer> {
        match &mut self.answer {
            Recorded::Here(answer) => Some(answer),
            Recorded::Elsewhere(_) => None,
        }
    }

    /// Returns whether it made a transition.
    pub(crate) fn is_transition(&self) -> bool {
        match &self.answer {
            Recorded::Here(answer) => !answer.heard.transitions.is_empty(),
            Recorded::Elsewhere(words) => !words.contains("transitions: []"),
        }
    }
}
