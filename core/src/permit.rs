// SPDX-License-Identifier: MIT OR Apache-2.0
//! The right to one call: reported once, given back when dropped.

#![expect(
    clippy::inline_always,
    reason = "where the outcome is a constant, as it mostly is, the others take no code"
)]

use core::fmt;
use core::mem::ManuallyDrop;

use crate::breaker::{AnyBreaker, BitsOf};
use crate::circuit::Circuit;
use crate::error::Rejected;
use crate::observer::Transition;
use crate::outcome::{AnyError, Classify, Failure, Outcome};
use crate::token::{Ticket, Token};

/// The right to one call. Report how it went; dropping it cancels, and gives a probe's slot back.
///
/// `H` leads to the breaker: a reference, or with the feature `alloc` an `Arc`, for permits that are owned, for example
/// by a spawned task. The rest takes two registers.
///
/// ```
/// use atomic_breaker::{Breaker, Config, Failure, ManualClock};
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new(), &clock);
///
/// let permit = breaker.acquire()?;
/// match "41".parse::<u32>() {
///     Ok(_) => permit.success(),
///     Err(_) => permit.report(Failure::with_weight(2)),
/// };
/// # Ok::<(), atomic_breaker::Rejected>(())
/// ```
///
/// # Dropped
///
/// A permit that is dropped without a report, or [cancelled](Self::cancel), says nothing about the resource, as long as
/// it is young. A probe that is dropped after the [`cancel_limit`](crate::Config::cancel_limit) has failed, and if
/// [`slow_call`](crate::Config::slow_call) is set, a call that is dropped after that limit counts as slow.
///
/// An [`Attempt`] that is dropped has failed.
#[must_use = "report how the call went: a permit that is dropped counts as cancelled, an attempt as failed"]
pub struct Permit<H: AnyBreaker, const FAILS_WHEN_DROPPED: bool = false> {
    /// Taken when the permit ends, so that the drop finds it only if nothing was reported.
    handle: Option<H>,
    pub(crate) ticket: Ticket<BitsOf<H>>,
}

/// The right to one call that counts as failed when it is dropped without a report: a permit made
/// [`failing_when_dropped`](Permit::failing_when_dropped), for code that returns early with `?`.
///
/// In an `async` function, dropping the future drops the attempt, too, whether because of a timeout or because the
/// result is no longer wanted: both then count as failures. [`Breaker::call_async`](crate::Breaker::call_async) tells
/// such drops apart from errors.
pub type Attempt<H> = Permit<H, true>;

impl<H: AnyBreaker> Permit<H> {
    /// [`Breaker::acquire`](crate::Breaker::acquire) for a permit that owns its handle to the breaker.
    #[inline]
    pub fn acquire(handle: H) -> Result<Self, Rejected> {
        let ticket = handle.as_breaker().admit()?;
        Ok(Self::new(handle, ticket))
    }

    #[inline]
    pub(crate) const fn new(handle: H, ticket: Ticket<BitsOf<H>>) -> Self {
        Self {
            handle: Some(handle),
            ticket,
        }
    }

    /// A permit that counts as failed when it is dropped without a report: for code that returns early with `?` or `return`
    /// when something goes wrong.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock};
    ///
    /// fn first_number(
    ///     breaker: &Breaker<ManualClock>,
    ///     answer: &str,
    /// ) -> Result<u32, Box<dyn std::error::Error>> {
    ///     let attempt = breaker.acquire()?.failing_when_dropped();
    ///     let number = answer.split(' ').next().ok_or("empty")?.parse()?;
    ///     attempt.success();
    ///     Ok(number)
    /// }
    ///
    /// let breaker = Breaker::new(Config::new(), ManualClock::new());
    /// assert!(first_number(&breaker, "x").is_err());
    /// assert_eq!(breaker.snapshot().failures(), 1);
    /// ```
    #[inline]
    pub fn failing_when_dropped(mut self) -> Attempt<H> {
        Permit {
            handle: self.handle.take(),
            ticket: self.ticket,
        }
    }

    /// The permit without its breaker, to be reported elsewhere.
    #[inline]
    pub fn into_token(mut self) -> Token<BitsOf<H>> {
        self.handle = None;
        Token(self.ticket)
    }
}

