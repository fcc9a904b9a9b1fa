// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operation of a call with a time limit: for guards of devices that repair before a probe, whose repair is not
//! part of the operation.

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::Rejected;
use crate::observer::Observer;
use crate::permit::Permit;
use crate::tally::Tally;
use crate::time::TimeBase;
use crate::word::{self, AtomicU32, Peek, Word};

/// The information that a repair needs about the call before which it may run.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ProbeSeen {
    /// The permit's [`trips`](crate::Permit::trips): 0 if the call is no probe.
    pub trips: u8,
    /// `true` if a round of probes begins with this one. An operation that shows nothing leaves the breaker half-open;
    /// the next one is a probe of the same round, and must not reset the device that is about to answer.
    pub is_first: bool,
    /// The round.
    pub round: ProbeRound,
}

/// A round of probes, and when a guard has made one of them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ProbeRound {
    epoch: u32,
    at_ms: u32,
}

impl ProbeSeen {
    /// A call that is no probe.
    pub(crate) const NONE: Self = Self {
        trips: 0,
        is_first: false,
        round: ProbeRound { epoch: 0, at_ms: 0 },
    };
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// [`acquire`](Self::acquire) for a guard that repairs before a probe, and did so last in this round of this outage.
    ///
    /// Callers that do not repair may take each first probe. So a guard whose turn was missed does not wait for the end of
    /// the open time: if another probe has failed since its own, and its own is at least one open time ago, it is admitted.
    pub(crate) fn acquire_repairing(
        &self,
        last: Option<ProbeRound>,
    ) -> Result<(Permit<&Self>, ProbeSeen), Rejected> {
        let mut before = self.to_bits();
        let permit = match self.acquire() {
            Err(_) if self.has_missed_a_turn(last) => {
                self.probe_early();
                before = self.to_bits();
                self.acquire()?
            }
            permit => permit?,
        };
        let ticket = permit.ticket;
        let trips = ticket.trips();
        if trips == 0 {
            return Ok((permit, ProbeSeen::NONE));
        }
        let probe = ProbeSeen {
            trips,
            // After a command that ended the open time, no probe has set the time yet.
            is_first: !ticket.granted.is_same_epoch(before) || Circuit::of(before).time() == 0,
            round: ProbeRound {
                epoch: Circuit::of(ticket.granted).epoch(),
                at_ms: self.clock.now_ms(),
            },
        };
        Ok((permit, probe))
    }

    fn has_missed_a_turn(&self, last: Option<ProbeRound>) -> bool {
        let circuit = Circuit::of(self.to_bits());
        if !circuit.is_open() || circuit.is_demanded() || circuit.trips() < 2 {
            return false;
        }
        last.is_none_or(|last| {
            // Its own probe opened the next epoch; each other takes two. Both words tell apart 16 epochs.
            let epochs = circuit.epoch().wrapping_sub(last.epoch) % 16;
            let ago_ms = self.clock.now_ms().wrapping_sub(last.at_ms);
            epochs > 2 && ago_ms >= W::Bits::ms(circuit.open_for())
        })
    }
}

/// The operation of a call: a closure that makes its future, or one that is [`ToldProbe`].
#[doc(hidden)]
pub trait TimedOperation {
    /// The future that is made.
    type Future: Future;

    /// `true` if it needs to know the probe.
    const IS_TOLD: bool;

    /// The round in which it was repaired last in this outage.
    fn last_round(&self) -> Option<ProbeRound>;

    /// The limit in milliseconds, longer where a probe may take longer.
    fn limit_ms(&self, probe: ProbeSeen, limit_ms: u64) -> u64;

    /// Returns a function that makes the future, and one that returns whether a repair has ended since it was last
    /// asked.
    fn told(self, probe: ProbeSeen) -> (impl FnOnce() -> Self::Future, impl Fn() -> bool);
}

impl<F: Future, M: FnOnce() -> F> TimedOperation for M {
    type Future = F;
    const IS_TOLD: bool = false;

    #[inline]
    fn last_round(&self) -> Option<ProbeRound> {
        None
    }

    #[inline]
    fn limit_ms(&self, _: ProbeSeen, limit_ms: u64) -> u64 {
        limit_ms
    }

    #[inline]
    fn told(self, _: ProbeSeen) -> (impl FnOnce() -> F, impl Fn() -> bool) {
        (self, || false)
    }
}

/// Marks the end of a repair, so that only the operation behind it is timed.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Repaired(AtomicU32);

impl Repaired {
    /// Nothing was repaired.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// A repair has ended.
    pub fn note(&self) {
        word::store(&self.0, 1);
    }

    fn take(&self) -> bool {
        let is_noted = word::load_acquire(&self.0) != 0;
        word::store(&self.0, 0);
        is_noted
    }
}

/// An operation that is given the probe, so that it repairs first.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ToldProbe<'a, M> {
    /// Makes the future. Code that blocks here uses up none of the limit.
    pub make: M,
    /// The mark by which `make` and its future note that a repair has ended.
    pub repaired: &'a Repaired,
    /// The round in which the device was repaired last in this outage.
    pub last_round: Option<ProbeRound>,
    /// The extra time of a probe, in milliseconds; without a limit, its whole time. `None`: it may take no longer than
    /// other calls.
    pub repair_ms: Option<u64>,
}

impl<F: Future, M: FnOnce(ProbeSeen) -> F> TimedOperation for ToldProbe<'_, M> {
    type Future = F;
    const IS_TOLD: bool = true;

    fn last_round(&self) -> Option<ProbeRound> {
        self.last_round
    }

    fn limit_ms(&self, probe: ProbeSeen, limit_ms: u64) -> u64 {
        match self.repair_ms {
            Some(repair_ms) if probe.trips > 0 && limit_ms == u64::MAX => repair_ms,
            Some(repair_ms) if probe.trips > 0 => limit_ms.saturating_add(repair_ms),
            _ => limit_ms,
        }
    }

    fn told(self, probe: ProbeSeen) -> (impl FnOnce() -> F, impl Fn() -> bool) {
        let Self { make, repaired, .. } = self;
        (move || make(probe), || repaired.take())
    }
}
