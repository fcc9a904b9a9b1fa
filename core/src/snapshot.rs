// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contents of the word at one moment.

use core::time::Duration;

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::{Rejected, Wait};
use crate::number::{ms, time_of};
use crate::observer::{Observer, Transition};
use crate::present::Present;
use crate::state::State;
use crate::tally::Tally;
use crate::time::TimeBase;
use crate::word::{self, Word};

/// Everything that the word of a breaker says, taken with one load.
///
/// For tests of code that handles snapshots, a breaker with a [`ManualClock`](crate::ManualClock) gives one of any
/// state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Snapshot {
    state: State,
    epoch: u16,
    failures: u16,
    trips: u8,
    probes_in_flight: u8,
    successes: u8,
    lost_rounds: u8,
    returning_percent: Option<u8>,
    opened_at_ms: Option<u32>,
    open_for_ms: Option<u32>,
    is_demanded: bool,
    wait_ms: Option<u32>,
    is_due: bool,
}

impl Snapshot {
    /// A snapshot with this state; everything else is 0, `None` or `false`.
    pub fn new(state: State) -> Self {
        Self {
            state,
            ..Self::default()
        }
    }

    /// Sets the wait for a caller, rounded up to milliseconds; the snapshot is then not due.
    #[must_use]
    pub const fn with_wait(mut self, wait: Duration) -> Self {
        self.wait_ms = Some(ms(wait));
        self.is_due = false;
        self
    }

    /// The state as the next call meets it: open only while calls are rejected, half-open as soon as the open time is over,
    /// although no call has come yet ([`entered`](Self::entered) is open until then).
    pub const fn state(&self) -> State {
        self.state
    }

    /// The state to which the last transition led. It stays open when the open time is over, until a call comes.
    pub const fn entered(&self) -> State {
        match self.opened_at_ms {
            Some(_) => State::Open,
            None => self.state,
        }
    }

    /// The epoch: the number of transitions, modulo 512 (16 in a 32-bit word).
    pub const fn epoch(&self) -> u16 {
        self.epoch
    }

    /// Closed or returning: the weights of the failures counted. Those of a window that has passed are
    /// counted until the next call reports; of a row that must [last](crate::Config::lasting), no more than its limit.
    pub const fn failures(&self) -> u16 {
        self.failures
    }

    /// Open, half-open or returning: trips in a row, at most 31 (7 in a 32-bit word). At least 1 after a lost round and
    /// while returning, even if nothing tripped.
    pub const fn trips(&self) -> u8 {
        self.trips
    }

    /// Half-open: probes admitted that have not reported.
    pub const fn probes_in_flight(&self) -> u8 {
        self.probes_in_flight
    }

    /// Half-open: probes that succeeded since the half-open time began, in all its rounds.
    pub const fn successes(&self) -> u8 {
        self.successes
    }

    /// Half-open: rounds of probes lost in a row, counted up to 4. Each has doubled the lease.
    pub const fn lost_rounds(&self) -> u8 {
        self.lost_rounds
    }

    /// Returning: the share of the calls that pass now, in percent.
    pub const fn returning_percent(&self) -> Option<u8> {
        self.returning_percent
    }

    /// [Entered](Self::entered) as open: the clock reading when it opened, or when its deadline was last moved: milliseconds modulo 2³², rounded so
    /// that its sum with [`open_for`](Self::open_for) is the exact deadline. Right as long as the breaker has been open
    /// for less than the [wrap](crate#limits) of its time.
    pub const fn opened_at_ms(&self) -> Option<u32> {
        self.opened_at_ms
    }

    /// Entered as open: for how long, counted from `opened_at_ms`, as stored: rounded up by less than 0.1 % (12.5 % in a 32-bit
    /// word).
    pub const fn open_for(&self) -> Option<Duration> {
        time_of(self.open_for_ms)
    }

    /// Entered as open: whether the open time was demanded, by [`Failure::retry_after`](crate::Failure::retry_after) or
    /// [`Breaker::trip_for`], and so ends early only through an operator's command.
    pub const fn is_demanded(&self) -> bool {
        self.is_demanded
    }

