//! What goes on though whoever asked for it may have gone: who stops waits for it, or gives it up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::engine::Steps;

/// Jobs, calls or messages that are under way, by when they began. The last part is that of those that begin now, and is
/// always there.
pub(super) struct UnderWay(Mutex<Vec<Arc<Part>>>);

/// What began between two that stopped.
pub(super) struct Part {
    count: watch::Sender<usize>,
    gives_up: watch::Sender<bool>,
}

/// One more is under way until this is dropped.
pub(super) struct One {
    pub(super) part: Arc<Part>,
    /// To give up.
    pub(super) order: watch::Receiver<bool>,
}

/// What began before somebody stopped.
pub(super) struct Before(Vec<Arc<Part>>);

impl UnderWay {
    pub(super) fn new() -> Self {
        Self(Mutex::new(vec![Part::new()]))
    }

    pub(super) fn begin(&self) -> One {
        Part::begin(self.parts().last().expect("always there"))
    }

    /// For whoever waits for this part, too, if it has not ended.
    pub(super) fn begin_in(&self, part: &Arc<Part>) -> One {
        let parts = self.parts();
        let same = parts.iter().find(|each| Arc::ptr_eq(each, part));
        Part::begin(same.or(parts.last()).expect("always there"))
    }

    /// Not those that begin from now on: a service that goes on would never be done.
    pub(super) fn until_now(&self) -> Before {
        let mut parts = self.parts();
        parts.retain(|part| !part.has_ended());
        let before = parts.clone();
        parts.push(Part::new());
        Before(before)
    }

    /// Gives up all, and those that begin from now on.
    pub(super) fn give_up(&self) {
        for part in &*self.parts() {
            part.gives_up.send_replace(true);
        }
    }

    /// Until none is under way.
    pub(super) async fn ended(&self) {
        while let Some(part) = self.first() {
            part.ended().await;
        }
    }

    fn first(&self) -> Option<Arc<Part>> {
        let parts = self.parts();
        parts.iter().find(|part| !part.has_ended()).cloned()
    }

    fn parts(&self) -> MutexGuard<'_, Vec<Arc<Part>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Before {
    pub(super) fn give_up(&self) {
        for part in &self.0 {
            part.gives_up.send_replace(true);
        }
    }

    pub(super) async fn ended(&self) {
        for part in &self.0 {
            part.ended().await;
        }
    }
}

impl Part {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            count: watch::Sender::new(0),
            gives_up: watch::Sender::new(false),
        })
    }

    fn begin(self: &Arc<Self>) -> One {
        self.count.send_modify(|count| *count += 1);
        One {
            part: Arc::clone(self),
            order: self.gives_up.subscribe(),
        }
    }

    fn has_ended(&self) -> bool {
        *self.count.borrow() == 0
    }

    async fn ended(&self) {
        let mut count = self.count.subscribe();
        // The sender is held here.
        let _ = count.wait_for(|count| *count == 0).await;
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.part.count.send_if_modified(|count| {
            *count -= 1;
            *count == 0
        });
    }
}

/// Returns when it is to be given up; never, if there is nobody who could say so.
pub(super) async fn until_given_up(order: &mut watch::Receiver<bool>) {
    if order.wait_for(|gives_up| *gives_up).await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl<D> Steps<D> {
    /// Waits until nothing is under way here that was begun at once: by [`run`](Self::run) or
    /// [`call_or_keep`](Self::call_or_keep), and requests that a `KeepLayer` may keep. They go on when their callers have
    /// gone, but not when the runtime ends: for a process that is told to go, and has no
    /// [worker](super::Worker::stop), when it takes no more requests. Each step takes a
    /// [time limit](super::StepsBuilder::time_limit) at most, besides what the store takes; a request what its client
    /// takes.
    ///
    /// ```
    /// # use atomic_breaker_std::steps::{MemoryStore, Steps};
    /// use std::time::Duration;
    /// use tokio::time::timeout;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let steps = Steps::builder(MemoryStore::new()).build()?;
    /// if timeout(Duration::from_secs(10), steps.calls_ended()).await.is_err() {
    ///     eprintln!("calls are broken off");
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn calls_ended(&self) {
        self.0.called.ended().await;
    }
}
