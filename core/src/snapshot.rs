//! What the word says, at one moment.

use core::fmt;
use core::time::Duration;

use crate::breaker::Breaker;
use crate::circuit::{Circuit, Mode};
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::{Rejected, Wait};
use crate::machine::Machine;
use crate::number::{ms, time_of};
use crate::observer::{Observer, Transition};
use crate::present::Present;
use crate::state::State;
use crate::tally::Tally;
use crate::time::TimeBase;
use crate::word::{self, Word};

/// Everything that the word of a breaker says, taken with one load.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, State};
/// use core::time::Duration;
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new().open_for(Duration::from_secs(5)), &clock);
/// breaker.trip();
///
/// clock.advance(Duration::from_secs(5));
/// let snapshot = breaker.snapshot();
/// assert_eq!(snapshot.state(), State::Open, "no caller has come yet");
/// assert!(snapshot.is_due(), "but the next call is a probe");
/// assert_eq!(snapshot.trips(), 1);
/// ```
///
/// For tests of code that handles snapshots, a breaker with a [`ManualClock`](crate::ManualClock) gives one of any
/// state.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    /// One with this state; everything else is 0, `None` or `false`.
    pub const fn new(state: State) -> Self {
        Self {
            state,
            epoch: 0,
            failures: 0,
            trips: 0,
            probes_in_flight: 0,
            successes: 0,
            lost_rounds: 0,
            returning_percent: None,
            opened_at_ms: None,
            open_for_ms: None,
            is_demanded: false,
            wait_ms: None,
            is_due: false,
        }
    }

    /// With this wait for a caller, rounded up to milliseconds, and so not due.
    #[must_use]
    pub const fn with_wait(mut self, wait: Duration) -> Self {
        self.wait_ms = Some(ms(wait));
        self.is_due = false;
        self
    }

    /// The state. Open stays open until a caller acquires; see [`is_due`](Self::is_due).
    pub const fn state(&self) -> State {
        self.state
    }

    /// The epoch: the number of transitions, modulo 512 (16 in a 32-bit word).
    pub const fn epoch(&self) -> u16 {
        self.epoch
    }

    /// Closed or returning: the weights of the failures counted. Those of a window that has passed are
    /// counted until the next call reports.
    pub const fn failures(&self) -> u16 {
        self.failures
    }

    /// Open, half-open or returning: trips in a row, at most 31 (7 in a 32-bit word). At least 1 after a lost round and
    /// while returning, even if nothing tripped: the lost round, or the return, then counts as the first trip.
    pub const fn trips(&self) -> u8 {
        self.trips
    }

    /// Half-open: probes admitted that have not reported.
    pub const fn probes_in_flight(&self) -> u8 {
        self.probes_in_flight
    }

    /// Half-open: probes that succeeded since this round began.
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

    /// Open: the clock reading when it opened, or when its deadline was last moved: milliseconds modulo 2³², rounded up
    /// to a tick, less the amount by which [`open_for`](Self::open_for) is rounded up, so that the sum of both is the
    /// exact deadline. Right as long as the breaker has been open for less than the wrap of its time (49.7 days;
    /// 35 minutes in a 32-bit word with its default tick): if you need it for longer, keep the
    /// [`Transition`](crate::Transition).
    pub const fn opened_at_ms(&self) -> Option<u32> {
        self.opened_at_ms
    }

    /// Open: for how long, counted from `opened_at_ms`, as stored: rounded up by less than 0.1 % (12.5 % in a 32-bit
    /// word).
    pub const fn open_for(&self) -> Option<Duration> {
        time_of(self.open_for_ms)
    }

    /// Open: whether the open time was demanded, by [`Failure::retry_after`](crate::Failure::retry_after) or
    /// [`Breaker::trip_for`], and so ends early only through an operator's command.
    pub const fn is_demanded(&self) -> bool {
        self.is_demanded
    }

    /// How long a caller would have to wait; `None` if one would be admitted. While returning, some calls pass
    /// nevertheless.
    pub const fn wait(&self) -> Option<Wait> {
        match self.wait_ms {
            Some(ms) => Some(Rejected::until(self.state, ms).wait()),
            None => None,
        }
    }

    /// When it is worth retrying, as in [`Rejected::retry_in`]; zero if a call would be admitted, `None` while the
    /// breaker is forced open, because the time is unknown.
    pub const fn retry_in(&self) -> Option<Duration> {
        time_of(self.retry_in_ms())
    }

    /// [`retry_in`](Self::retry_in) in milliseconds.
    pub const fn retry_in_ms(&self) -> Option<u32> {
        match self.wait_ms {
            Some(ms) => Rejected::until(self.state, ms).retry_in_ms(),
            None => Some(0),
        }
    }

    /// Whether the next call becomes a probe: open, and the open time is over, or half-open, and a slot is free
    /// or the probes in flight are lost.
    pub const fn is_due(&self) -> bool {
        self.is_due
    }
}

