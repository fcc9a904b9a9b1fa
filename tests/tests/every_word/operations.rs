// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every operation on a word, and what must hold after any of them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;

use atomic_breaker::{Breaker, Cause, Failure, Outcome, Rules, State, Transition, TripRule};

use crate::arrows::{self, Arrow};
use crate::fault::Fault;
use crate::form::Form;
use crate::memory::Memory;
use crate::rules::{self, Ruled};
use crate::spec::{Kind, Meaning, meaning};
use crate::time::{ages, ages_of_reports};

pub(crate) type Bare<'a, F> =
    Breaker<&'a Memory<F>, &'a Memory<F>, (), &'a Memory<F>, &'a Rules<F>>;

/// How a report ends a call.
pub(crate) const OUTCOMES: [Option<Outcome>; 8] = [
    Some(Outcome::Success),
    Some(Outcome::Failure(Failure::new())),
    Some(Outcome::Failure(Failure::with_weight(u16::MAX))),
    Some(Outcome::Failure(Failure::tripping())),
    Some(Outcome::Failure(Failure::tripping_for(
        Duration::from_millis(40),
    ))),
    Some(Outcome::Failure(Failure::retry_after(
        Duration::from_millis(40),
    ))),
    Some(Outcome::Ignored),
    None,
];

/// For each arrow that was taken, the first words that it led from. Hashed by what tells arrows apart: with the hash of the
/// standard library, which withstands keys from outside, that took a quarter of the time.
pub(crate) type Taken = HashMap<Arrow, Vec<u64>, BuildHasherDefault<ByParts>>;

/// Of the few small numbers that an arrow consists of, each in six bits.
#[derive(Default)]
pub(crate) struct ByParts(u64);

impl Hasher for ByParts {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 6 | u64::from(byte);
        }
    }

    fn write_isize(&mut self, number: isize) {
        self.0 = self.0 << 6 | number.cast_unsigned() as u64;
    }

    /// The table takes the upmost seven bits and the lowest.
    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

const KEPT: usize = 24;

pub(crate) fn keep(taken: &mut Taken, arrow: Arrow, word: u64) {
    let words = taken.entry(arrow).or_default();
    if words.len() < KEPT && words.last() != Some(&word) {
        words.push(word);
    }
}

pub(crate) struct Bench<F: Form> {
    rules: Vec<Ruled<F>>,
    memory: Memory<F>,
    steps: u64,
    taken: Taken,
}

impl<F: Form> Bench<F> {
    pub(crate) fn new() -> Self {
        Self::with_fault(None)
    }

    /// Of a breaker that takes one arrow wrongly.
    pub(crate) fn with_fault(fault: Option<Fault>) -> Self {
        Self {
            rules: rules::all(),
            memory: Memory::new(fault),
            steps: 0,
            taken: Taken::default(),
        }
    }

    /// Whether the fault ever made a difference.
    pub(crate) fn is_faulty(&self) -> bool {
        self.memory.is_changed.get()
    }

    /// How many operations there were, and the arrows that they took.
    pub(crate) fn end(self) -> (u64, Taken) {
        (self.steps, self.taken)
    }

    /// Every operation on a word; with every kind of permit, and every command at every age, if all is asked for.
    pub(crate) fn word(&mut self, word: u64, all: bool) {
        let written = meaning::<F>(word);
        assert_eq!(F::of(word).check().is_ok(), written.is_some(), "{word:#x}");
        for ruled in &self.rules {
            let memory = &self.memory;
            let breaker: Bare<'_, F> =
                Breaker::from_parts(memory, &ruled.rules, memory, (), memory);
            let mut case = Case {
                ruled,
                memory,
                breaker: &breaker,
                word,
                before: written.unwrap_or(Meaning::fresh::<F>(word)),
                is_corrupt: written.is_none(),
                steps: &mut self.steps,
                taken: &mut self.taken,
            };
            // The time of a word without one, and of one that no breaker wrote, changes nothing.
            if written.is_some_and(|it| it.has_time()) {
                case.at_every_age(all);
            } else {
                let now_ms = case.begins();
                case.calls_at(now_ms);
                case.commands_at(now_ms);
                case.reports_at(now_ms, true);
                case.late_reports();
            }
        }
    }
}

/// A word with rules, and the operations on it.
pub(crate) struct Case<'a, F: Form> {
    pub(crate) ruled: &'a Ruled<F>,
    pub(crate) memory: &'a Memory<F>,
    pub(crate) breaker: &'a Bare<'a, F>,
    pub(crate) word: u64,
    pub(crate) before: Meaning,
    pub(crate) is_corrupt: bool,
    pub(crate) steps: &'a mut u64,
    taken: &'a mut Taken,
}

