// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker behind the C interface and the reference side by side.

use std::collections::HashMap;
use std::marker::PhantomData;

use atomic_breaker::word::{Bits as _, Retained, Word};
use atomic_breaker::{Breaker, Cause, Clock as _, Config, ManualClock};
use atomic_breaker_c::at::At;
use atomic_breaker_c::types::{CRules, CToken, UNTIL_RELEASED};
use proptest::prelude::*;
use tests::reference::{Permit, Reference, Report, Rules, Trip, View, retry_in};

use super::event::Event;
use super::given::{bytes, checked, settings};
use super::record::{self, Record};
use super::through::Side;

/// The random choices that `passing.rs` moves.
pub(crate) struct Chance {
    pub(crate) clock: ManualClock,
}

/// For `passing.rs`, which knows breakers with memory.
pub(crate) trait Memory {}
impl Memory for () {}

/// A breaker that only C changes, and the reference; and the permits that both granted.
pub(crate) struct Pair<W: Word, T> {
    pub(super) kept: Box<Retained<W>>,
    pub(crate) clock: Chance,
    pub(super) sets: Vec<(Rules, Box<CRules<W::Bits>>)>,
    pub(super) rules: usize,
    pub(crate) reference: Reference,
    /// The tokens as bytes, because `passing.rs` knows nothing of them.
    pub(crate) held: Vec<(Vec<u8>, Permit)>,
    /// Permits alias after this many transitions.
    epochs: u64,
    pub(crate) seen: HashMap<String, usize>,
    /// For other languages, if they ask.
    pub(super) record: Option<Record>,
    memory: PhantomData<T>,
}

/// The start of the reference's own time, a multiple of every wrap: a history cannot step back to 0.
const ORIGIN: u64 = 1 << 44;

impl<W: Word<Bits: Side<Word = W>> + Default> Pair<W, ()> {
    pub(crate) fn new(rules: &[Rules], start: u32) -> Result<Self, String> {
        let sets = rules.iter().map(|rules| {
            let grain = rules.grain.wrapping();
            checked(&settings(rules)).map(|c| (Rules { grain, ..*rules }, c))
        });
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let kept = Box::new(Retained::over(W::default()));
        kept.set_mark(if size_of::<W>() == 4 { 6 } else { 0 });
        Ok(Self {
            kept,
            clock: Chance {
                clock: ManualClock::starting_at(start),
            },
            reference: Reference::new(sets[0].0, ORIGIN + u64::from(start)),
            rules: 0,
            sets,
            held: Vec::new(),
            seen: HashMap::new(),
            record: None,
            epochs: if size_of::<W>() == 4 { 16 } else { 512 },
            memory: PhantomData,
        })
    }

    pub(super) fn rules(&self) -> *const CRules<W::Bits> {
        &raw const *self.sets[self.rules].1
    }

    pub(super) fn now_ms(&self) -> u32 {
        self.clock.clock.now_ms()
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
        match event {
            Event::Acquire(_) => self.acquire()?,
            Event::Advance(_)
            | Event::AdvanceToDeadline(_)
            | Event::AdvanceToEdge(..)
            | Event::AdvanceToWrap(..)
            | Event::StepBack(_) => {
                self.pass_time(event);
                self.did(|| r#""look""#.to_owned());
            }
            _ => {
                if let Some(has_changed) = self.act(event)? {
                    prop_assert_eq!(has_changed, self.reference.noticed.is_some(), "{:?}", event);
                }
            }
        }
        self.compare()?;
        self.note();
        if let Some(notice) = self.reference.noticed {
            *self.seen.entry(format!("{:?}", notice.cause)).or_default() += 1;
        }
        if let Some(rare) = self.rare(event) {
            *self.seen.entry(rare.into()).or_default() += 1;
        }
        let (generation, epochs) = (self.reference.generation, self.epochs);
        self.held
            .retain(|(_, permit)| generation - permit.generation < epochs);
        Ok(())
    }

    /// The effect of the event, if it is rarer than each cause of a transition.
    fn rare(&self, event: Event) -> Option<&'static str> {
        let (rules, cause) = (&self.reference.rules, self.reference.noticed?.cause);
        match (cause, event, rules.trip) {
            (Cause::FailureLimit, _, Trip::Lasting(..)) => Some("a row that lasted"),
            (Cause::RetryAfter, Event::Report(_, Report::RetryAfter(_)), _) => {
                Some("a hint that was weighed")
            }
            (Cause::ProbesSucceeded, ..) if rules.growth.is_some() && rules.returning.is_none() => {
                Some("trips that are kept")
            }
            _ => None,
        }
    }

