//! Work that goes on even if its caller has gone: a worker that stops waits for it, or gives it up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::engine::Steps;

/// Jobs, calls or messages under way, grouped by when they began. The last part holds those that begin now, and always
/// exists.
pub(super) struct UnderWay(Mutex<Vec<Arc<Part>>>);

/// Work that began between two stops.
pub(super) struct Part {
    count: watch::Sender<usize>,
    gives_up: watch::Sender<bool>,
}

/// One more is under way until this is dropped.
pub(super) struct One {
    pub(super) part: Arc<Part>,
    /// The order to give up.
    pub(super) order: watch::Receiver<bool>,
}

/// Work that began before a stop.
pub(super) struct Before(Vec<Arc<Part>>);

impl UnderWay {
    pub(super) fn new() -> Self {
        Self(Mutex::new(vec![Part::new()]))
    }

    pub(super) fn begin(&self) -> One {
        Part::begin(self.parts().last().expect("always there"))
    }

    /// For a task that also waits for this part, if it has not ended.
    pub(super) fn begin_in(&self, part: &Arc<Part>) -> One {
        let parts = self.parts();
        let same = parts.iter().find(|each| Arc::ptr_eq(each, part));
        Part::begin(same.or(parts.last()).expect("always there"))
    }

    /// Without those that begin from now on: otherwise a busy service would never be done.
    pub(super) fn until_now(&self) -> Before {
        let mut parts = self.parts();
        parts.retain(|part| !part.has_ended());
        let before = parts.clone();
        parts.push(Part::new());
        Before(before)
    }

    /// Gives up all work under way, and all that begins from now on.
    pub(super) fn give_up(&self) {
        for part in &*self.parts() {
            part.gives_up.send_replace(true);
        }
    }

    /// Waits until none is under way.
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

/// Returns when it is to be given up; never, if there is no sender left to say so.
pub(super) async fn until_given_up(order: &mut watch::Receiver<bool>) {
    if order.wait_for(|gives_up| *gives_up).await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl<D> Steps<D> {
    /// Waits until no work that was started at once is under way here: by [`run`](Self::run) or
    /// [`call_or_keep`](Self::call_or_keep), and requests that a `KeepLayer` may keep. Such work goes on when its
    /// callers have gone, but not when the runtime ends: call this in a process that was told to exit and has no
    /// [worker](super::Worker::stop), once it accepts no more requests. Each step takes at most its [time
    /// limit](super::StepsBuilder::time_limit), plus the time the store takes; a request takes as long as its client
    /// does.
    ///
    /// ```
    /// # use atomic_breaker_steps::{MemoryStore, Steps};
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
