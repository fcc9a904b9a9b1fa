//! What goes on though its caller may have gone.

use std::sync::Arc;

use tokio::sync::watch;

use super::super::engine::Steps;

/// How many calls are under way.
#[derive(Clone)]
pub(in super::super) struct Calls(Arc<watch::Sender<usize>>);

impl Calls {
    pub(in super::super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    pub(super) fn begin(&self) -> UnderWay {
        self.0.send_modify(|calls| *calls += 1);
        UnderWay(self.clone())
    }
}

/// One more is under way until this is dropped.
pub(super) struct UnderWay(Calls);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.send_modify(|calls| *calls -= 1);
    }
}

impl<D> Steps<D> {
    /// Waits until no call is under way here: those of [`call_or_keep`](Self::call_or_keep), and requests that a
    /// `KeepLayer` may keep. They go on when their callers have gone, but not when the runtime ends: for a process
    /// that is told to go, when it takes no more requests. Each takes a [time limit](super::super::StepsBuilder::time_limit)
    /// at most, besides what the store takes.
    ///
    /// ```
    /// # use atomic_breaker_std::steps::{MemoryStore, Steps};
    /// use std::time::Duration;
    /// use tokio::time::timeout;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let steps = Steps::builder(MemoryStore::new()).build()?;
    /// # let worker = steps.work();
    /// worker.stop_within(Duration::from_secs(10)).await;
    /// if timeout(Duration::from_secs(10), steps.calls_ended()).await.is_err() {
    ///     eprintln!("calls are broken off");
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn calls_ended(&self) {
        let mut calls = self.0.calls.0.subscribe();
        // The sender is held here.
        let _ = calls.wait_for(|calls| *calls == 0).await;
    }
}
