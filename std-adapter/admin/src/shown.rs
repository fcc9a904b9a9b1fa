//! What responses are made from.

use std::sync::Arc;

#[cfg(feature = "fleet")]
use atomic_breaker_fleet::FleetStatus;
use tokio::sync::Semaphore;

use super::Timeline;
use super::gate::Gate;
use super::named::Named;
use super::response::Problem;
#[cfg(feature = "steps")]
use super::source::OfSteps;
use super::source::Source;

/// What responses are made from.
pub(super) struct Shown {
    pub(super) title: String,
    pub(super) timeline: Timeline,
    pub(super) sources: Vec<Named<Box<dyn Source>>>,
    #[cfg(feature = "fleet")]
    pub(super) fleets: Vec<Named<tokio::sync::watch::Receiver<FleetStatus>>>,
    #[cfg(feature = "steps")]
    pub(super) steps: Vec<Named<OfSteps>>,
    pub(super) gate: Gate,
    /// How many requests may look at all keys at the same time.
    pub(super) readers: Arc<Semaphore>,
    /// One command at a time, separate from reads: no read delays it, and of two operators who saw the same epoch the
    /// second one is refused.
    pub(super) commands: Arc<Semaphore>,
    /// How many pages may be live at the same time.
    pub(super) streams: Arc<Semaphore>,
    pub(super) most_streams: usize,
}

impl Shown {
    /// The index of the registry or breaker with this name.
    pub(super) fn source(&self, name: &str) -> Result<usize, Problem> {
        let found = self.sources.iter().position(|it| *it.name == *name);
        found.ok_or_else(|| {
            Problem::not_found(format!(
                "nothing is shown under the name {name:?}: the status lists what is"
            ))
        })
    }
}
