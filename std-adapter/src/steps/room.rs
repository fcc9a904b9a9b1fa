//! Room for the steps of a lane.

use std::sync::Arc;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::lane::{Admitted, Lane};
use crate::resource::Rejection;

/// A lane with room for its steps.
pub(super) struct Room {
    pub(super) lane: Lane,
    free: Arc<Semaphore>,
    /// A job came that is due here.
    pub(super) came: Notify,
}

/// The right to run one step here.
pub(super) struct Start {
    pub(super) admitted: Admitted,
    room: OwnedSemaphorePermit,
}

/// Why none may start.
pub(super) enum Full {
    /// As many run as may.
    Room,
    Rejected(Rejection),
    /// Its breaker panicked, or who observes it: with these words.
    Panicked(String),
}

impl Room {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            free: Arc::new(Semaphore::new(lane.at_once as usize)),
            lane,
            came: Notify::new(),
        }
    }

    pub(super) fn start(&self) -> Result<Start, Full> {
        let room = Arc::clone(&self.free).try_acquire_owned();
        let room = room.map_err(|_| Full::Room)?;
        Ok(Start {
            admitted: self.lane.admit()?,
            room,
        })
    }

    /// The right to the next step of a job, here. If the step before ran here, too, its room is kept.
    pub(super) fn start_after(&self, before: Start) -> Result<Start, Full> {
        if !Arc::ptr_eq(before.room.semaphore(), &self.free) {
            return self.start();
        }
        let admitted = self.lane.admit()?;
        Ok(Start { admitted, ..before })
    }

    /// Until there is room.
    pub(super) async fn has_room(&self) {
        // Never closed.
        let _ = self.free.acquire().await;
    }
}
