//! Shows how this process stands in a fleet.

use std::fmt;
use std::sync::Arc;

use atomic_breaker_fleet::{FleetStatus, Joined};
use metrics::Recorder;
use tokio::sync::watch;

use super::meter::Meter;
use super::series::{self, CONNECTED, INSTANCES, UNANSWERED, float};
use super::{Metrics, Observed};
use crate::lock;

/// [`Metrics`] of a fleet: whether its engine answers this process, and how many instances it knows.
///
/// ```
/// use atomic_breaker_fleet::{FleetConfig, FleetError, InProcess, Joined};
/// use atomic_breaker_observe::Metrics;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), FleetError> {
/// let fleet = Joined::new(InProcess::new(), FleetConfig::new(3))?;
/// Metrics::new("shop").watch_fleet(&fleet);
/// // For each scrape, before the recorder renders its page:
/// atomic_breaker_observe::publish();
/// # Ok(()) }
/// ```
///
/// Use one name per fleet: of several with the same name, the one that was watched last is shown.
#[derive(Clone, Debug)]
pub struct Fleets(Arc<Meter>);

impl Metrics<Fleets> {
    /// Publishes its status from now on. Once the process has left the fleet, it is shown as one that is not connected.
    pub fn watch_fleet(&self, fleet: &Joined) {
        *lock(&self.0.0.fleet) = Some(fleet.watch());
    }
}

impl Observed for Fleets {
    fn named(name: &dyn fmt::Display) -> Self {
        Self(Meter::of(name))
    }
}

/// The status of the fleet that is watched, if there ever was one.
pub(super) type Watched = Option<watch::Receiver<FleetStatus>>;

pub(super) fn publish(meter: &Meter, recorder: &dyn Recorder) {
    let Some(watched) = lock(&meter.fleet).clone() else {
        return;
    };
    // Without a sender, nobody learns anything from the engine any more.
    let is_joined = watched.has_changed().is_ok();
    let (is_connected, living, unanswered) = {
        let status = watched.borrow();
        let is_connected = is_joined && status.is_connected;
        (is_connected, status.living, status.unanswered)
    };
    meter.set(recorder, CONNECTED, &[], float(is_connected.into()));
    meter.set(recorder, INSTANCES, &[], float(living.into()));
    let unanswered_key = series::key(UNANSWERED, &meter.name, &[]);
    series::set_counter(recorder, &unanswered_key, unanswered);
}
