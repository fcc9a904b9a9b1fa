//! One state of the world, and what can happen in it: the real breaker beside the reference.

use std::cell::Cell as Slot;

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, Word};
use atomic_breaker::{Breaker, Failure, ManualClock, Observer, Outcome, Permit, Token, Transition};
use tests::reference::{Mode, Order, Pass, Reference, Report, Told};

/// A word that the search can make of bits, and whose documented layout it knows.
pub(crate) trait Cell: Word<Bits: Into<u64> + std::hash::Hash> + From<Self::Bits> {
    const WIDTH: u32;
    const EPOCH: (u32, u32);
    const TIME: u32;
}

impl Cell for AtomicU32 {
    const WIDTH: u32 = 32;
    const EPOCH: (u32, u32) = (10, 4);
    const TIME: u32 = 17;
}

impl Cell for AtomicU64 {
    const WIDTH: u32 = 64;
    const EPOCH: (u32, u32) = (18, 9);
    const TIME: u32 = 32;
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Ask(usize),
    Tell(usize, Report),
    /// The caller drops its permit.
    Drop(usize),
    /// The caller forgets its token.
    Lose(usize),
    Operator(Order),
    /// One millisecond passes.
    Pass,
    /// The clock steps back one millisecond.
    StepBack,
}

/// A permit in both worlds.
pub(crate) type Held<B> = ((B, u32), Pass);

/// The real breaker's word, its callers' tokens, and the reference.
#[derive(Clone)]
pub(crate) struct World<B> {
    pub(crate) bits: B,
    pub(crate) held: [Option<Held<B>>; 3],
    pub(crate) reference: Reference,
    /// How far the clock has stepped back from the latest time.
    pub(crate) behind: u64,
    /// Permits that have lived through more transitions are taken away.
    pub(crate) oldest_permit: u64,
}

/// Keeps what the breaker tells during one operation.
#[derive(Default)]
struct Ear {
    told: Slot<Option<Transition>>,
    times: Slot<u32>,
}

impl Observer for Ear {
    fn transition(&self, transition: &Transition) {
        self.told.set(Some(*transition));
        self.times.set(self.times.get() + 1);
    }
}

type Granted<'a, 'b, W> = Permit<'a, &'b ManualClock, &'b W, (), &'b Ear>;
type Real<'a, W> = Breaker<&'a ManualClock, &'a W, (), &'a Ear>;

impl<B: Bits> World<B> {
    /// Lets something happen in both worlds and compares. `None` where it cannot happen.
    pub(crate) fn after<W: Cell<Bits = B>>(&self, event: Event) -> Option<Result<Self, String>> {
        let mut next = self.clone();
        if !next.time(event)? {
            return Some(Ok(next.aged()));
        }
        let word = W::from(self.bits);
        let clock = ManualClock::starting_at(next.reference.now as u32);
        let ear = Ear::default();
        let config = next.reference.rules.config();
        let real: Real<'_, W> = Breaker::from_parts(&word, config, &clock, (), &ear);

        let outcome = next.act(&real, event);
        next.bits = real.to_bits();
        let outcome = outcome
            .and_then(|()| next.compare_told(&ear, real.snapshot().epoch()))
            .and_then(|()| next.compare_snapshot(&real));
        Some(outcome.map(|()| next.aged()))
    }

    /// Whether the event can happen (`None` if not), and whether it concerns the breaker.
    fn time(&mut self, event: Event) -> Option<bool> {
        match event {
            Event::Pass => {
                self.reference.now += 1;
                self.behind = self.behind.saturating_sub(1);
                Some(false)
            }
            Event::StepBack if self.behind == 0 => {
                self.reference.now -= 1;
                self.behind = 1;
                Some(false)
            }
            Event::StepBack => None,
            Event::Ask(caller) if self.held[caller].is_some() => None,
            Event::Tell(caller, _) | Event::Drop(caller) if self.held[caller].is_none() => None,
            Event::Lose(caller) => self.held[caller].take().map(|_| false),
            _ => Some(true),
        }
    }

