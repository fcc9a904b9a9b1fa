// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold after a command, and after a word outlived its users.

use std::time::Duration;

use atomic_breaker::{Cause, Transition, TripRule};

use crate::form::Form;
use crate::operations::{Bare, Case};
use crate::spec::{Kind, Meaning, meaning};

type Command<F> = fn(&Bare<'_, F>) -> Option<Transition>;

impl<F: Form> Case<'_, F> {
    pub(crate) fn commands(&mut self) {
        let commands: [(&str, Command<F>); 9] = [
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
            let after = self.end(name, &[Cause::Manual]);
            let is_right = self.obeys(name, &after);
            assert!(is_right, "{name} of {:?}: {made:?}, {after:?}", self.before);
        }
        self.retire();
    }

    /// Whether a command led to the state that its documentation names.
    fn obeys(&self, name: &str, after: &Meaning) -> bool {
        let before = &self.before;
        let now = (after.kind, after.is_held_twice);
        let kept = self.is_corrupt || self.memory.bits() == self.word;
        // The later of two commands that hold shows, and each is ended by its own.
        match (name, before.kind) {
            ("force_open", kind) => match kind {
                Kind::ForcedOpen => kept,
                kind => now == (Kind::ForcedOpen, kind == Kind::Disabled),
            },
            ("disable", kind) => match kind {
                Kind::Disabled => kept,
                kind => now == (Kind::Disabled, kind == Kind::ForcedOpen),
            },
            ("release", Kind::ForcedOpen) if before.is_held_twice => now == (Kind::Disabled, false),
            ("release", Kind::ForcedOpen) => now == (Kind::HalfOpen, false),
            ("enable", Kind::Disabled) if before.is_held_twice => now == (Kind::ForcedOpen, false),
            ("enable", Kind::Disabled) => now == (Kind::Closed, false),
            ("release" | "enable", Kind::ForcedOpen | Kind::Disabled) => {
                now == (before.kind, false)
            }
            ("reset", _) => after.kind == Kind::Closed && after.failures == 0,
            ("trip" | "trip_for", Kind::ForcedOpen | Kind::Disabled) => kept,
            ("trip" | "trip_for", _) => self.is_open_long_enough(name == "trip_for", after),
            ("probe_now", Kind::Open | Kind::HalfOpen) => is_to_probe(after),
            ("probe_early", Kind::Open) if !before.is_demanded => is_to_probe(after),
            _ => kept,
        }
    }

    /// Whether it is open for as long as the rules say, as the command says, and as it was before.
    fn is_open_long_enough(&self, is_for: bool, after: &Meaning) -> bool {
        let now = self.memory.now_ms.get();
        let left = |it: &Meaning| it.open_for.cast_signed() - it.age::<F>(now);
        let own = i64::from(self.ruled.config.open_for_ms);
        let wanted = own.max(if is_for { 30 } else { 0 });
        let before = match self.before.kind {
            Kind::Open => left(&self.before),
            _ => 0,
        };
        after.kind == Kind::Open && left(after) >= wanted.max(before)
    }

    fn retire(&mut self) {
        self.begin();
        let is_freed = self.breaker.retire();
        *self.steps += 1;
        let after = meaning::<F>(self.memory.bits());
        let is_right = match after {
            Some(after) if is_freed => {
                let epoch = (self.before.epoch + 1) % F::EPOCHS;
                after.kind == Kind::Closed && (self.is_corrupt || after.epoch == epoch)
            }
            _ => self.is_corrupt || self.memory.bits() == self.word,
        };
        assert!(
            is_right,
            "retire of {:?}: {is_freed}, {after:?}",
            self.before
        );
    }

    /// A word that outlived its users, and a known or unknown time of its clock.
    pub(crate) fn restores(&mut self) {
        for way in 0..3 {
            self.begin();
            let restored = match way {
                0 => self.breaker.restore(),
                1 => self.breaker.restore_after(Duration::from_millis(30)),
                _ => self.breaker.restore_running(),
            };
            assert_eq!(restored.is_err(), self.is_corrupt, "{:#x}", self.word);
            let after = self.end("a restore", &[Cause::Restored]);
            if self.is_corrupt {
                continue;
            }
            // No open time begins anew, and no probe is in flight.
            let is_shorter = after.open_for < self.before.open_for || way == 2;
            let is_right = match self.before.kind {
                Kind::Open => after.kind == Kind::Open && (is_shorter || after.open_for == 0),
                Kind::HalfOpen => after.kind == Kind::HalfOpen && after.in_flight == 0,
                Kind::Returning if way < 2 => after.kind == Kind::Closed,
                Kind::Closed => self.keeps_window(&after, way),
                kind => after.kind == kind,
            };
            assert!(is_right, "restored, {way}, {:?}: {after:?}", self.before);
        }
    }

    /// Whether a window of failures began with the sleep, so that it lasts no longer than it must, and a row has lasted.
    fn keeps_window(&self, after: &Meaning, way: u32) -> bool {
        let asleep = match way {
            0 => 0,
            1 => 30,
            _ => return self.memory.bits() == self.word,
        };
        let asleep = match self.ruled.config.trip {
            TripRule::Within { .. } => asleep,
            // A row has lasted.
            TripRule::Lasting { lasting_ms, .. } => lasting_ms.into(),
            TripRule::Consecutive { .. } | TripRule::TallyOnly => -1,
        };
        if self.before.failures == 0 || asleep < 0 {
            return self.memory.bits() == self.word;
        }
        let is_kept = after.kind == Kind::Closed && after.failures == self.before.failures;
        is_kept && after.age::<F>(self.memory.now_ms.get()) == asleep
    }
}

const fn is_to_probe(after: &Meaning) -> bool {
    matches!(after.kind, Kind::HalfOpen) && after.in_flight == 0
}
