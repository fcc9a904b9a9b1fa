//! Room for the steps of a lane.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::lane::{Admitted, Lane};
use atomic_breaker_resource::Rejection;

/// A lane with room for its steps.
pub(super) struct Room {
    pub(super) lane: Lane,
    free: Arc<Semaphore>,
    /// Starts that workers hold while they only look for jobs.
    lent: Mutex<Vec<Start>>,
    /// How many requests are kept for this lane.
    #[cfg(feature = "http")]
    pub(super) kept: crate::bound::Bound,
    /// A job that is due here has come.
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
    /// Its breaker panicked, or an observer of it: with this message.
    Panicked(String),
}

impl Room {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            free: Arc::new(Semaphore::new(lane.at_once as usize)),
            lane,
            lent: Mutex::default(),
            #[cfg(feature = "http")]
            kept: crate::bound::Bound::default(),
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

    /// The same for a step that is ready to run: it goes before those that a worker only looks for.
    pub(super) fn start_now(&self) -> Result<Start, Full> {
        self.start().or_else(|full| {
            let lent = self.lent().pop();
            lent.map_or(Err(full), |start| self.again(start))
        })
    }

    /// Reuses a right that was held for a while, or takes another one if it no longer counts.
    pub(super) fn again(&self, mut start: Start) -> Result<Start, Full> {
        if !start.admitted.renew() {
            start.admitted.give_back();
            start.admitted = self.lane.admit()?;
        }
        Ok(start)
    }

    /// Until they are [taken back](Self::take_back), a step that is ready may start with one of these.
    pub(super) fn lend(&self, starts: Vec<Start>) {
        self.lent().extend(starts);
    }

    /// As many as were lent, less those that were taken.
    pub(super) fn take_back(&self, most: usize) -> Vec<Start> {
        let mut lent = self.lent();
        let rest = lent.len().saturating_sub(most);
        lent.split_off(rest)
    }

    fn lent(&self) -> MutexGuard<'_, Vec<Start>> {
        // No breaker is asked under the lock.
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to the next step of a job, here. If the previous step ran here, too, its room is reused.
    pub(super) fn start_after(&self, before: Start) -> Result<Start, Full> {
        if !Arc::ptr_eq(before.room.semaphore(), &self.free) {
            return self.start_now();
        }
        let admitted = self.lane.admit()?;
        Ok(Start { admitted, ..before })
    }

    /// Waits until there is room.
    pub(super) async fn has_room(&self) {
        // Never closed.
        let _ = self.free.acquire().await;
    }
}