impl<F: Form> Case<'_, F> {
    /// A reading of the clock at which the time of the word is now: of a clock near its start for half of the words, and
    /// of one that is about to wrap for the others.
    fn begins(&self) -> u32 {
        let last = (u64::from(u32::MAX) + 1).saturating_sub(F::RANGE);
        let base = if self.word.count_ones().is_multiple_of(2) {
            F::RANGE.min(last)
        } else {
            last
        };
        (base + self.before.time) as u32
    }

    fn at_every_age(&mut self, all: bool) {
        let begins = self.begins();
        for age in ages(&self.before, self.ruled) {
            self.calls_at(begins.wrapping_add(age as u32));
            if all {
                self.commands_at(begins.wrapping_add(age as u32));
            }
        }
        for age in ages_of_reports(self.ruled) {
            self.reports_at(begins.wrapping_add(age as u32), all);
            if all || age == 0 {
                self.late_reports();
            }
        }
        if !all {
            self.commands_at(begins);
        }
    }

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
        self.restores();
    }

    fn reports_at(&mut self, now_ms: u32, all: bool) {
        self.memory.now_ms.set(now_ms);
        let tokens = self.tokens();
        let tokens = if all { &tokens } else { &tokens[..1] };
        for &granted in tokens {
            for outcome in OUTCOMES {
                self.report(granted, outcome, 0);
                if all && self.ruled.measures {
                    // Too slow, and not.
                    for took in [0, 4, 5] {
                        self.report(granted, outcome, now_ms.wrapping_sub(took).max(1));
                    }
                }
            }
        }
    }

    pub(crate) fn begin(&self) {
        self.memory.begin(self.word);
    }

    /// Whether an open word ends when its transition says; and, by rules that neither grow nor add jitter, when those say.
    fn opens_for(&self, made: Transition, after: &Meaning) -> bool {
        let age = after.age::<F>(self.memory.now_ms.get());
        let left = after.open_for.cast_signed() - age;
        let config = &self.ruled.config;
        let is_plain = config.growth.is_none() && config.jitter_percent == 0;
        // A probe that failed may have asked for more.
        let is_own = made.cause == Cause::FailureLimit;
        left == i64::from(made.open_for_ms)
            && !(is_plain && is_own && made.open_for_ms != config.open_for_ms)
    }

    /// Checks what is true after any operation, and returns what the word means now. `causes` are those that it may have.
    pub(crate) fn end(&mut self, what: &str, causes: &[Cause]) -> Meaning {
        *self.steps += 1;
        let fault = |why: &str| -> ! {
            panic!(
                "{why}: {what} of {:#x} at {} with {:?}: {:#x}, {:?}",
                self.word,
                self.memory.now_ms.get(),
                self.ruled.config,
                self.memory.bits(),
                self.memory.made.get(),
            )
        };
        let word = self.memory.bits();
        if word == self.word && self.is_corrupt {
            // It was not used.
            return self.before;
        }
        let Some(after) = meaning::<F>(word) else {
            fault("not valid any more");
        };
        let transitions = self.memory.transitions.get();
        let epochs = after.epoch.wrapping_sub(self.before.epoch) % F::EPOCHS;
        // One that was corrupt is replaced first, which is a transition, too.
        if epochs != transitions || transitions > 1 + u64::from(self.is_corrupt) {
            fault("another epoch than there were transitions");
        }
        if let Some(made) = self.memory.made.get() {
            let is_same = made.to == after.state()
                && u64::from(made.epoch) == after.epoch
                && u32::from(made.trips) == after.trips
                && (made.to != State::Open || self.opens_for(made, &after));
            if !is_same {
                fault("not what was reported");
            }
            let healed = self.is_corrupt && made.cause == Cause::CorruptWord;
            if !causes.contains(&made.cause) && !healed {
                fault("for a reason that it cannot have");
            }
            if made.from != self.before.state() {
                fault("from another state");
            }
            // A heavy failure that does not trip at once, as the row must last, counts no more than its limit.
            let most = match self.ruled.config.trip {
                TripRule::Lasting { failures, .. } => failures,
                _ => 1,
            };
            let is_fresh = Meaning {
                epoch: (self.before.epoch + 1) % F::EPOCHS,
                // That of a report whose permit belongs to the epoch that begins.
                failures: if what == "a report" {
                    after.failures.min(most)
                } else {
                    0
                },
                time: after.time,
                ..self.before
            };
            if healed && transitions == 1 && after != is_fresh {
                fault("not a fresh one");
            }
            if !self.is_corrupt && !arrows::leads(&made, &self.before, &after) {
                fault("not where the arrow leads");
            }
            let is_begun = after.age::<F>(self.memory.now_ms.get()) == 0;
            let is_timed = after.in_flight > 0 || after.kind == Kind::Returning;
            if is_timed && !is_begun {
                fault("not begun now");
            }
            // Where a corrupt word was healed first, less can be told.
            if healed || !self.is_corrupt {
                keep(self.taken, (made.from, made.to, made.cause), self.word);
            }
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
