//! One state of the world, and what can happen in it: the real breaker beside the reference.

use std::cell::Cell as Slot;

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, Word};
use atomic_breaker::{
    Breaker, Config, Failure, ManualClock, Observer, Outcome, Permit, Rejected, Token, Transition,
};
use tests::reference::{Order, Pass, Reference, Report, Told, View};

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

impl Event {
    /// Whether the breaker takes part; otherwise there is nothing to compare.
    pub(crate) fn asks_the_breaker(self) -> bool {
        !matches!(self, Self::Lose(_) | Self::Pass | Self::StepBack)
    }
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
    heard: Slot<Heard>,
}

/// How often each was told, and the last of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    transitions: u32,
    refused: Option<Rejected>,
    refusals: u32,
    outcome: Option<Outcome>,
    outcomes: u32,
    cancelled: u32,
}

impl Ear {
    fn hear(&self, change: impl FnOnce(&mut Heard)) {
        let mut heard = self.heard.get();
        change(&mut heard);
        self.heard.set(heard);
    }
}

impl Observer for Ear {
    fn transition(&self, transition: &Transition) {
        self.told.set(Some(*transition));
        self.hear(|heard| heard.transitions += 1);
    }

    fn refused(&self, rejected: Rejected) {
        self.hear(|heard| {
            heard.refused = Some(rejected);
            heard.refusals += 1;
        });
    }

    fn outcome(&self, outcome: Outcome) {
        self.hear(|heard| {
            heard.outcome = Some(outcome);
            heard.outcomes += 1;
        });
    }

    fn cancelled(&self) {
        self.hear(|heard| heard.cancelled += 1);
    }
}

type Granted<'a, 'b, W> = Permit<'a, &'b ManualClock, &'b W, (), &'b Ear>;
type Real<'a, W> = Breaker<&'a ManualClock, &'a W, (), &'a Ear>;

impl<B: Bits> World<B> {
    /// Lets something happen in both worlds and compares. `None` where it cannot happen.
    pub(crate) fn after<W: Cell<Bits = B>>(
        &self,
        config: Config,
        event: Event,
    ) -> Option<Result<Self, String>> {
        let mut next = self.clone();
        if !next.time(event)? {
            return Some(Ok(next.aged()));
        }
        let word = W::from(self.bits);
        let clock = ManualClock::starting_at(next.reference.now as u32);
        let ear = Ear::default();
        let real: Real<'_, W> = Breaker::from_parts(&word, config, &clock, (), &ear);

        let outcome = next.act(&real, event);
        next.bits = real.to_bits();
        let outcome = outcome
            .and_then(|heard| next.compare_told::<W>(&ear, heard))
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

    /// Does it in both worlds; answers what the observer must hear besides a transition.
    fn act<W: Cell<Bits = B>>(
        &mut self,
        real: &Real<'_, W>,
        event: Event,
    ) -> Result<Heard, String> {
        let mut heard = Heard::default();
        match event {
            Event::Ask(caller) => {
                heard.refused = self.ask(real, caller)?;
                heard.refusals = u32::from(heard.refused.is_some());
            }
            Event::Tell(caller, report) => {
                if let Some((permit, pass)) = self.take(real, caller) {
                    permit.report(outcome(report));
                    self.reference.hear(pass, report);
                    heard.outcome = Some(outcome(report));
                    heard.outcomes = 1;
                }
            }
            Event::Drop(caller) => {
                if let Some((permit, pass)) = self.take(real, caller) {
                    drop(permit);
                    self.reference.hear(pass, Report::Nothing);
                    heard.cancelled = 1;
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
                    Order::ProbeNow => real.probe_now(),
                }
                self.reference.obey(order);
            }
            Event::Lose(_) | Event::Pass | Event::StepBack => {}
        }
        heard.transitions = u32::from(self.reference.told.is_some());
        Ok(heard)
    }

    fn ask<W: Cell<Bits = B>>(
        &mut self,
        real: &Real<'_, W>,
        caller: usize,
    ) -> Result<Option<Rejected>, String> {
        match (real.acquire(), self.reference.ask()) {
            (Ok(permit), Ok(pass)) if permit.is_probe() == pass.is_probe => {
                self.held[caller] = Some((permit.into_token().into_raw(), pass));
                Ok(None)
            }
            (Err(rejected), Err(wait))
                if rejected.retry_in_ms().map(u64::from) == wait
                    && rejected.state() == self.reference.state() =>
            {
                Ok(Some(rejected))
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

    fn compare_told<W: Cell>(&self, ear: &Ear, expected: Heard) -> Result<(), String> {
        let told = ear.told.get().map(|told| Told {
            from: told.from,
            to: told.to,
            cause: told.cause,
            trips: told.trips.into(),
            open_for: told.open_for_ms.into(),
            longest: told.open_for_ms.into(),
        });
        let epoch = self.reference.generation % (1 << W::EPOCH.1);
        let now = self.reference.now as u32;
        let numbers_fit = ear
            .told
            .get()
            .is_none_or(|told| u64::from(told.epoch) == epoch && told.at_ms == now);
        let heard = ear.heard.get();
        if told == self.reference.told && heard == expected && numbers_fit {
            Ok(())
        } else {
            let reference = self.reference.told;
            Err(format!(
                "told {told:?}, {heard:?}, reference: {reference:?}, {expected:?}"
            ))
        }
    }

    fn compare_snapshot<W: Cell<Bits = B>>(&self, real: &Real<'_, W>) -> Result<(), String> {
        let snapshot = real.snapshot();
        let epoch = self.reference.generation % (1 << W::EPOCH.1);
        let same = View::from(snapshot) == self.reference.view()
            && u64::from(snapshot.epoch()) == epoch
            && real.state() == self.reference.state()
            && real.check().is_ok();
        if same {
            Ok(())
        } else {
            let (view, reference) = (View::from(snapshot), &self.reference);
            Err(format!("{view:?}, reference: {reference:?}"))
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
