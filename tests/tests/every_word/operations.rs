// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every operation on a word, and what must hold after any of them.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::word::{Bits, TickBits};
use atomic_breaker::{Breaker, Cause, Failure, Outcome, Rules, State, Transition};

use crate::arrows::Arrow;
use crate::memory::{Memory, Ticked};
use crate::rules::{self, Ruled};
use crate::spec::{Kind, Meaning, meaning};
use crate::time::{ages, ages_of_reports};

pub(crate) type Bare<'a> = Breaker<&'a Memory, &'a Memory, (), &'a Memory, &'a Rules<Ticked>>;

/// The times at which an age begins: a clock near its start, and one that is about to wrap.
const BASES: [u32; 2] = [1 << 20, u32::MAX - (1 << 15) + 1];

/// How a report ends a call.
const OUTCOMES: [Option<Outcome>; 7] = [
    Some(Outcome::Success),
    Some(Outcome::Failure(Failure::new())),
    Some(Outcome::Failure(Failure::with_weight(u16::MAX))),
    Some(Outcome::Failure(Failure::tripping())),
    Some(Outcome::Failure(Failure::retry_after(
        Duration::from_millis(40),
    ))),
    Some(Outcome::Ignored),
    None,
];

pub(crate) struct Bench {
    rules: Vec<(Ruled, Rules<Ticked>)>,
    memory: Memory,
    steps: u64,
    arrows: HashSet<Arrow>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let rules = rules::all().into_iter().map(|ruled| {
            let rules = Rules::try_new(ruled.config).unwrap();
            (ruled, rules)
        });
        Self {
            rules: rules.collect(),
            memory: Memory::default(),
            steps: 0,
            arrows: HashSet::new(),
        }
    }

    pub(crate) fn end(self) -> (u64, HashSet<Arrow>) {
        (self.steps, self.arrows)
    }

    /// Every operation on a word.
    pub(crate) fn word(&mut self, word: u32) {
        let written = meaning(word);
        let is_edge = is_edge(word);
        assert_eq!(
            TickBits::<0>(word).check().is_ok(),
            written.is_some(),
            "{word:#x}"
        );
        let Self {
            rules,
            memory,
            steps,
            arrows,
        } = self;
        for (ruled, rules) in rules.iter() {
            let breaker: Bare<'_> = Breaker::from_parts(&*memory, rules, &*memory, (), &*memory);
            let mut case = Case {
                ruled,
                memory,
                breaker: &breaker,
                word,
                before: written.unwrap_or(Meaning::of_corrupt(word)),
                is_corrupt: written.is_none(),
                steps,
                arrows,
            };
            // The time of a word without one, and of one that no breaker wrote, changes nothing.
            let has_time = written.is_some_and(|it| it.time != 0 || has_time(it.kind));
            let base = BASES[usize::from(word.count_ones().is_multiple_of(2))];
            let origin = base.wrapping_add(case.before.time);
            if !has_time {
                case.calls_at(origin);
                case.commands_at(origin);
                case.reports_at(origin, true);
                continue;
            }
            for age in ages(&case.before, ruled) {
                case.calls_at(origin.wrapping_add(age));
                if is_edge {
                    case.commands_at(origin.wrapping_add(age));
                }
            }
            for age in ages_of_reports(ruled) {
                case.reports_at(origin.wrapping_add(age), is_edge);
            }
            if !is_edge {
                case.commands_at(origin);
            }
        }
    }
}

/// Words near the wraps of time and epoch, and one in 256 of the others: these are combined with every kind of permit, and
/// every age with every command. To the others time and epoch are alike, which their own permits, calls at every age, and
/// one age of each command show.
const fn is_edge(word: u32) -> bool {
    let time = word >> 13 & 0x7FFF;
    let is_near_wrap = time < 4 || time > 0x7FFF - 4;
    let is_picked = word.wrapping_mul(0x85EB_CA6B) >> 24 == 0;
    is_near_wrap || is_picked
}

const fn has_time(kind: Kind) -> bool {
    matches!(kind, Kind::Open | Kind::HalfOpen | Kind::Returning)
}

