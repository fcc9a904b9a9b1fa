// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real breaker and the reference side by side.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::Duration;

use atomic_breaker::word::Word;
use atomic_breaker::{
    AsRules, Breaker, Clock, CorruptWord, EventLog, LastCalls, ManualClock, Observer, SharedClock,
    Tally, Token, Transition,
};
use proptest::prelude::*;
use tests::reference::{
    self, Mode, Notice, Permit, Reference, Report, Rules, View, outcome, retry_in,
};

use super::event::Event;

/// A clock that stands still until it is moved, with dice.
pub(crate) struct Chance {
    pub(crate) clock: ManualClock,
    pub(crate) dice: Cell<u32>,
}

impl Clock for Chance {
    fn now_ms(&self) -> u32 {
        self.clock.now_ms()
    }

    fn random(&self) -> u32 {
        self.dice.get()
    }
}

impl SharedClock for Chance {}

/// Restores the word after this many milliseconds, if they are known.
pub(crate) fn restore<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>>(
    breaker: &Breaker<C, W, T, O, R>,
    asleep: Option<u64>,
) -> Result<Option<Transition>, CorruptWord> {
    match asleep {
        None => breaker.restore(),
        Some(ms) => breaker.restore_after(Duration::from_millis(ms)),
    }
}

/// An optional memory for the last calls.
pub(crate) trait Memory: Tally {
    fn seen_and_failed(&self) -> Option<(u32, u32)>;
}

impl Memory for () {
    fn seen_and_failed(&self) -> Option<(u32, u32)> {
        None
    }
}

impl<W: Word> Memory for LastCalls<W> {
    fn seen_and_failed(&self) -> Option<(u32, u32)> {
        Some(self.seen_and_failed())
    }
}

/// A breaker over the parts of a pair.
type Real<'a, W, T> = Breaker<
    &'a Chance,
    &'a W,
    &'a T,
    &'a EventLog<4>,
    &'a atomic_breaker::Rules<<W as Word>::Bits>,
>;

/// The parts of a real breaker and the reference, and the permits that both granted.
pub(crate) struct Pair<W: Word, T> {
    word: W,
    memory: T,
    pub(crate) clock: Chance,
    log: EventLog<4>,
    sets: Vec<(Rules, atomic_breaker::Rules<W::Bits>)>,
    rules: usize,
    pub(crate) reference: Reference,
    pub(crate) held: Vec<(Token<W::Bits>, Permit)>,
    /// Permits alias after this many transitions.
    epochs: u64,
    pub(crate) seen: Seen,
}

/// The number of times that each thing happened, by name.
pub(crate) type Seen = HashMap<String, usize>;

/// The start of the reference's own time, a multiple of every wrap: a history cannot step back to 0.
const ORIGIN: u64 = 1 << 44;

