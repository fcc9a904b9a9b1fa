//! Jobs that are run at once: a worker that stops waits for them, too.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

/// Those that were run since a worker stopped last.
pub(super) struct Called(Mutex<Since>);

/// What each of them holds.
pub(super) struct Call {
    _running: mpsc::Sender<()>,
    /// To give up.
    pub(super) order: watch::Receiver<bool>,
}

/// Those that were run before a worker stopped.
pub(super) struct Since {
    running: mpsc::Sender<()>,
    /// Closed when the last one has ended.
    ended: mpsc::Receiver<()>,
    gives_up: watch::Sender<bool>,
}

impl Called {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Since::new()))
    }

    pub(super) fn begin(&self) -> Call {
        let since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Call {
            _running: since.running.clone(),
            order: since.gives_up.subscribe(),
        }
    }

    /// Not those that begin from now on: a service that goes on would never be done.
    pub(super) fn until_now(&self) -> Since {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut since, Since::new())
    }
}

impl Since {
    fn new() -> Self {
        let (running, ended) = mpsc::channel(1);
        Self {
            running,
            ended,
            gives_up: watch::Sender::new(false),
        }
    }

    pub(super) fn give_up(&self) {
        self.gives_up.send_replace(true);
    }

    /// Until all have ended.
    pub(super) async fn end(&mut self) {
        // This one's own sender goes, and theirs stay.
        self.running = mpsc::channel(1).0;
        while self.ended.recv().await.is_some() {}
    }
}
