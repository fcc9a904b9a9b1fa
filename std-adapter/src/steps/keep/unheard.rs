//! What its caller must hear, or else is kept.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::super::EnqueueError;
use super::super::engine::{Inner, Ran};
use super::super::store::{Store, StoreError};
use super::refused::Refused;

/// The pause after the first time that the store failed; doubled each time.
const PAUSE: Duration = Duration::from_millis(100);

/// What is not kept, as its caller hears of it. If it is dropped instead, as the caller has gone, it is kept after all.
pub(super) struct Unheard<D: Store> {
    inner: Arc<Inner<D>>,
    refused: Option<Refused>,
    /// Why it could not be kept.
    store: Option<StoreError>,
    runtime: Handle,
}

impl<D: Store> Unheard<D> {
    /// Within a runtime.
    pub(super) fn new(inner: Arc<Inner<D>>, refused: Refused, store: Option<StoreError>) -> Self {
        Self {
            inner,
            refused: Some(refused),
            store,
            runtime: Handle::current(),
        }
    }

    pub(super) fn hear<S>(mut self) -> Result<Ran<S>, EnqueueError> {
        let refused = self.refused.take().expect("heard once");
        match self.store.take() {
            None => Ok(Ran::Ended {
                id: None,
                error: refused.words(),
            }),
            Some(store) => Err(EnqueueError::NotKept {
                why: refused.into_error(),
                store,
            }),
        }
    }
}

impl<D: Store> Drop for Unheard<D> {
    fn drop(&mut self) {
        if let Some(refused) = self.refused.take() {
            let inner = Arc::clone(&self.inner);
            let under_way = inner.calls.begin();
            self.runtime.spawn(async move {
                keep_at_last(inner, refused).await;
                drop(under_way);
            });
        }
    }
}

/// Until it is kept, or a lease is over.
async fn keep_at_last<D: Store>(inner: Arc<Inner<D>>, refused: Refused) {
    let until = Instant::now() + inner.times.lease;
    let mut pause = PAUSE;
    while inner.keep(&refused).await.is_err() && Instant::now() + pause < until {
        sleep(pause).await;
        pause *= 2;
    }
}
