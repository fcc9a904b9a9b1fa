// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time at which a body last woke its reader, who may look only later.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use tokio::time::Instant;

/// Wakes the reader of a body, and remembers when.
#[derive(Debug)]
pub(crate) struct BodyWaker(Mutex<LastWake>);

#[derive(Debug)]
struct LastWake {
    reader: Waker,
    /// The first time since the reader has last looked.
    at: Option<Instant>,
}

impl BodyWaker {
    /// With the waker that a body is given in place of its reader's.
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let woken = LastWake {
            reader: Waker::noop().clone(),
            at: None,
        };
        let this = Arc::new(Self(Mutex::new(woken)));
        let waker = Arc::clone(&this).into();
        (this, waker)
    }

    /// Wakes this reader from now on. Returns when it was woken since it looked last.
    pub(crate) fn wake_instead(&self, reader: &Waker) -> Option<Instant> {
        let mut woken = self.woken();
        woken.reader.clone_from(reader);
        woken.at.take()
    }

    pub(crate) fn forget(&self) {
        self.woken().at = None;
    }

    fn woken(&self) -> MutexGuard<'_, LastWake> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for BodyWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let reader = {
            let mut woken = self.woken();
            woken.at.get_or_insert_with(Instant::now);
            woken.reader.clone()
        };
        reader.wake();
    }
}
