// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that goes on even if its caller has gone: a worker that stops waits for it, or makes it give up.
//!
//! A worker waits for what began before it stopped, and not for what begins afterwards: otherwise it would never stop in
//! a busy service. So work belongs to the batch of its time, and each stop begins another one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::sync::watch::{Receiver, Sender};
use tokio::task::JoinError;

/// Calls or messages in progress, by batch. The last batch has those that begin now, and always exists.
#[derive(Debug)]
pub(crate) struct UnderWay(Mutex<Vec<Batch>>);

/// Work that is waited for together, and gives up when `true` is sent.
#[derive(Clone, Debug)]
pub(crate) struct Batch(Arc<Sender<bool>>);

/// Counts one piece of work as in progress until dropped.
pub(crate) struct InProgress {
    pub(crate) batch: Batch,
    _counted: Receiver<bool>,
}

impl UnderWay {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(vec![Batch::new()]))
    }

    pub(crate) fn begin(&self) -> InProgress {
        self.batches().last().expect("always there").begin()
    }

    /// Begins work that a stop waits for together with this batch, as long as that is in progress.
    pub(crate) fn begin_in(&self, batch: &Batch) -> InProgress {
        let batches = self.batches();
        let same = batches.iter().find(|each| Arc::ptr_eq(&each.0, &batch.0));
        same.or(batches.last()).expect("always there").begin()
    }

    /// The batches that are in progress now; any that begin later belong to another batch.
    pub(crate) fn until_now(&self) -> Vec<Batch> {
        let mut batches = self.batches();
        batches.retain(Batch::is_in_progress);
        let before = batches.clone();
        batches.push(Batch::new());
        before
    }

    /// Waits until none is in progress.
    pub(crate) async fn ended(&self) {
        let in_progress = || {
            let batches = self.batches();
            batches.iter().find(|batch| batch.is_in_progress()).cloned()
        };
        while let Some(batch) = in_progress() {
            batch.ended().await;
        }
    }

    fn batches(&self) -> MutexGuard<'_, Vec<Batch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Sender::new(false)))
    }

    pub(crate) fn begin(&self) -> InProgress {
        InProgress {
            batch: self.clone(),
            _counted: self.0.subscribe(),
        }
    }

    fn is_in_progress(&self) -> bool {
        !self.0.is_closed()
    }

    pub(crate) async fn ended(&self) {
        self.0.closed().await;
    }

    /// Makes all its work give up, and all that begins later.
    pub(crate) fn give_up(&self) {
        self.0.send_replace(true);
    }

    /// Waits for the order to give up.
    pub(crate) async fn given_up(&self) {
        // The sender is held here.
        let _ = self.0.subscribe().wait_for(|gives_up| *gives_up).await;
    }
}

impl InProgress {
    /// Runs work in a task of its own, which goes on if the returned future is dropped. Its result is dropped then,
    /// before the work has ended.
    pub(crate) fn spawn<T, F>(
        self,
        work: impl FnOnce(Batch) -> F,
    ) -> impl Future<Output = Result<T, JoinError>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (result, came) = oneshot::channel();
        let work = work(self.batch.clone());
        let task = tokio::spawn(async move {
            let _ = result.send(work.await);
            drop(self);
        });
        async {
            match came.await {
                Ok(result) => Ok(result),
                Err(_) => Err(task.await.expect_err("it would have sent a result")),
            }
        }
    }
}
