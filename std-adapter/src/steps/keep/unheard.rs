//! What its caller must hear, or else is kept.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::super::engine::Inner;
use super::super::store::{Store, StoreError};
use super::super::under_way::Part;
use super::refused::Refused;

/// The pause after the first time that the store failed; doubled each time.
const PAUSE: Duration = Duration::from_millis(100);

/// Who keeps what nobody heard of.
pub(super) trait Keeper: Send + Sync + 'static {
    type Store: Store;

    fn inner(&self) -> &Inner<Self::Store>;

    /// Once; it may be asked again after an error.
    fn keep_unheard(
        &self,
        refused: &Refused,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl<D: Store> Keeper for Inner<D> {
    type Store = D;

    fn inner(&self) -> &Self {
        self
    }

    async fn keep_unheard(&self, refused: &Refused) -> Result<(), StoreError> {
        self.keep(refused).await.map(drop)
    }
}

/// What is not kept, as its caller hears of it. If it is dropped instead, as the caller has gone, it is kept after all.
pub(super) struct Unheard<K: Keeper> {
    keeper: Arc<K>,
    refused: Option<Refused>,
    /// Of the call.
    part: Arc<Part>,
    runtime: Handle,
}

impl<K: Keeper> Unheard<K> {
    /// Within a runtime.
    pub(super) fn new(keeper: Arc<K>, refused: Refused, part: Arc<Part>) -> Self {
        Self {
            keeper,
            refused: Some(refused),
            part,
            runtime: Handle::current(),
        }
    }

    pub(super) fn hear(mut self) -> Refused {
        self.refused.take().expect("heard once")
    }
}

impl<K: Keeper> Drop for Unheard<K> {
    fn drop(&mut self) {
        if let Some(refused) = self.refused.take() {
            let keeper = Arc::clone(&self.keeper);
            let under_way = keeper.inner().called.begin_in(&self.part);
            self.runtime.spawn(async move {
                keep_at_last(&*keeper, &refused).await;
                drop(under_way);
            });
        }
    }
}

/// Until it is kept, or a lease is over.
async fn keep_at_last<K: Keeper>(keeper: &K, refused: &Refused) {
    let until = Instant::now() + keeper.inner().times.lease;
    let mut pause = PAUSE;
    while keeper.keep_unheard(refused).await.is_err() && Instant::now() + pause < until {
        sleep(pause).await;
        pause *= 2;
    }
}