#[expect(
    clippy::missing_fields_in_debug,
    reason = "shows the fields that the state has"
)]
impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Snapshot");
        debug
            .field("state", &self.state)
            .field("epoch", &self.epoch);
        match self.state {
            State::Closed => {
                debug.field("failures", &self.failures);
            }
            State::Open => {
                debug
                    .field("trips", &self.trips)
                    .field("opened_at_ms", &self.opened_at_ms)
                    .field("open_for", &self.open_for())
                    .field("is_demanded", &self.is_demanded)
                    .field("wait", &self.wait());
            }
            State::HalfOpen => {
                debug
                    .field("trips", &self.trips)
                    .field("probes_in_flight", &self.probes_in_flight)
                    .field("successes", &self.successes)
                    .field("lost_rounds", &self.lost_rounds)
                    .field("wait", &self.wait());
            }
            State::Returning => {
                debug
                    .field("trips", &self.trips)
                    .field("failures", &self.failures)
                    .field("returning_percent", &self.returning_percent)
                    .field("wait", &self.wait());
            }
            State::ForcedOpen | State::Disabled => {}
        }
        debug.finish()
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// What the word says now: one load, one reading of the clock. A corrupt word reads as the
    /// fresh, closed one that takes its place on first use.
    pub fn snapshot(&self) -> Snapshot {
        let circuit = Circuit::of(word::load_acquire(&self.word));
        let (machine, now_ms) = (self.machine(), self.clock.now_ms());
        let mut snapshot = Snapshot::new(circuit.state());
        snapshot.epoch = circuit.epoch() as u16;
        snapshot.trips = circuit.trips() as u8;
        match circuit.mode() {
            Mode::Closed { failures } => snapshot.failures = failures as u16,
            Mode::Returning { failures } => {
                snapshot.failures = failures as u16;
                snapshot.returning_percent = Some(machine.returning_percent(circuit, now_ms) as u8);
                snapshot.wait_ms = machine.return_left(circuit, now_ms);
            }
            Mode::Open {
                began,
                lasts,
                is_demanded,
            } => {
                snapshot.opened_at_ms = Some(W::Bits::reading(now_ms, began));
                snapshot.open_for_ms = Some(W::Bits::ms(lasts));
                snapshot.is_demanded = is_demanded;
                snapshot.wait_ms = Machine::open_time_left(circuit, now_ms);
                snapshot.is_due = snapshot.wait_ms.is_none();
            }
            Mode::HalfOpen {
                in_flight,
                successes,
                lost,
            } => {
                snapshot.probes_in_flight = in_flight as u8;
                snapshot.successes = successes as u8;
                snapshot.lost_rounds = lost as u8;
                snapshot.wait_ms = machine.slot_left(circuit, now_ms);
                snapshot.is_due = snapshot.wait_ms.is_none();
            }
            Mode::ForcedOpen => snapshot.wait_ms = Some(0),
            Mode::Disabled => {}
        }
        snapshot
    }

    /// The state: one load, no reading of the clock.
    pub fn state(&self) -> State {
        Circuit::of(word::load_acquire(&self.word)).state()
    }

    /// The [`Present`] through which an observer reads the word. For code that notifies an observer on behalf of the
    /// breaker.
    pub fn present(&self) -> Present<'_> {
        Present::of(&self.word)
    }

    /// How many transitions the word has seen since this one, modulo 512 (16 in a 32-bit word): 0 while it is
    /// the last. One load, no reading of the clock.
    ///
    /// Counts the transitions of all breakers that share the word. Of any two of the last 512 (16) transitions, the
    /// later one has fewer since, whatever the clocks say.
    pub fn transitions_since(&self, made: &Transition) -> u16 {
        self.present().transitions_since(made)
    }
}
