//! Manual control.

use core::convert::Infallible;

use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::machine::Command;
use crate::observer::Observer;
use crate::tally::Tally;
use crate::word::Word;

/// Manual control: each command is one compare-and-swap and begins an epoch, so that reports of
/// calls that were under way change nothing. A command that does not apply changes nothing at all.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, State};
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new(), &clock);
///
/// breaker.force_open();
/// assert!(breaker.acquire().is_err(), "while the operator works on the device");
/// breaker.release();
/// assert!(breaker.acquire().is_ok_and(|permit| permit.is_probe()), "it has to prove itself");
/// breaker.reset();
/// assert_eq!(breaker.state(), State::Closed);
/// ```
impl<C: Clock, W: Word, T: Tally, O: Observer> Breaker<C, W, T, O> {
    /// Opens for the configured time, as a failure would. An open breaker starts its time anew. Does
    /// nothing while forced open or disabled.
    pub fn trip(&self) {
        self.obey(Command::Trip);
    }

    /// Refuses every call until [`release`](Self::release) or [`reset`](Self::reset).
    pub fn force_open(&self) {
        self.obey(Command::ForceOpen);
    }

    /// Ends [`force_open`](Self::force_open): half-open, so that probes find out how the resource
    /// is. Does nothing in other states.
    pub fn release(&self) {
        self.obey(Command::Release);
    }

    /// Closes and clears every count, from any state.
    pub fn reset(&self) {
        self.obey(Command::Reset);
    }

    /// Lets every call pass and learns nothing, until [`enable`](Self::enable) or
    /// [`reset`](Self::reset).
    pub fn disable(&self) {
        self.obey(Command::Disable);
    }

    /// Ends [`disable`](Self::disable): closed, every count clear. Does nothing in other states.
    pub fn enable(&self) {
        self.obey(Command::Enable);
    }

    /// Ends the open time: half-open from now on, the next call is a probe. For somebody who knows
    /// more than the clock does, as one who pings the resource meanwhile. Does nothing in other
    /// states.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let breaker = Breaker::new(Config::new(), &clock);
    /// breaker.trip();
    /// breaker.probe_now();
    /// assert!(breaker.acquire().is_ok_and(|permit| permit.is_probe()));
    /// ```
    pub fn probe_now(&self) {
        self.obey(Command::ProbeNow);
    }

    fn obey(&self, command: Command) {
        let machine = self.machine();
        let Ok(_) =
            self.apply(|circuit, now| Ok::<_, Infallible>(machine.obey(circuit, command, now)));
    }
}
