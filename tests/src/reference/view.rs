//! What can be seen of a breaker from outside, of the real one and of the reference alike.

use atomic_breaker::{Snapshot, State};

use super::{Mode, Reference};

/// A snapshot, field by field. Times are milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub state: State,
    pub failures: u32,
    pub in_flight: usize,
    pub successes: u32,
    pub trips: u32,
    /// As the clock reads: modulo 2³².
    pub opened_at: Option<u32>,
    pub open_for: Option<u64>,
    pub retry_in: Option<u64>,
    pub is_due: bool,
}

impl From<Snapshot> for View {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            state: snapshot.state(),
            failures: snapshot.failures().into(),
            in_flight: snapshot.probes_in_flight().into(),
            successes: snapshot.successes().into(),
            trips: snapshot.trips().into(),
            opened_at: snapshot.opened_at_ms(),
            open_for: snapshot.open_for().map(|time| time.as_millis() as u64),
            retry_in: snapshot.retry_in().map(|time| time.as_millis() as u64),
            is_due: snapshot.is_due(),
        }
    }
}

impl Reference {
    /// What can be seen of it.
    pub fn view(&self) -> View {
        let mut view = View {
            state: self.state(),
            failures: 0,
            in_flight: 0,
            successes: 0,
            trips: self.trips,
            opened_at: None,
            open_for: None,
            retry_in: self.wait(),
            is_due: false,
        };
        match &self.mode {
            Mode::Closed { failures, .. } => view.failures = *failures,
            Mode::Open { began, lasts } => {
                let tick = self.rules.grain.tick;
                let into_this_tick = self.now % tick;
                let age = self.age(*began) * tick.cast_signed();
                let began = (self.now - into_this_tick).wrapping_add_signed(-age);
                view.opened_at = Some(began as u32);
                view.open_for = Some(lasts * tick);
                view.is_due = view.retry_in == Some(0);
            }
            Mode::Probing { out, successes, .. } => {
                view.in_flight = out.len();
                view.successes = *successes;
                view.is_due = out.len() >= self.slots() && view.retry_in == Some(0);
            }
            Mode::ForcedOpen | Mode::Disabled => {}
        }
        view
    }
}