impl<H: AnyBreaker, const FAILS_WHEN_DROPPED: bool> Permit<H, FAILS_WHEN_DROPPED> {
    /// The call succeeded. Like all reports, returns the transition that this caused, if any.
    #[inline]
    pub fn success(self) -> Option<Transition> {
        self.report(Outcome::Success)
    }

    /// The resource answered a ping, or a call of another instance: a success that counts as others do, but no observer
    /// or tally is notified of a call.
    pub fn success_elsewhere(self) -> Option<Transition> {
        let (handle, ticket) = self.into_parts()?;
        let breaker = handle.as_breaker();
        breaker.succeed_elsewhere(ticket).made(&breaker.clock)
    }

    /// The call failed: a failure of weight 1.
    #[inline]
    pub fn failure(self) -> Option<Transition> {
        self.report(Failure::new())
    }

    /// The call ended with an [`Outcome`] or a [`Failure`].
    #[inline(always)]
    pub fn report(self, outcome: impl Into<Outcome>) -> Option<Transition> {
        let (handle, ticket) = self.into_parts()?;
        let breaker = handle.as_breaker();
        breaker.report(ticket, outcome.into()).made(&breaker.clock)
    }

    /// The call ended with a result: `Ok` is a success, `Err` a failure of weight 1.
    #[inline]
    pub fn record<R, E>(self, result: &Result<R, E>) -> Option<Transition> {
        self.report(AnyError.classify(result))
    }

    /// Ends the permit without a report, as dropping one does that is no [`Attempt`]. One that was held for too long may
    /// count as a failure.
    #[inline]
    pub fn cancel(self) -> Option<Transition> {
        let (handle, ticket) = self.into_parts()?;
        let breaker = handle.as_breaker();
        breaker.cancel(ticket).made(&breaker.clock)
    }

    /// Starts the permit again, as if it had just been granted: for callers that are admitted some time before their
    /// call begins. A probe keeps its slot for another lease. Returns whether the call may be made under this permit:
    /// `false`, and nothing changes, if the state has changed since, or the slot has gone to another probe. A permit that
    /// a disabled breaker granted may be used as long as the breaker stays disabled, although its report counts nowhere.
    pub fn renew(&mut self) -> bool {
        let Some(handle) = &self.handle else {
            return false;
        };
        match handle.as_breaker().renew(self.ticket) {
            Some(ticket) => {
                self.ticket = ticket;
                true
            }
            None => false,
        }
    }

    /// Returns the handle that leads to the breaker, while nothing was reported.
    pub const fn handle(&self) -> Option<&H> {
        self.handle.as_ref()
    }

    /// Returns whether the breaker's word is unchanged since the permit was granted: one load. For failures that
    /// several calls share, such as the loss of their connection: of the calls in flight, the first one that reports
    /// still finds the word unchanged; the others find its failure, unless only a tally remembers it.
    pub fn is_unchanged(&self) -> bool {
        let handle = self.handle.as_ref();
        handle.is_some_and(|handle| handle.as_breaker().to_bits() == self.ticket.granted)
    }

    /// Returns whether a report would still count: one load. `false` if the state has changed since the permit was granted,
    /// or if the slot of this probe has gone to another one; and as long as the breaker is disabled, since it learns nothing
    /// then. A report says itself only which transition it has caused, if any.
    ///
    /// Asked just before the report, for those who count or log what the breaker has learned: between the two, another caller
    /// may still change the state. Two reports have an effect although they come too late: the success of a probe that lost
    /// its slot counts towards closing, as long as it is still half-open; and the pause that a
    /// [failure asks for](Failure::retry_after) may keep the breaker open longer, if it has just opened.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let breaker = Breaker::new(Config::new(), &clock);
    /// let slow = breaker.acquire()?;
    /// assert!(slow.still_counts());
    /// breaker.trip();
    /// assert!(!slow.still_counts());
    /// slow.failure();
    /// assert_eq!(breaker.snapshot().failures(), 0);
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    pub fn still_counts(&self) -> bool {
        let Some(handle) = &self.handle else {
            return false;
        };
        let breaker = handle.as_breaker();
        let Some(circuit) = Circuit::decode(breaker.to_bits()) else {
            return false;
        };
        let learns = circuit.counts_failures() || circuit.is_half_open();
        learns && breaker.machine().holds(circuit, self.ticket.granted)
    }

