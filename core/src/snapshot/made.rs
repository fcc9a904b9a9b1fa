//! Snapshots that are made by hand.

use core::time::Duration;

use super::Snapshot;
use crate::number::ms;
use crate::state::State;

/// Snapshots for tests of code that handles them.
///
/// ```
/// use atomic_breaker::{Snapshot, State, Wait};
/// use core::time::Duration;
///
/// fn lamp(snapshot: &Snapshot) -> &'static str {
///     match (snapshot.state(), snapshot.wait()) {
///         (State::Closed, _) => "green",
///         (State::Open, Some(Wait::For(time))) if time > Duration::from_secs(60) => "red",
///         _ => "yellow",
///     }
/// }
///
/// let open = Snapshot::new(State::Open).with_trips(2);
/// assert_eq!(lamp(&open.with_wait(Duration::from_secs(90))), "red");
/// assert_eq!(lamp(&open.with_wait(Duration::from_secs(5))), "yellow");
/// ```
///
/// For a real one in any state, use a breaker with a [`ManualClock`](crate::ManualClock).
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

    /// With this epoch.
    #[must_use]
    pub const fn with_epoch(mut self, epoch: u16) -> Self {
        self.epoch = epoch;
        self
    }

    /// With this many failures counted.
    #[must_use]
    pub const fn with_failures(mut self, failures: u16) -> Self {
        self.failures = failures;
        self
    }

    /// With this many trips in a row.
    #[must_use]
    pub const fn with_trips(mut self, trips: u8) -> Self {
        self.trips = trips;
        self
    }

    /// With this many probes in flight, successes in this round, and rounds lost before it.
    #[must_use]
    pub const fn with_probes(mut self, in_flight: u8, successes: u8, lost_rounds: u8) -> Self {
        self.probes_in_flight = in_flight;
        self.successes = successes;
        self.lost_rounds = lost_rounds;
        self
    }

    /// With this share of calls that pass.
    #[must_use]
    pub const fn with_returning_percent(mut self, percent: u8) -> Self {
        self.returning_percent = Some(percent);
        self
    }

    /// Opened at this reading of the clock, for this time (rounded up to milliseconds), demanded or not.
    #[must_use]
    pub const fn with_open_time(mut self, at_ms: u32, time: Duration, is_demanded: bool) -> Self {
        self.opened_at_ms = Some(at_ms);
        self.open_for_ms = Some(ms(time));
        self.is_demanded = is_demanded;
        self
    }

    /// With this wait for a caller, rounded up to milliseconds, and so not due.
    #[must_use]
    pub const fn with_wait(mut self, wait: Duration) -> Self {
        self.wait_ms = Some(ms(wait));
        self.is_due = false;
        self
    }

    /// Due, and so without a wait.
    #[must_use]
    pub const fn with_due(mut self) -> Self {
        self.wait_ms = None;
        self.is_due = true;
        self
    }
}
