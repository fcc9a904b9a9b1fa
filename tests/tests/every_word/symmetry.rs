// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why the 64-bit word needs no more times and epochs than a few: a breaker knows neither.
//!
//! It compares a time with the clock, and an epoch with the epoch of a permit. So if both are moved, everything goes as
//! before, moved as well: whatever holds for one time and one epoch holds for all. State, trips and payload have no such
//! symmetry, and all of their values are enumerated.
//!
//! Jitter is drawn by time and epoch, on purpose: it is left out here, and it ends within its bounds at any of them.

use atomic_breaker::{Breaker, Rejected, Token, Transition};

use crate::form::Form;
use crate::memory::Memory;
use crate::operations::{Bare, OUTCOMES};
use crate::rules::{self, Ruled};
use crate::spec::{Meaning, meaning};
use crate::time::ages;

/// What an operation says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Admitted(u64),
    Rejected(Rejected),
    Made(Option<Transition>),
    Freed(bool),
}

/// What is moved, and how far.
#[derive(Clone, Copy, Debug)]
struct Moved {
    ticks: u64,
    epochs: u64,
}

impl Moved {
    const NOT: Self = Self {
        ticks: 0,
        epochs: 0,
    };

    /// A word, later by so much.
    fn word<F: Form>(self, word: u64) -> u64 {
        let moved = F::later(word, self.epochs);
        match meaning::<F>(word) {
            Some(it) if it.has_time() => F::with_time(moved, it.time + self.ticks),
            _ => moved,
        }
    }

    fn now(self, now_ms: u32) -> u32 {
        now_ms.wrapping_add(self.ticks as u32)
    }

    fn answer<F: Form>(self, answer: Answer) -> Answer {
        let made = |mut made: Transition| {
            made.at_ms = self.now(made.at_ms);
            made.epoch = ((u64::from(made.epoch) + self.epochs) % F::EPOCHS) as u16;
            made
        };
        match answer {
            Answer::Admitted(granted) => Answer::Admitted(self.word::<F>(granted)),
            Answer::Made(it) => Answer::Made(it.map(made)),
            Answer::Rejected(_) | Answer::Freed(_) => answer,
        }
    }
}

type Operation<F> = fn(&Bare<'_, F>) -> Answer;

/// What needs no permit.
fn operations<F: Form>() -> [Operation<F>; 13] {
    [
        |it| match it.acquire() {
            Ok(permit) => Answer::Admitted(permit.into_token().into_raw().0.to_u64()),
            Err(rejected) => Answer::Rejected(rejected),
        },
        |it| Answer::Made(it.trip()),
        |it| Answer::Made(it.trip_for(std::time::Duration::from_millis(30))),
        |it| Answer::Made(it.force_open()),
        |it| Answer::Made(it.release()),
        |it| Answer::Made(it.reset()),
        |it| Answer::Made(it.disable()),
        |it| Answer::Made(it.enable()),
        |it| Answer::Made(it.probe_now()),
        |it| Answer::Made(it.probe_early()),
        |it| Answer::Made(it.restore().expect("it is valid")),
        |it| Answer::Made(it.restore_running().expect("it is valid")),
        |it| Answer::Freed(it.retire()),
    ]
}

/// Compares each operation on a word with the same one later.
pub(crate) struct Symmetry<F: Form> {
    rules: Vec<Ruled<F>>,
    memory: Memory<F>,
    pub(crate) steps: u64,
}

impl<F: Form> Symmetry<F> {
    pub(crate) fn new() -> Self {
        let mut rules = rules::all();
        rules.retain(|it: &Ruled<F>| it.config.jitter_percent == 0);
        Self {
            rules,
            memory: Memory::new(None),
            steps: 0,
        }
    }

    /// Every operation on a word, and on the same word later.
    pub(crate) fn word(&mut self, word: u64, ticks: u64, epochs: u64) {
        let Some(before) = meaning::<F>(word) else {
            return;
        };
        let moved = Moved { ticks, epochs };
        for ruled in &self.rules {
            let breaker =
                Breaker::from_parts(&self.memory, &ruled.rules, &self.memory, (), &self.memory);
            for age in ages(&before, ruled) {
                let now_ms = (before.time + age) as u32;
                self.steps += compare(&self.memory, &breaker, &before, word, now_ms, moved);
            }
        }
    }
}

fn compare<F: Form>(
    memory: &Memory<F>,
    breaker: &Bare<'_, F>,
    before: &Meaning,
    word: u64,
    now_ms: u32,
    moved: Moved,
) -> u64 {
    let after = |by: Moved, operation: &dyn Fn(Moved) -> Answer| {
        memory.begin(by.word::<F>(word));
        memory.now_ms.set(by.now(now_ms));
        let answer = operation(by);
        (answer, memory.bits())
    };
    let same = |what: &str, operation: &dyn Fn(Moved) -> Answer| {
        let (first, left) = after(Moved::NOT, operation);
        let (second, left_later) = after(moved, operation);
        let expected = moved.word::<F>(left);
        // A time of 0 may be none, such as after a command.
        let unset = F::with_time(F::later(left, moved.epochs), 0);
        assert!(
            moved.answer::<F>(first) == second && (left_later == expected || left_later == unset),
            "{what} of {before:?} at {now_ms}: {first:?}, {left:#x}; {moved:?}: {second:?}, {left_later:#x}"
        );
    };
    let operations = operations::<F>();
    for (number, operation) in operations.iter().enumerate() {
        same(&format!("operation {number}"), &|_| operation(breaker));
    }
    let earlier = F::earlier(word, 1);
    for granted in [word, earlier] {
        for outcome in OUTCOMES {
            same("a report", &|by| {
                let token = Token::from_raw(F::of(by.word::<F>(granted)), 0);
                let permit = breaker.resume(token);
                Answer::Made(match outcome {
                    Some(outcome) => permit.report(outcome),
                    None => permit.cancel(),
                })
            });
        }
    }
    (operations.len() + 2 * OUTCOMES.len()) as u64 * 2
}
