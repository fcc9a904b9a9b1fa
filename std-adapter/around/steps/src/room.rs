// SPDX-License-Identifier: MIT OR Apache-2.0
//! Room for the steps of a lane. Only a step that is ready to run takes any: looking for a job, keeping one and saving
//! one take none, however long the store needs, as a place or a probe that waits for the store is missing elsewhere.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::State;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use super::in_progress::Batch;
use super::lane::{Full, HeldPermit, Lane};

/// The interval at which a job asks for its share of returning traffic.
const RETURNING: Duration = Duration::from_millis(100);

/// A lane with room for its steps.
pub(super) struct Room {
    pub(super) lane: Lane,
    free: Arc<Semaphore>,
    /// The bound of the requests that are kept for this lane.
    #[cfg(feature = "http")]
    pub(super) kept: crate::bound::Bound,
    /// A job that is due here has come.
    pub(super) came: Notify,
}

/// A place among the steps that may run here at the same time.
pub(super) struct Place(OwnedSemaphorePermit);

/// The right to run one step here.
pub(super) struct Start {
    pub(super) permit: HeldPermit,
    place: Place,
}

/// The answer to a step that is ready to run.
pub(super) enum Begin {
    /// The step runs now.
    Now(Start),
    /// Traffic returns, and this time the share of the step went to other calls: it asks again.
    Soon(Place),
    Not(Full),
}

impl Room {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            free: Arc::new(Semaphore::new(lane.at_once as usize)),
            lane,
            #[cfg(feature = "http")]
            kept: crate::bound::Bound::default(),
            came: Notify::new(),
        }
    }

    /// Takes a place, if one is free.
    pub(super) fn place(&self) -> Option<Place> {
        let free = Arc::clone(&self.free).try_acquire_owned();
        free.ok().map(Place)
    }

    /// The place for the next step of a job, here: that of the step before, if it ran here, too.
    pub(super) fn place_after(&self, before: Start) -> Option<Place> {
        if Arc::ptr_eq(before.place.0.semaphore(), &self.free) {
            return Some(before.place);
        }
        self.place()
    }

    /// The number of steps that could run now, up to this many, and what to wait for before more are worth asking for.
    pub(super) fn could_start(&self, most: usize) -> (usize, Full) {
        let free = self.free.available_permits();
        let (many, full) = self.lane.would_admit(most.min(free));
        (many, full.unwrap_or(Full::Room))
    }

    /// Returns whether the breaker would admit a step that has a place.
    pub(super) fn would_admit(&self) -> bool {
        self.lane.would_admit(1).0 > 0
    }

    /// Runs a call now, or not at all.
    pub(super) fn start(&self) -> Result<Start, Full> {
        let place = self.place().ok_or(Full::Room)?;
        let permit = self.lane.admit()?;
        Ok(Start { permit, place })
    }

    /// Asks once for the right to run a step in this place.
    pub(super) fn begin(&self, place: Place) -> Begin {
        match self.lane.admit() {
            Ok(permit) => Begin::Now(Start { permit, place }),
            Err(Full::Rejected(rejected)) if rejected.state() == State::Returning => {
                Begin::Soon(place)
            }
            Err(full) => Begin::Not(full),
        }
    }

    /// Asks again while traffic returns: a job that has come this far is not put back for others at each draw. Until
    /// this time is over, or the work is to give up.
    pub(super) async fn begin_soon(
        &self,
        mut begin: Begin,
        time: Duration,
        batch: &Batch,
    ) -> Option<Start> {
        let until = Instant::now() + time;
        loop {
            let place = match begin {
                Begin::Now(start) => return Some(start),
                Begin::Soon(place) if Instant::now() < until => place,
                Begin::Soon(_) | Begin::Not(_) => return None,
            };
            tokio::select! {
                () = sleep(RETURNING) => {}
                () = batch.given_up() => return None,
            }
            begin = self.begin(place);
        }
    }

    /// Waits until there is room.
    pub(super) async fn has_room(&self) {
        // Never closed.
        let _ = self.free.acquire().await;
    }
}
