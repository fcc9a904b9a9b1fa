//! Which tries go on when their callers leave: those of the guard's layer and of the middleware.

use std::sync::Arc;

use crate::{Counted, InFlightCounts, Leaving, Origin};

/// What a try needs when its caller leaves: one of the places of its host.
#[derive(Debug)]
pub(crate) struct LeavingHost {
    /// `None` for a probe, as the breaker bounds their number.
    places: Option<(Arc<InFlightCounts>, Origin)>,
}

impl LeavingHost {
    pub(crate) fn new(places: Arc<InFlightCounts>, host: Origin, is_probe: bool) -> Self {
        Self {
            places: (!is_probe).then_some((places, host)),
        }
    }
}

impl Leaving for LeavingHost {
    type Room = Option<Counted<Arc<InFlightCounts>>>;

    fn room(self) -> Option<Self::Room> {
        match self.places {
            Some((places, host)) => InFlightCounts::try_count(places, &host).map(Some),
            None => Some(None),
        }
    }
}