    /// Returns whether this call is a probe: admitted while half-open.
    pub fn is_probe(&self) -> bool {
        self.ticket.is_probe()
    }

    /// The number of trips in a row before this probe: 1 to 31 (to 7 in a 32-bit word), where the highest means that or
    /// more; also 1 for a probe after an operator's command. 0 if this call is no probe.
    ///
    /// Waiting alone heals what recovers by itself. A sensor that hangs until it is reset, a connection that is broken for
    /// good, an address that is out of date stay as they are however long the breaker waits. The probe is the one call that
    /// may take the time to repair them, as all others are rejected meanwhile. The trips are a ladder that needs no variable
    /// of its own: begin with what is quick and harmless, and go further each time that it was not enough. An
    /// [`Attempt`] makes an error or a panic of the repair the failure of the probe, and the breaker opens again.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Clock};
    /// # struct Sensor;
    /// # impl Sensor {
    /// #     fn clear_bus(&mut self) -> Result<(), &'static str> { Ok(()) }
    /// #     fn initialise(&mut self) -> Result<(), &'static str> { Ok(()) }
    /// #     fn cycle_power(&mut self) -> Result<(), &'static str> { Ok(()) }
    /// #     fn read(&mut self) -> Result<u16, &'static str> { Ok(21) }
    /// # }
    ///
    /// fn read(breaker: &Breaker<impl Clock>, sensor: &mut Sensor) -> Result<u16, &'static str> {
    ///     let attempt = breaker.acquire().map_err(|_| "not even tried")?.failing_when_dropped();
    ///     match attempt.trips() {
    ///         0 => {} // no probe, as all calls while the breaker is closed
    ///         1 => sensor.clear_bus()?,
    ///         2 => sensor.initialise()?,
    ///         _ => sensor.cycle_power()?,
    ///     }
    ///     let reading = sensor.read()?;
    ///     attempt.success();
    ///     Ok(reading)
    /// }
    /// ```
    ///
    /// Repair and call together should end within the [`probe_lease`](crate::Config::probe_lease): after that another call
    /// may probe, and repair at the same time, as several do with more than one of [`probes`](crate::Config::probes). If
    /// [slow calls](crate::Config::slow_call) are measured, [`renew`](Self::renew) the attempt after the repair, whose time
    /// counts otherwise. A retry and a [`Prober`](crate::wait::Prober) repair with [`Repairing`](crate::wait::Repairing).
    pub fn trips(&self) -> u8 {
        self.ticket.trips()
    }

    /// [`report`](Self::report) if its result is not needed.
    #[inline(always)]
    pub(crate) fn end(&mut self, outcome: Outcome) {
        if let Some((handle, ticket)) = self.take() {
            handle.as_breaker().report(ticket, outcome);
        }
    }

    /// Without calling the drop, which would find nothing to do.
    #[inline]
    fn into_parts(self) -> Option<(H, Ticket<BitsOf<H>>)> {
        ManuallyDrop::new(self).take()
    }

    #[inline]
    fn take(&mut self) -> Option<(H, Ticket<BitsOf<H>>)> {
        self.handle.take().map(|handle| (handle, self.ticket))
    }
}

impl<H: AnyBreaker, const FAILS_WHEN_DROPPED: bool> Drop for Permit<H, FAILS_WHEN_DROPPED> {
    #[inline]
    fn drop(&mut self) {
        if FAILS_WHEN_DROPPED {
            self.end(Failure::new().into());
        } else if let Some(handle) = &self.handle {
            handle.as_breaker().cancel(self.ticket);
        }
    }
}

impl<H: AnyBreaker, const FAILS_WHEN_DROPPED: bool> fmt::Debug for Permit<H, FAILS_WHEN_DROPPED> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(if FAILS_WHEN_DROPPED {
            "Attempt"
        } else {
            "Permit"
        })
        .field("is_probe", &self.is_probe())
        .finish_non_exhaustive()
    }
}
