// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shows how this process stands in a fleet.

use std::fmt;
use std::sync::Mutex;

use atomic_breaker_fleet::{FleetStatus, Joined};
use tokio::sync::watch;

use super::meter::{Gauges, Meter};
use super::series::{CONNECTED, INSTANCES, Page, UNANSWERED, float};
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
/// Use one name per fleet: of several with the same name, the one that was watched last is shown. The counter of a fleet
/// that was left and joined again goes on.
#[derive(Clone, Debug)]
pub struct OfFleet(&'static WatchedFleet);

/// The status of the fleet that is watched, if there ever was one, and how many requests went unanswered in those before.
#[derive(Debug, Default)]
struct WatchedFleet(Mutex<(Option<watch::Receiver<FleetStatus>>, u64)>);

impl Metrics<OfFleet> {
    /// Publishes its status from now on. Once the process has left the fleet, it is shown as one that is not connected.
    pub fn watch_fleet(&self, fleet: &Joined) {
        let status = fleet.watch();
        let (watched, before) = &mut *lock(&self.0.0.0);
        if let Some(last) = watched.take_if(|last| !last.same_channel(&status)) {
            *before += last.borrow().unanswered;
        }
        *watched = Some(status);
    }
}

impl Observed for OfFleet {
    fn named(name: &dyn fmt::Display) -> Self {
        Self(Meter::of(name).part(|_| WatchedFleet::default()))
    }
}

impl Gauges for WatchedFleet {
    fn publish(&self, page: &Page<'_>) {
        let (Some(watched), before) = lock(&self.0).clone() else {
            return;
        };
        // Without a sender, no more is heard from the engine.
        let is_joined = watched.has_changed().is_ok();
        let (is_connected, living, unanswered) = {
            let status = watched.borrow();
            let is_connected = is_joined && status.is_connected;
            (is_connected, status.living, status.unanswered)
        };
        page.gauge(CONNECTED, &[], float(is_connected.into()));
        page.gauge(INSTANCES, &[], float(living.into()));
        page.counter(UNANSWERED, &[], before + unanswered);
    }
}
