//! Which tries go on when their callers leave: those of the guard's layer and of the middleware.

use std::sync::Arc;

use atomic_breaker_server::{InFlightLimit, InFlightPermit};
use atomic_breaker_tower::Leaving;

use crate::Origin;

/// Counts calls of each host.
pub(crate) type HostCounts = InFlightLimit<(), Origin>;

/// A call of a host that is counted until this is dropped.
pub(crate) type CountedCall = InFlightPermit<Arc<HostCounts>, ()>;

/// What a try needs when its caller leaves: one of the places of its host.
#[derive(Debug)]
pub(crate) struct LeavingHost {
    /// `None` for a probe, as the breaker bounds their number.
    places: Option<(Arc<HostCounts>, Origin)>,
}

impl LeavingHost {
    pub(crate) fn new(places: Arc<HostCounts>, host: Origin, is_probe: bool) -> Self {
        Self {
            places: (!is_probe).then_some((places, host)),
        }
    }
}

impl Leaving for LeavingHost {
    type Room = Option<CountedCall>;

    fn room(self) -> Option<Self::Room> {
        match self.places {
            Some((places, host)) => HostCounts::try_count(places, &host).map(Some),
            None => Some(None),
        }
    }
}
