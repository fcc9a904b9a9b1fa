// SPDX-License-Identifier: MIT OR Apache-2.0
//! One state of the world, with the real breaker beside the reference, and the events in it.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, Ticks, Word};
use atomic_breaker::{Breaker, Permit, Rejected, Token, Transition};
use tests::reference::{self, Notice, Reference, View, outcome, retry_in};

use super::event::Event;
use super::listener::{Listener, Notices, Still};

/// A word that the search can make from bits, with a documented layout.
pub(crate) trait Cell: Word<Bits: std::hash::Hash> + From<Self::Bits> {
    const WIDTH: u32;
    /// The first bit of the field, and its width.
    const TIME: (u32, u32);
    const EPOCH: (u32, u32);

    /// The time in a word.
    fn time_in(word: Self::Bits) -> u64 {
        word.to_u64() >> Self::TIME.0 & ((1 << Self::TIME.1) - 1)
    }
}

impl<const N: u32> Cell for Ticks<AtomicU32, N> {
    const WIDTH: u32 = 32;
    const TIME: (u32, u32) = (13, 15);
    const EPOCH: (u32, u32) = (28, 4);
}

impl Cell for AtomicU64 {
    const WIDTH: u32 = 64;
    const TIME: (u32, u32) = (23, 32);
    const EPOCH: (u32, u32) = (55, 9);
}

/// Rules for both worlds.
pub(crate) struct RuleSet<B> {
    pub(crate) plain: reference::Rules,
    pub(crate) real: atomic_breaker::Rules<B>,
}

/// A permit in both worlds.
pub(crate) type Held<B> = ((B, u32), reference::Permit);

/// The real breaker's word, its callers' tokens, and the reference.
#[derive(Clone)]
pub(crate) struct World<B> {
    pub(crate) bits: B,
    pub(crate) held: [Option<Held<B>>; 3],
    pub(crate) reference: Reference,
    /// The rules that are in force.
    pub(crate) rules: usize,
    /// The distance by which the clock has stepped back from the latest time.
    pub(crate) behind: u64,
    /// Permits that have lived through more transitions are taken away.
    pub(crate) oldest_permit: u64,
}

type Real<'a, W> =
    Breaker<&'a Still, &'a W, (), &'a Listener, &'a atomic_breaker::Rules<<W as Word>::Bits>>;

/// The expected notifications of the observer besides transitions, and the breaker's result, if it returns one.
type Acted = (Notices, Option<Option<Transition>>);

impl<B: Bits> World<B> {
    /// Lets an event happen to both breakers, makes `next` the state after it, and compares. `None` if the
    /// event cannot happen.
    pub(crate) fn after<W: Cell<Bits = B>>(
        &self,
        sets: &[RuleSet<B>],
        event: Event,
        next: &mut Self,
    ) -> Option<Result<(), String>> {
        // Most events of a world cannot happen, and copying it takes longer than they do.
        if !self.can_happen(event) {
            return None;
        }
        next.clone_from(self);
        if !event.concerns_the_breaker() {
            next.pass_by(event);
            return Some(Ok(()));
        }
        if let Event::Rules(number) = event {
            next.rules = number;
            next.reference.rules = sets[number].plain;
        }
        let word = W::from(self.bits);
        let clock = Still {
            ms: next.reference.now as u32,
            dice: match event {
                Event::Acquire(_, dice) => dice,
                _ => 0,
            },
        };
        let listener = Listener::default();
        let rules = &sets[next.rules].real;
        let real: Real<'_, W> = Breaker::from_parts(&word, rules, &clock, (), &listener);

        let outcome = next.act(&real, event);
        next.bits = real.to_bits();
        let outcome = outcome
            .and_then(|acted| next.compare_notices::<W>(&listener, acted))
            .and_then(|()| next.compare_snapshot(&real));
        next.forget_old_permits();
        Some(outcome)
    }

    fn can_happen(&self, event: Event) -> bool {
        match event {
            Event::StepBack => self.behind == 0,
            Event::Acquire(caller, _) => self.held[caller].is_none(),
            Event::Report(caller, _)
            | Event::Renew(caller)
            | Event::Drop(caller)
            | Event::Lose(caller) => self.held[caller].is_some(),
            Event::Rules(number) => number != self.rules,
            _ => true,
        }
    }

    /// An event in which the breaker takes no part.
    fn pass_by(&mut self, event: Event) {
        match event {
            Event::Pass => {
                self.reference.now += 1;
                self.behind = self.behind.saturating_sub(1);
            }
            Event::StepBack => {
                self.reference.now -= 1;
                self.behind = 1;
            }
            Event::Lose(caller) => self.held[caller] = None,
            _ => unreachable!("the breaker takes part in {event:?}"),
        }
    }