    fn acquire(&mut self) -> Result<(), TestCaseError> {
        let now_ms = self.now_ms();
        // What the library draws at this millisecond.
        let dice = At { now_ms, entropy: 0 }.random();
        let permit = W::Bits::acquire(self.kept.word(), self.rules(), now_ms);
        match self.reference.acquire(dice) {
            Ok(granted) => {
                prop_assert!(permit.admitted);
                let trips = if granted.is_probe {
                    self.reference.trips.max(1)
                } else {
                    0
                };
                prop_assert_eq!(W::Bits::trips(&raw const permit.token), trips);
                self.did(|| record::admitted(granted.number, trips));
                self.held.push((bytes(permit.token), granted));
            }
            Err(wait) => {
                prop_assert!(!permit.admitted);
                let wait = retry_in(self.reference.state(), wait);
                let wait = wait.map_or(UNTIL_RELEASED, |time| time.as_millis() as u32);
                prop_assert_eq!(permit.wait_ms, wait);
                self.did(|| record::rejected(wait));
                prop_assert!(permit.token == CToken::default());
            }
        }
        Ok(())
    }

    pub(super) fn bits(&self) -> u64 {
        let breaker = Breaker::over(self.kept.word(), Config::new(), &self.clock.clock);
        breaker.to_bits().to_u64()
    }

    /// The word as the core sees it.
    pub(super) fn view(&self) -> atomic_breaker::Snapshot {
        let config = tests::reference::Rules::config(&self.sets[self.rules].0);
        let rules = atomic_breaker::Rules::<W::Bits>::try_new(config)
            .unwrap_or_else(|_| atomic_breaker::Rules::new(Config::new()));
        Breaker::from_parts(self.kept.word(), rules, &self.clock.clock, (), ()).snapshot()
    }

    /// The open time from now on, in ticks, if it is open: drawn at random now or earlier.
    pub(super) fn drawn(&self) -> Option<u64> {
        let snapshot = self.view();
        let open_for = snapshot.open_for()?.as_millis() as u32;
        let deadline = snapshot.opened_at_ms()?.wrapping_add(open_for);
        let tick = self.reference.rules.grain.tick;
        let stamp = self.reference.now.next_multiple_of(tick);
        let left = deadline.wrapping_sub(stamp as u32);
        (left <= 1 << 31).then_some(u64::from(left) / tick)
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let snapshot = self.view();
        let expected = self.reference.view();
        prop_assert_eq!(View::from(snapshot), expected);
        let epoch = self.reference.generation % self.epochs;
        prop_assert_eq!(u64::from(snapshot.epoch()), epoch);

        // What C sees.
        let seen = W::Bits::snapshot(self.kept.word(), self.rules(), self.now_ms());
        let state = expected.state as u32;
        prop_assert_eq!(
            W::Bits::state(self.kept.word(), self.rules(), self.now_ms()) as u32,
            state
        );
        prop_assert_eq!(
            (seen.state, seen.failures, seen.trips, u64::from(seen.epoch)),
            (state, expected.failures, expected.trips, epoch)
        );
        prop_assert_eq!(seen.wait_ms, wait_ms(&expected));
        Ok(())
    }

    /// Notes what an event does and what is answered, if there is a recorder.
    pub(super) fn did(&mut self, what: impl FnOnce() -> String) {
        if let Some(record) = &mut self.record {
            record.did = what();
        }
    }

    /// Notes what the breaker shows, once it has been compared.
    fn note(&mut self) {
        let Some(mut record) = self.record.take() else {
            return;
        };
        let view = self.reference.view();
        let epoch = self.reference.generation % self.epochs;
        record.shows(self.now_ms(), self.bits(), view, epoch, wait_ms(&view));
        self.record = Some(record);
    }
}

/// The wait that C is given.
fn wait_ms(view: &View) -> u32 {
    match (view.wait, view.retry_in) {
        (None, _) => 0,
        (Some(_), Some(time)) => time.as_millis() as u32,
        (Some(_), None) => UNTIL_RELEASED,
    }
}
