// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan of the callers of a round, drawn at random.

use tests::random::Random;
use tests::reference::{Command, Grain, Report, Rules};

use super::operation::{Id, Operation};
use super::rules::{Kind, ORIGIN};

/// A step of a caller. Permits are numbers modulo those that it holds, 0 being the latest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Acquire,
    Report(usize, Report),
    Drop(usize),
    Renew(usize),
    /// A token is forgotten.
    Lose(usize),
    Operator(Command),
    Restore(Option<u64>),
    RestoreRunning,
    Snapshot,
    State,
    Rules(usize),
    /// Milliseconds.
    Advance(u64),
    /// To just before, at or after the end of the wait of a caller.
    ToDeadline(i64),
}

/// The end of a round, when all callers have come to rest: whatever was lost shows.
pub(crate) const CLOSING: [Step; 1] = [Step::Snapshot];

/// A round: the callers' steps, and where they begin.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    /// The rules that replace each other, the first ones first.
    pub(crate) sets: Vec<Rules>,
    /// The epoch of the word at the beginning.
    pub(crate) epoch: u64,
    /// The time at the beginning.
    pub(crate) start: u64,
    /// The events before the callers begin.
    pub(crate) prefix: Vec<Step>,
    pub(crate) scripts: Vec<Vec<Step>>,
    pub(crate) seed: u64,
}

impl Plan {
    /// The plan of a seed, for this many callers.
    pub(crate) fn draw(grain: Grain, callers: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let kind = Kind::ALL[random.below(Kind::ALL.len() as u64) as usize];
        let sets = kind.rules(grain);
        let mut draw = Draw {
            random: &mut random,
            kind,
            sets: sets.len(),
        };
        let mut prefix = draw.steps(12);
        prefix.extend(draw.approach());
        // Long enough for a chain of events, short enough for an exact search.
        let lengths = 4 + draw.random.below(5);
        let scripts = (0..callers).map(|_| draw.script(lengths)).collect();
        Self {
            kind,
            sets,
            epoch: random.below(grain.epochs()),
            // In one of three rounds the clock wraps within seconds.
            start: ORIGIN
                - match random.below(3) {
                    0 => random.below(100),
                    _ => random.below(1 << 32),
                },
            prefix,
            scripts,
            seed,
        }
    }

    pub(crate) fn grain(&self) -> Grain {
        self.sets[0].grain
    }
}

struct Draw<'a> {
    random: &'a mut Random,
    kind: Kind,
    sets: usize,
}

impl Draw<'_> {
    fn steps(&mut self, most: u64) -> Vec<Step> {
        let count = self.random.below(most + 1);
        (0..count).map(|_| self.step()).collect()
    }

    fn script(&mut self, length: u64) -> Vec<Step> {
        (0..length).map(|_| self.step()).collect()
    }

    /// The end of what happens before: most callers meet an open time that is just over, a probe in flight, or a
    /// breaker that has just recovered.
    fn approach(&mut self) -> Vec<Step> {
        let due = [Command::Reset, Command::Trip].map(Step::Operator);
        let due = due.into_iter().chain([Step::ToDeadline(0)]);
        match self.random.below(6) {
            0 => due.collect(),
            1 => due.chain([Step::Acquire]).collect(),
            2 => vec![Step::Acquire, Step::Acquire, Step::Acquire],
            3 | 4 => {
                // As many as any of the rules ask for.
                let probe = [Step::Acquire, Step::Report(0, Report::Success)];
                let recovered = due.chain([probe; 4].into_iter().flatten());
                // Where traffic returns, to the beginning, the middle and the end.
                let age = [0, 40, 76, 84][self.random.below(4) as usize];
                recovered.chain([Step::Advance(age)]).collect()
            }
            _ => vec![],
        }
    }

    fn step(&mut self) -> Step {
        let which = self.random.below(3) as usize;
        match self.random.below(64) {
            0..22 => Step::Acquire,
            22..42 => Step::Report(which, self.report()),
            42..45 => Step::Drop(which),
            45 => Step::Renew(which),
            46 => Step::Lose(which),
            // More often than in any program, so that some come within an operation.
            47..56 if self.sets > 1 && self.random.below(2) == 0 => {
                Step::Rules(self.random.below(self.sets as u64) as usize)
            }
            47..51 => Step::Operator(self.command()),
            51 => self.restore(),
            52..55 => Step::Snapshot,
            55 => Step::State,
            56..60 => Step::Advance([1, 4, 8, 20, 40][self.random.below(5) as usize]),
            _ => Step::ToDeadline(self.random.below(3).cast_signed() - 1),
        }
    }

    fn report(&mut self) -> Report {
        match self.random.below(16) {
            0..8 => Report::Success,
            8..12 => Report::Failure(1),
            12 => Report::Failure(self.random.below(4) as u32),
            13 => Report::TripAtOnce,
            // A demand that comes late moves the deadline without a word, so that nobody knows the time drawn.
            14 if self.kind.has_jitter() => Report::TripAtOnce,
            14 if self.random.below(2) == 0 => Report::TripFor(self.random.below(120)),
            14 => Report::RetryAfter(self.random.below(120)),
            _ => Report::Nothing,
        }
    }

    fn command(&mut self) -> Command {
        match self.random.below(20) {
            0..4 => Command::Trip,
            4 | 5 => Command::TripFor(self.random.below(120)),
            6 => Command::ForceOpen,
            7..10 => Command::Release,
            10..13 => Command::Reset,
            13 => Command::Disable,
            14..16 => Command::Enable,
            16 | 17 => Command::ProbeNow,
            _ => Command::ProbeEarly,
        }
    }

    fn restore(&mut self) -> Step {
        match self.random.below(3) {
            0 => Step::Restore(None),
            1 => Step::Restore(Some(self.random.below(80))),
            _ => Step::RestoreRunning,
        }
    }
}

impl Step {
    /// The permit that it ends or renews, by number.
    pub(crate) fn which(self) -> Option<usize> {
        match self {
            Self::Report(which, _) | Self::Drop(which) | Self::Renew(which) | Self::Lose(which) => {
                Some(which)
            }
            _ => None,
        }
    }

    /// The question to the breaker, with the permit held or asked for. Without a permit to report, one is acquired.
    pub(crate) fn operation(self, permit: Option<Id>, next: Id) -> Option<Operation> {
        let operation = match (self, permit) {
            (Self::Report(_, report), Some(id)) => Operation::Report(id, report),
            (Self::Drop(_), Some(id)) => Operation::Drop(id),
            (Self::Renew(_), Some(id)) => Operation::Renew(id),
            (Self::Lose(_), Some(_)) | (Self::Rules(_) | Self::Advance(_), _) => return None,
            (Self::Acquire, _)
            | (Self::Report(..) | Self::Drop(_) | Self::Renew(_) | Self::Lose(_), None) => {
                Operation::Acquire(next)
            }
            (Self::Operator(command), _) => Operation::Operator(command),
            (Self::Restore(asleep), _) => Operation::Restore(asleep),
            (Self::RestoreRunning, _) => Operation::RestoreRunning,
            (Self::Snapshot | Self::ToDeadline(_), _) => Operation::Snapshot,
            (Self::State, _) => Operation::State,
        };
        Some(operation)
    }
}