/// A word with rules, and the operations on it.
pub(crate) struct Case<'a> {
    pub(crate) ruled: &'a Ruled,
    pub(crate) memory: &'a Memory,
    pub(crate) breaker: &'a Bare<'a>,
    pub(crate) word: u32,
    pub(crate) before: Meaning,
    pub(crate) is_corrupt: bool,
    pub(crate) steps: &'a mut u64,
    pub(crate) arrows: &'a mut HashSet<Arrow>,
}

impl Case<'_> {
    fn calls_at(&mut self, now_ms: u32) {
        self.memory.now_ms.set(now_ms);
        self.snapshot();
        for random in [0, u32::MAX] {
            self.memory.random.set(random);
            self.acquire();
            if self.before.kind != Kind::Returning {
                break;
            }
        }
        self.served_again();
    }

    fn commands_at(&mut self, now_ms: u32) {
        self.memory.now_ms.set(now_ms);
        self.commands();
    }

    fn reports_at(&mut self, now_ms: u32, is_edge: bool) {
        self.memory.now_ms.set(now_ms);
        let tokens = self.tokens();
        let tokens = if is_edge { &tokens } else { &tokens[..1] };
        for &granted in tokens {
            for outcome in OUTCOMES {
                self.report(granted, outcome, 0);
                if is_edge && self.ruled.measures {
                    // Too slow, and not.
                    for took in [0, 4, 5] {
                        self.report(granted, outcome, now_ms.wrapping_sub(took).max(1));
                    }
                }
            }
        }
    }

    /// What is true in any case.
    pub(crate) fn begin(&self) {
        self.memory.word.set(self.word);
        self.memory.made.set(None);
        self.memory.transitions.set(0);
    }

    /// Whether an open word ends when its transition says; and, by rules that neither grow nor add jitter, when those say.
    fn opens_for(&self, made: Transition, after: &Meaning) -> bool {
        let left = after.open_for.cast_signed() - after.age(self.memory.now_ms.get());
        let config = &self.ruled.config;
        let is_plain = config.growth.is_none() && config.jitter_percent == 0;
        // A probe that failed may have asked for more.
        let is_own = made.cause == Cause::FailureLimit;
        u32::try_from(left) == Ok(made.open_for_ms)
            && !(is_plain && is_own && made.open_for_ms != config.open_for_ms)
    }

    /// Checks what is true after any operation, and returns what the word means now.
    pub(crate) fn end(&mut self, what: &str) -> Meaning {
        *self.steps += 1;
        let fault = |why: &str| -> ! {
            panic!(
                "{why}: {what} of {:#010x} at {} with {:?}: {:#010x}, {:?}",
                self.word,
                self.memory.now_ms.get(),
                self.ruled.config,
                self.memory.word.get(),
                self.memory.made.get(),
            )
        };
        let word = self.memory.word.get();
        if word == self.word && self.is_corrupt {
            // It was not used.
            return self.before;
        }
        let Some(after) = meaning(word) else {
            fault("not valid any more");
        };
        let transitions = self.memory.transitions.get();
        let epochs = after.epoch.wrapping_sub(self.before.epoch) % 16;
        // One that was corrupt is replaced first, which is a transition, too.
        if epochs != transitions % 16 || transitions > 1 + u32::from(self.is_corrupt) {
            fault("another epoch than there were transitions");
        }
        if let Some(made) = self.memory.made.get() {
            let is_same = made.to == after.state()
                && u32::from(made.epoch) == after.epoch
                && u32::from(made.trips) == after.trips
                && (made.to != State::Open || self.opens_for(made, &after));
            if !is_same {
                fault("not what was reported");
            }
            if !self.is_corrupt && made.from != self.before.state() {
                fault("from another state");
            }
            self.arrows.insert((made.from, made.to, made.cause));
        } else if !self.is_corrupt && after.state() != self.before.state() {
            fault("another state, and nobody knows");
        }
        let most = self.ruled.probes.max(self.before.in_flight);
        if after.in_flight > most {
            fault("more probes in flight than the rules allow");
        }
        after
    }
}