    /// The rejection that a caller would get; `None` if one would be admitted. While returning, some calls pass
    /// nevertheless.
    pub const fn rejection(&self) -> Option<Rejected> {
        match self.wait_ms {
            Some(ms) => Some(Rejected::until(self.state, ms)),
            None => None,
        }
    }

    /// The time that a caller would have to wait: [`Rejected::wait`] of the [rejection](Self::rejection).
    pub const fn wait(&self) -> Option<Wait> {
        match self.rejection() {
            Some(rejected) => Some(rejected.wait()),
            None => None,
        }
    }

    /// The time after which a retry is worthwhile, as in [`Rejected::retry_in`]; zero if a call would be admitted,
    /// `None` while the breaker is forced open, because the time is unknown.
    pub const fn retry_in(&self) -> Option<Duration> {
        match self.rejection() {
            Some(rejected) => rejected.retry_in(),
            None => Some(Duration::ZERO),
        }
    }

    /// Returns whether the next call becomes a probe: the open time is over, or a slot is free, or the probes in
    /// flight are lost.
    pub const fn is_due(&self) -> bool {
        self.is_due
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Returns the state now: one load, one reading of the clock. A corrupt word reads as the fresh, closed one that
    /// takes its place on first use.
    pub fn snapshot(&self) -> Snapshot {
        let circuit = Circuit::of(word::load_acquire(&self.word));
        let (machine, now_ms) = (self.machine(), self.clock.now_ms());
        let mut snapshot = Snapshot::new(circuit.state());
        snapshot.epoch = circuit.epoch() as u16;
        snapshot.trips = circuit.trips() as u8;
        snapshot.wait_ms = machine.wait(circuit, now_ms);
        let is_admitted = snapshot.wait_ms.is_none();
        match circuit.state() {
            State::Closed => snapshot.failures = machine.failures(circuit) as u16,
            State::Returning => {
                snapshot.failures = machine.failures(circuit) as u16;
                snapshot.returning_percent = Some(machine.returning_percent(circuit, now_ms) as u8);
            }
            State::Open => {
                snapshot.opened_at_ms = Some(W::Bits::reading(now_ms, circuit.time()));
                snapshot.open_for_ms = Some(W::Bits::ms(circuit.open_for()));
                snapshot.is_demanded = circuit.is_demanded();
                snapshot.is_due = is_admitted;
                if is_admitted {
                    snapshot.state = State::HalfOpen;
                }
            }
            State::HalfOpen => {
                snapshot.probes_in_flight = circuit.in_flight() as u8;
                snapshot.successes = circuit.successes() as u8;
                snapshot.lost_rounds = circuit.lost() as u8;
                snapshot.is_due = is_admitted;
            }
            State::ForcedOpen | State::Disabled => {}
        }
        snapshot
    }

    /// The state as the next call meets it: open only while calls are rejected, half-open as soon as the open time is over.
    /// One load, and while it is open one reading of the clock.
    ///
    /// So a program that falls back on something else while it is [`State::Open`] calls again when a probe is due:
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock, State};
    /// use core::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let breaker = Breaker::new(Config::new().open_for(Duration::from_secs(1)), &clock);
    /// breaker.trip();
    /// assert_eq!(breaker.state(), State::Open);
    /// clock.advance(Duration::from_secs(1));
    /// assert_eq!(breaker.state(), State::HalfOpen);
    /// ```
    pub fn state(&self) -> State {
        let circuit = Circuit::of(word::load_acquire(&self.word));
        match circuit.state() {
            State::Open if self.machine().wait(circuit, self.clock.now_ms()).is_none() => {
                State::HalfOpen
            }
            state => state,
        }
    }

    /// The [`Present`] through which an observer reads the word. For code that notifies an observer on behalf of the
    /// breaker.
    pub fn present(&self) -> Present<'_> {
        Present::of(&self.word)
    }

    /// The number of transitions that the word has seen since this one, modulo 512 (16 in a 32-bit word): 0 while it is
    /// the last. One load, no reading of the clock.
    ///
    /// Of any two of the last 512 (16) transitions, the later one has fewer since, whatever the clocks say.
    pub fn transitions_since(&self, made: &Transition) -> u16 {
        self.present().transitions_since(made)
    }
}
