// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold after each kind of operation.

use std::time::Duration;

use atomic_breaker::word::TickBits;
use atomic_breaker::{Outcome, Token, Transition};

use crate::operations::{Bare, Case};
use crate::spec::{GUARD, Kind, LONGEST, meaning};

type Command = fn(&Bare<'_>) -> Option<Transition>;

/// What is true after one operation.
impl Case<'_> {
    pub(crate) fn snapshot(&mut self) {
        self.begin();
        let snapshot = self.breaker.snapshot();
        assert_eq!(self.memory.word.get(), self.word, "looking changes nothing");
        assert_eq!(snapshot.state(), self.before.state(), "{:#x}", self.word);
        *self.steps += 1;
    }

    pub(crate) fn acquire(&mut self) {
        self.begin();
        let answer = self.breaker.acquire();
        let answer = answer.map(|permit| {
            let is_probe = permit.is_probe();
            let _ = permit.into_token();
            is_probe
        });
        let after = self.end("a call");
        let before = &self.before;
        let age = before.age(self.memory.now_ms.get());
        let retry_in = answer.err().and_then(|rejected| rejected.retry_in_ms());
        let word = self.memory.word.get();
        let is_same = self.is_corrupt || word == self.word;
        let is_right = match (before.kind, answer) {
            (Kind::Closed | Kind::Disabled, answer) => answer == Ok(false) && is_same,
            (Kind::ForcedOpen, answer) => answer.is_err() && retry_in.is_none() && is_same,
            (Kind::Open, Err(_)) => {
                let left = before.open_for.cast_signed() - age;
                left > 0 && retry_in == Some(left.cast_unsigned()) && is_same
            }
            (Kind::Open, Ok(is_probe)) => {
                let is_first = after.in_flight == 1 && after.lost == 0;
                age >= before.open_for.cast_signed()
                    && is_probe
                    && after.kind == Kind::HalfOpen
                    && is_first
            }
            (Kind::HalfOpen, Err(_)) => before.in_flight > 0 && retry_in.is_some() && is_same,
            (Kind::HalfOpen, Ok(is_probe)) => {
                let is_next = after.in_flight == before.in_flight + 1;
                is_probe && after.kind == Kind::HalfOpen && (is_next || after.in_flight == 1)
            }
            (Kind::Returning, Ok(is_probe)) => !is_probe,
            (Kind::Returning, Err(_)) => retry_in.is_some() && is_same,
        };
        assert!(
            is_right,
            "{before:?} at the age of {age} with {:?}: {answer:?}, {retry_in:?}, {after:?}",
            self.ruled.config
        );
    }

    /// Words with which a call may have been granted: this one, those of earlier epochs, one that has nothing to do with it.
    pub(crate) fn tokens(&self) -> [u32; 6] {
        let earlier = |epochs: u32| self.word.wrapping_sub(epochs << 28);
        // Closed with nothing counted, and half-open after as many trips.
        let closed = |word: u32| word & (0xF << 28);
        let half_open = |word: u32| word & !0x3 | 2;
        [
            self.word,
            closed(self.word),
            closed(earlier(1)),
            half_open(self.word),
            half_open(earlier(1)),
            !self.word,
        ]
    }

    pub(crate) fn report(&mut self, granted: u32, outcome: Option<Outcome>, started_ms: u32) {
        self.begin();
        let permit = self
            .breaker
            .resume(Token::from_raw(TickBits(granted), started_ms));
        let made = match outcome {
            Some(outcome) => permit.report(outcome),
            None => permit.cancel(),
        };
        if !self.is_corrupt {
            assert_eq!(made, self.memory.made.get(), "returned as it was reported");
        }
        let after = self.end("a report");
        let frees = self.before.in_flight.saturating_sub(after.in_flight);
        assert!(
            made.is_some() || frees <= 1,
            "{:?} with {granted:#x}, {outcome:?}: {after:?}",
            self.before
        );
    }

    pub(crate) fn commands(&mut self) {
        let commands: [(&str, Command); 9] = [
            ("trip", |it| it.trip()),
            ("trip_for", |it| it.trip_for(Duration::from_millis(30))),
            ("force_open", |it| it.force_open()),
            ("release", |it| it.release()),
            ("reset", |it| it.reset()),
            ("disable", |it| it.disable()),
            ("enable", |it| it.enable()),
            ("probe_now", |it| it.probe_now()),
            ("probe_early", |it| it.probe_early()),
        ];
        for (name, command) in commands {
            self.begin();
            let made = command(self.breaker);
            let after = self.end(name);
            let is_right = match name {
                "force_open" => after.kind == Kind::ForcedOpen,
                "disable" => after.kind == Kind::Disabled,
                "reset" => after.kind == Kind::Closed,
                _ => true,
            };
            assert!(is_right, "{name} of {:?}: {made:?}, {after:?}", self.before);
        }
        self.begin();
        let is_freed = self.breaker.retire();
        *self.steps += 1;
        let after = meaning(self.memory.word.get());
        let is_right = match after {
            Some(after) if is_freed => {
                let epoch = (self.before.epoch + 1) % 16;
                after.kind == Kind::Closed && (self.is_corrupt || after.epoch == epoch)
            }
            _ => self.is_corrupt || self.memory.word.get() == self.word,
        };
        assert!(
            is_right,
            "retire of {:?}: {is_freed}, {after:?}",
            self.before
        );
    }

    /// Asks again whenever the rejection says, with dice that never let a call pass before all do.
    pub(crate) fn served_again(&mut self) {
        self.begin();
        self.memory.random.set(u32::MAX);
        let lease = (self.ruled.lease << self.before.lost.min(4)).min(LONGEST);
        let bound = self.before.open_for + lease + self.ruled.span + GUARD + 2;
        let begin = self.memory.now_ms.get();
        loop {
            *self.steps += 1;
            let Err(rejected) = self.breaker.acquire().map(|permit| permit.into_token()) else {
                return;
            };
            if self.before.kind == Kind::ForcedOpen {
                return;
            }
            let wait = rejected.retry_in_ms().expect("a time").max(1);
            let now = self.memory.now_ms.get().wrapping_add(wait);
            self.memory.now_ms.set(now);
            let waited = now.wrapping_sub(begin);
            assert!(
                waited <= bound,
                "{:?} with {:?}: shut for {waited} of {bound}",
                self.before,
                self.ruled.config
            );
        }
    }
}