    fn act<W: Cell<Bits = B>>(&mut self, real: &Real<'_, W>, event: Event) -> Result<(), String> {
        match event {
            Event::Ask(caller) => return self.ask(real, caller),
            Event::Tell(caller, report) => {
                if let Some((permit, pass)) = self.take(real, caller) {
                    permit.report(outcome(report));
                    self.reference.hear(pass, report);
                }
            }
            Event::Drop(caller) => {
                if let Some((permit, pass)) = self.take(real, caller) {
                    drop(permit);
                    self.reference.hear(pass, Report::Nothing);
                }
            }
            Event::Operator(order) => {
                match order {
                    Order::Trip => real.trip(),
                    Order::ForceOpen => real.force_open(),
                    Order::Release => real.release(),
                    Order::Reset => real.reset(),
                    Order::Disable => real.disable(),
                    Order::Enable => real.enable(),
                }
                self.reference.obey(order);
            }
            Event::Lose(_) | Event::Pass | Event::StepBack => {}
        }
        Ok(())
    }

    fn ask<W: Cell<Bits = B>>(&mut self, real: &Real<'_, W>, caller: usize) -> Result<(), String> {
        match (real.acquire(), self.reference.ask()) {
            (Ok(permit), Ok(pass)) if permit.is_probe() == pass.is_probe => {
                self.held[caller] = Some((permit.into_token().into_raw(), pass));
                Ok(())
            }
            (Err(rejected), Err(wait))
                if rejected.retry_in_ms().map(u64::from) == wait
                    && rejected.state() == self.reference.state() =>
            {
                Ok(())
            }
            (real, reference) => Err(format!("asked: {real:?}, reference: {reference:?}")),
        }
    }

    fn take<'a, 'b, W: Cell<Bits = B>>(
        &mut self,
        real: &'a Real<'b, W>,
        caller: usize,
    ) -> Option<(Granted<'a, 'b, W>, Pass)> {
        let ((granted, started), pass) = self.held[caller].take()?;
        Some((real.resume(Token::from_raw(granted, started)), pass))
    }

    fn compare_told(&self, ear: &Ear, epoch: u16) -> Result<(), String> {
        let told = ear.told.get().map(|told| Told {
            from: told.from,
            to: told.to,
            cause: told.cause,
            trips: told.trips.into(),
            open_for: told.open_for_ms.into(),
        });
        let numbers_fit = ear
            .told
            .get()
            .is_none_or(|told| told.epoch == epoch && told.at_ms == self.reference.now as u32);
        if told == self.reference.told && ear.times.get() <= 1 && numbers_fit {
            Ok(())
        } else {
            let (times, expected) = (ear.times.get(), self.reference.told);
            Err(format!(
                "told {times} times, last {told:?}, reference: {expected:?}"
            ))
        }
    }

    fn compare_snapshot<W: Cell<Bits = B>>(&self, real: &Real<'_, W>) -> Result<(), String> {
        let snapshot = real.snapshot();
        let reference = &self.reference;
        let (failures, in_flight, successes) = match &reference.mode {
            Mode::Closed { failures, .. } => (*failures, 0, 0),
            Mode::Probing { out, successes, .. } => (0, out.len(), *successes),
            _ => (0, 0, 0),
        };
        let same = snapshot.state() == reference.state()
            && real.state() == reference.state()
            && u32::from(snapshot.failures()) == failures
            && usize::from(snapshot.probes_in_flight()) == in_flight
            && u32::from(snapshot.successes()) == successes
            && u32::from(snapshot.trips()) == reference.trips
            && snapshot.retry_in().map(|time| time.as_millis() as u64) == reference.wait()
            && real.check().is_ok();
        if same {
            Ok(())
        } else {
            Err(format!("{snapshot:?}, reference: {reference:?}"))
        }
    }

    /// Takes permits away that have lived through too many transitions.
    fn aged(mut self) -> Self {
        let generation = self.reference.generation;
        for held in &mut self.held {
            if held.is_some_and(|(_, pass)| generation - pass.generation > self.oldest_permit) {
                *held = None;
            }
        }
        self
    }
}

fn outcome(report: Report) -> Outcome {
    match report {
        Report::Success => Outcome::Success,
        Report::Failure(weight) => Failure::weighing(weight as u16).into(),
        Report::TripAtOnce => Failure::tripping().into(),
        Report::RetryAfter(time) => {
            Failure::retry_after(std::time::Duration::from_millis(time)).into()
        }
        Report::Nothing => Outcome::Ignored,
    }
}
