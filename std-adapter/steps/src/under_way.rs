//! Work that goes on even if its caller has gone: a worker that stops waits for it, or gives it up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch::{Receiver, Sender};

use super::engine::Steps;

/// Jobs, calls or messages under way, grouped by when they began. The last part holds those that begin now, and always
/// exists.
#[derive(Debug)]
pub(super) struct UnderWay(Mutex<Vec<Part>>);

/// Work that began between two stops, and gives itself up when it receives `true`.
#[derive(Clone, Debug)]
pub(super) struct Part(Arc<Sender<bool>>);

/// One more is under way until this is dropped.
pub(super) struct One {
    pub(super) part: Part,
    _counted: Receiver<bool>,
}

/// Work that began before a stop.
pub(super) struct Before(Vec<Part>);

impl UnderWay {
    pub(super) fn new() -> Self {
        Self(Mutex::new(vec![Part::new()]))
    }

    pub(super) fn begin(&self) -> One {
        self.parts().last().expect("always there").begin()
    }

    /// For a task that also waits for this part, if it has not ended.
    pub(super) fn begin_in(&self, part: &Part) -> One {
        let parts = self.parts();
        let same = parts.iter().find(|each| Arc::ptr_eq(&each.0, &part.0));
        same.or(parts.last()).expect("always there").begin()
    }

    /// Without those that begin from now on: otherwise a busy service would never be done.
    pub(super) fn until_now(&self) -> Before {
        let mut parts = self.parts();
        parts.retain(Part::is_under_way);
        let before = parts.clone();
        parts.push(Part::new());
        Before(before)
    }

    /// Gives up all work under way, and all that begins from now on.
    pub(super) fn give_up(&self) {
        Before(self.parts().clone()).give_up();
    }

    /// Waits until none is under way.
    pub(super) async fn ended(&self) {
        let under_way = || {
            self.parts()
                .iter()
                .find(|part| part.is_under_way())
                .cloned()
        };
        while let Some(part) = under_way() {
            part.0.closed().await;
        }
    }

    fn parts(&self) -> MutexGuard<'_, Vec<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Before {
    pub(super) fn give_up(&self) {
        for part in &self.0 {
            part.0.send_replace(true);
        }
    }

    pub(super) async fn ended(&self) {
        for part in &self.0 {
            part.0.closed().await;
        }
    }
}

impl Part {
    fn new() -> Self {
        Self(Arc::new(Sender::new(false)))
    }

    fn begin(&self) -> One {
        One {
            part: self.clone(),
            _counted: self.0.subscribe(),
        }
    }

    fn is_under_way(&self) -> bool {
        !self.0.is_closed()
    }

    /// Waits for the order to give up.
    pub(super) async fn given_up(&self) {
        // The sender is held here.
        let _ = self.0.subscribe().wait_for(|gives_up| *gives_up).await;
    }
}

impl<D> Steps<D> {
    /// Waits until no work that was started at once is under way here: by [`run`](Self::run) or
    /// [`call_or_keep`](Self::call_or_keep), and requests that a `KeepLayer` may keep. Such work goes on when its
    /// callers have gone, but not when the runtime ends: call this, with a timeout around it, in a process that was told
    /// to exit and has no [worker](super::Worker::stop), once it accepts no more requests. Each step takes at most its
    /// [time limit](super::StepsBuilder::time_limit), plus the time the store takes.
    pub async fn calls_ended(&self) {
        self.0.called.ended().await;
    }
}