impl<W: Word, T: Memory> Pair<W, T> {
    pub(crate) fn new(word: W, memory: T, rules: &[Rules], start: u32) -> Result<Self, String> {
        let sets = rules.iter().map(|rules| {
            let grain = rules.grain.wrapping();
            let real = atomic_breaker::Rules::try_new(rules.config());
            real.map(|real| (Rules { grain, ..*rules }, real))
                .map_err(|error| error.to_string())
        });
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            word,
            memory,
            clock: Chance {
                clock: ManualClock::starting_at(start),
                dice: Cell::new(0),
            },
            log: EventLog::new(),
            reference: Reference::new(sets[0].0, ORIGIN + u64::from(start)),
            rules: 0,
            sets,
            held: Vec::new(),
            seen: Seen::new(),
            epochs: rules[0].grain.epochs(),
        })
    }

    fn real(&self) -> Real<'_, W, T> {
        let rules = &self.sets[self.rules].1;
        Breaker::from_parts(&self.word, rules, &self.clock, &self.memory, &self.log)
    }

    pub(crate) fn step(&mut self, event: Event) -> Result<(), TestCaseError> {
        if let Event::LoseRounds(count) = event {
            for _ in 0..count {
                self.step(Event::Acquire(0))?;
                self.step(Event::AdvanceToDeadline(0))?;
            }
            return Ok(());
        }
        self.reference.noticed = None;
        let before = self.reference.mode.clone();
        let answer = match event {
            Event::Acquire(dice) => {
                self.acquire(dice)?;
                None
            }
            Event::Advance(_)
            | Event::AdvanceToDeadline(_)
            | Event::AdvanceToEdge(..)
            | Event::AdvanceToWrap(..)
            | Event::StepBack(_) => {
                self.pass_time(event);
                None
            }
            _ => self.act(event)?,
        };
        self.compare(answer)?;
        self.take_note(event, &before);
        let (generation, epochs) = (self.reference.generation, self.epochs);
        self.held
            .retain(|(_, permit)| generation - permit.generation < epochs);
        Ok(())
    }

    fn acquire(&mut self, dice: u32) -> Result<(), TestCaseError> {
        self.clock.dice.set(dice);
        let acquired = match self.real().acquire() {
            Ok(permit) => Ok((permit.is_probe(), permit.into_token())),
            Err(rejected) => Err(rejected),
        };
        match (acquired, self.reference.acquire(dice)) {
            (Ok((is_probe, token)), Ok(permit)) => {
                prop_assert_eq!(is_probe, permit.is_probe);
                self.held.push((token, permit));
            }
            (Err(rejected), Err(wait)) => {
                prop_assert_eq!(rejected.wait(), wait);
                let state = self.reference.state();
                prop_assert_eq!(rejected.state(), state);
                prop_assert_eq!(rejected.retry_in(), retry_in(state, wait));
            }
            (real, wait) => prop_assert!(false, "{:?}, reference {:?}", real, wait),
        }
        Ok(())
    }

    /// Applies the event to both breakers. Returns the real breaker's result, if it returns one.
    #[expect(clippy::option_option, reason = "whether it answers, and what")]
    fn act(&mut self, event: Event) -> Result<Option<Option<Transition>>, TestCaseError> {
        Ok(match event {
            Event::Report(caller, report) => match self.take(caller) {
                Some((token, permit)) => {
                    let real = self.real();
                    let granted = real.resume(token);
                    let counts = self.reference.still_counts(permit);
                    prop_assert_eq!(granted.still_counts(), counts);
                    let answer = granted.report(outcome(report));
                    self.reference.drawn = self.drawn();
                    self.reference.report(permit, report);
                    Some(answer)
                }
                None => None,
            },
            Event::Drop(caller) => self.take(caller).map(|(token, permit)| {
                let answer = self.real().resume(token).cancel();
                self.reference.drawn = self.drawn();
                self.reference.drop_permit(permit);
                answer
            }),
            Event::Renew(caller) => {
                if let Some((token, mut permit)) = self.take(caller) {
                    let (renewed, token) = {
                        let real = self.real();
                        let mut granted = real.resume(token);
                        (granted.renew(), granted.into_token())
                    };
                    prop_assert_eq!(renewed, self.reference.renew(&mut permit));
                    self.held.push((token, permit));
                }
                None
            }
            Event::DropAttempt(caller) => {
                if let Some((token, permit)) = self.take(caller) {
                    drop(self.real().resume(token).failing_when_dropped());
                    self.reference.drawn = self.drawn();
                    self.reference.report(permit, Report::Failure(1));
                }
                None
            }
            Event::Lose(caller) => {
                let _ = self.take(caller);
                None
            }
            Event::Operator(command) => {
                let answer = reference::command(&self.real(), command);
                self.reference.drawn = self.drawn();
                self.reference.command(command);
                Some(answer)
            }
            Event::Restore(asleep) => {
                let answer = restore(&self.real(), asleep);
                self.reference.restore(asleep);
                Some(answer.map_err(|error| TestCaseError::fail(error.to_string()))?)
            }
            Event::RestoreRunning => {
                let answer = self.real().restore_running();
                self.reference.restore_running();
                Some(answer.map_err(|error| TestCaseError::fail(error.to_string()))?)
            }
            Event::Rules(number) => {
                self.rules = number % self.sets.len();
                self.reference.rules = self.sets[self.rules].0;
                None
            }
            _ => None,
        })
    }

    fn take(&mut self, caller: usize) -> Option<(Token<W::Bits>, Permit)> {
        let count = self.held.len();
        (count != 0).then(|| self.held.remove(count - 1 - caller % count))
    }

    /// The open time from now on, in ticks, if it is open: drawn at random now or earlier.
    fn drawn(&self) -> Option<u64> {
        let snapshot = self.real().snapshot();
        let open_for = snapshot.open_for()?.as_millis() as u32;
        let deadline = snapshot.opened_at_ms()?.wrapping_add(open_for);
        let tick = self.reference.rules.grain.tick;
        let stamp = self.reference.now.next_multiple_of(tick);
        let left = deadline.wrapping_sub(stamp as u32);
        (left <= 1 << 31).then_some(u64::from(left) / tick)
    }

    /// Counts transitions by their cause, and events that cause none.
    fn take_note(&mut self, event: Event, before: &Mode) {
        let changed = self.reference.mode != *before;
        let name = match (self.reference.noticed, event) {
            (Some(notice), _) => format!("{:?}", notice.cause),
            (None, Event::Report(_, Report::RetryAfter(_) | Report::TripFor(_)))
                if changed && matches!(self.reference.mode, Mode::Open { .. }) =>
            {
                "late demand".into()
            }
            (None, Event::Rules(_)) => format!("other rules while {}", self.reference.state()),
            _ => return,
        };
        *self.seen.entry(name).or_default() += 1;
    }

    #[expect(clippy::option_option, reason = "whether it answered, and what")]
    fn compare(&self, answer: Option<Option<Transition>>) -> Result<(), TestCaseError> {
        let transition = self.log.pop();
        prop_assert_eq!(self.log.pop(), None, "reported twice");
        prop_assert_eq!(
            transition.as_ref().map(Notice::from),
            self.reference.noticed
        );
        let epoch = self.reference.generation % self.epochs;
        if let Some(transition) = transition {
            prop_assert_eq!(transition.at_ms, self.reference.now as u32);
            prop_assert_eq!(u64::from(transition.epoch), epoch);
        }
        if let Some(answer) = answer {
            prop_assert_eq!(answer, transition);
        }

        let real = self.real();
        let snapshot = real.snapshot();
        prop_assert_eq!(View::from(snapshot), self.reference.view());
        prop_assert_eq!(u64::from(snapshot.epoch()), epoch);
        prop_assert_eq!(real.check(), Ok(()));
        if let Some(remembered) = self.memory.seen_and_failed() {
            let calls = &self.reference.calls;
            let failed = calls.iter().filter(|failed| **failed).count();
            prop_assert_eq!(remembered, (calls.len() as u32, failed as u32));
        }
        Ok(())
    }
}
