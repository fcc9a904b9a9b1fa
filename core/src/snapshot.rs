//! What the word says, at one moment.

use core::fmt;
use core::time::Duration;

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::Clock;
use crate::observer::Observer;
use crate::state::State;
use crate::tally::Tally;
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
/// assert_eq!(snapshot.state(), State::Open, "nobody has called yet");
/// assert!(snapshot.is_due(), "but the next call is a probe");
/// assert_eq!(snapshot.trips(), 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Snapshot {
    state: State,
    epoch: u16,
    failures: u16,
    trips: u8,
    probes_in_flight: u8,
    successes: u8,
    opened_at_ms: Option<u32>,
    open_for_ms: Option<u32>,
    retry_in_ms: Option<u32>,
    is_due: bool,
}

impl Snapshot {
    /// The state. Open stays open until somebody acquires, see [`is_due`](Self::is_due).
    pub const fn state(&self) -> State {
        self.state
    }

    /// The epoch: the number of transitions, modulo 512 (16 in a 32-bit word).
    pub const fn epoch(&self) -> u16 {
        self.epoch
    }

    /// Closed: the weights of the failures counted. Those of a window that has passed are counted
    /// until the next failure starts a new one.
    pub const fn failures(&self) -> u16 {
        self.failures
    }

    /// Open or half-open: trips in a row, at most 31 (7 in a 32-bit word).
    pub const fn trips(&self) -> u8 {
        self.trips
    }

    /// Half-open: probes admitted that have not reported.
    pub const fn probes_in_flight(&self) -> u8 {
        self.probes_in_flight
    }

    /// Half-open: probes that succeeded since it became half-open.
    pub const fn successes(&self) -> u8 {
        self.successes
    }

    /// Open: when it opened, as the clock read then: milliseconds modulo 2³², rounded up to a tick.
    pub const fn opened_at_ms(&self) -> Option<u32> {
        self.opened_at_ms
    }

    /// Open: for how long, from then on.
    pub const fn open_for(&self) -> Option<Duration> {
        match self.open_for_ms {
            Some(ms) => Some(Duration::from_millis(ms as u64)),
            None => None,
        }
    }

    /// How long a call would be told to wait; zero when it would pass, `None` when nobody knows
    /// because the breaker is forced open.
    pub const fn retry_in(&self) -> Option<Duration> {
        match self.retry_in_ms {
            Some(ms) => Some(Duration::from_millis(ms as u64)),
            None => None,
        }
    }

    /// [`retry_in`](Self::retry_in) in milliseconds.
    pub const fn retry_in_ms(&self) -> Option<u32> {
        self.retry_in_ms
    }

    /// Whether the next call becomes the first probe of a round: open, and the open time is over, or
    /// half-open, and the probes in flight are lost.
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
                    .field("retry_in", &self.retry_in());
            }
            State::HalfOpen => {
                debug
                    .field("trips", &self.trips)
                    .field("probes_in_flight", &self.probes_in_flight)
                    .field("successes", &self.successes)
                    .field("retry_in", &self.retry_in());
            }
            State::ForcedOpen | State::Disabled => {}
        }
        debug.finish()
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer> Breaker<C, W, T, O> {
    /// What the word says now: one load, one reading of the clock. A corrupt word reads as the
    /// fresh, closed one that takes its place on first use.
    pub fn snapshot(&self) -> Snapshot {
        let bits = word::read(&self.word);
        let circuit = Circuit::decode(bits).unwrap_or_else(|_| Circuit::healed(bits));
        self.describe(circuit, self.clock.now_ms())
    }

    /// The state: one load, no reading of the clock.
    pub fn state(&self) -> State {
        let bits = word::read(&self.word);
        Circuit::decode(bits).map_or(State::Closed, Circuit::state)
    }

    fn describe(&self, circuit: Circuit<W::Bits>, now_ms: u32) -> Snapshot {
        let machine = self.machine();
        let state = circuit.state();
        let mut snapshot = Snapshot {
            state,
            epoch: circuit.epoch() as u16,
            failures: 0,
            trips: circuit.trips() as u8,
            probes_in_flight: 0,
            successes: 0,
            opened_at_ms: None,
            open_for_ms: None,
            retry_in_ms: Some(0),
            is_due: false,
        };
        match state {
            State::Closed => snapshot.failures = circuit.failures() as u16,
            State::Open => {
                snapshot.opened_at_ms = Some(machine.time.reading(now_ms, circuit.time()));
                snapshot.open_for_ms = Some(machine.time.ms(circuit.open_for()));
                let left = machine.open_time_left(circuit, now_ms);
                snapshot.retry_in_ms = Some(left.unwrap_or(0));
                snapshot.is_due = left.is_none();
            }
            State::HalfOpen => {
                snapshot.probes_in_flight = circuit.in_flight() as u8;
                snapshot.successes = circuit.successes() as u8;
                if circuit.in_flight() >= machine.slots(circuit.successes()) {
                    let left = machine.lease_left(circuit, now_ms);
                    snapshot.retry_in_ms = Some(left.unwrap_or(0));
                    snapshot.is_due = left.is_none();
                }
            }
            State::ForcedOpen => snapshot.retry_in_ms = None,
            State::Disabled => {}
        }
        snapshot
    }
}