    /// Applies the event to both breakers.
    fn act<W: Cell<Bits = B>>(
        &mut self,
        real: &Real<'_, W>,
        event: Event,
    ) -> Result<Acted, String> {
        self.reference.noticed = None;
        let mut notices = Notices::default();
        let mut answer = None;
        match event {
            Event::Acquire(caller, dice) => {
                notices.rejected = self.acquire(real, caller, dice)?;
                notices.rejections = u32::from(notices.rejected.is_some());
            }
            Event::Report(caller, report) => {
                if let Some((granted, permit)) = self.take(real, caller) {
                    let counts = self.reference.still_counts(permit);
                    if granted.still_counts() != counts {
                        return Err(format!("counts: {}, reference: {counts}", !counts));
                    }
                    answer = Some(granted.report(outcome(report)));
                    let counted = self.reference.report(permit, report);
                    notices.outcome = Some(outcome(counted));
                    notices.outcomes = 1;
                }
            }
            Event::Renew(caller) => {
                if let Some((mut granted, mut permit)) = self.take(real, caller) {
                    let answers = (granted.renew(), self.reference.renew(&mut permit));
                    self.held[caller] = Some((granted.into_token().into_raw(), permit));
                    if answers.0 != answers.1 {
                        return Err(format!("renewed: {}, reference: {}", answers.0, answers.1));
                    }
                }
            }
            Event::Drop(caller) => {
                if let Some((granted, permit)) = self.take(real, caller) {
                    drop(granted);
                    self.reference.drop_permit(permit);
                    notices.cancelled = 1;
                }
            }
            Event::Operator(command) => {
                answer = Some(reference::command(real, command));
                self.reference.command(command);
            }
            Event::Restore(asleep) => {
                let restored = match asleep {
                    None => real.restore(),
                    Some(ms) => real.restore_after(Duration::from_millis(ms)),
                };
                answer = Some(restored.map_err(|error| error.to_string())?);
                self.reference.restore(asleep);
            }
            Event::RestoreRunning => {
                answer = Some(real.restore_running().map_err(|error| error.to_string())?);
                self.reference.restore_running();
            }
            Event::Rules(_) | Event::Lose(_) | Event::Pass | Event::StepBack => {}
        }
        notices.transitions = u32::from(self.reference.noticed.is_some());
        Ok((notices, answer))
    }

    fn acquire<W: Cell<Bits = B>>(
        &mut self,
        real: &Real<'_, W>,
        caller: usize,
        dice: u32,
    ) -> Result<Option<Rejected>, String> {
        let answers = (real.acquire(), self.reference.acquire(dice));
        let state = self.reference.state();
        match answers {
            (Ok(granted), Ok(permit)) if granted.is_probe() == permit.is_probe => {
                self.held[caller] = Some((granted.into_token().into_raw(), permit));
                Ok(None)
            }
            (Err(rejected), Err(wait))
                if rejected.wait() == wait
                    && rejected.state() == state
                    && rejected.retry_in() == retry_in(state, wait) =>
            {
                Ok(Some(rejected))
            }
            (real, reference) => Err(format!("acquired: {real:?}, reference: {reference:?}")),
        }
    }

    fn take<'a, 'b, W: Cell<Bits = B>>(
        &mut self,
        real: &'a Real<'b, W>,
        caller: usize,
    ) -> Option<(Permit<&'a Real<'b, W>>, reference::Permit)> {
        let ((granted, started), permit) = self.held[caller].take()?;
        Some((real.resume(Token::from_raw(granted, started)), permit))
    }

    fn compare_notices<W: Cell>(
        &self,
        listener: &Listener,
        (expected, answer): Acted,
    ) -> Result<(), String> {
        let transition = listener.transition.get();
        let seen = transition.as_ref().map(Notice::from);
        let epoch = self.reference.generation % (1 << W::EPOCH.1);
        let now = self.reference.now as u32;
        let numbers_fit =
            transition.is_none_or(|made| u64::from(made.epoch) == epoch && made.at_ms == now);
        let answer_fits = answer.is_none_or(|answer| answer == transition);
        let notices = listener.notices.get();
        if seen == self.reference.noticed && notices == expected && numbers_fit && answer_fits {
            Ok(())
        } else {
            let reference = self.reference.noticed;
            Err(format!(
                "notified of {transition:?}, answered {answer:?}, {notices:?},\n\
                 reference: {reference:?} in epoch {epoch} at {now}, {expected:?}"
            ))
        }
    }

    fn compare_snapshot<W: Cell<Bits = B>>(&self, real: &Real<'_, W>) -> Result<(), String> {
        let snapshot = real.snapshot();
        let epoch = self.reference.generation % (1 << W::EPOCH.1);
        let same = View::from(snapshot) == self.reference.view()
            && u64::from(snapshot.epoch()) == epoch
            && real.state() == snapshot.state()
            && real.check().is_ok();
        if same {
            Ok(())
        } else {
            let (view, expected) = (View::from(snapshot), self.reference.view());
            let reference = &self.reference;
            Err(format!("{view:?}\nreference: {expected:?}\n{reference:?}"))
        }
    }

    /// Takes permits away that have lived through too many transitions.
    fn forget_old_permits(&mut self) {
        let generation = self.reference.generation;
        for held in &mut self.held {
            if held.is_some_and(|(_, permit)| generation - permit.generation > self.oldest_permit) {
                *held = None;
            }
        }
    }
}
