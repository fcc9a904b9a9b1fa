//! Results that a caller must hear, or that are kept otherwise.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::refused::Refused;
use crate::engine::{Inner, running};
use crate::job_observer::{JobObserver, text};
use crate::store::{Store, StoreError};
use crate::under_way::Part;
use crate::{JobId, NewJob};

/// The pause after the store's first failure; doubled each time.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps work whose result reached no caller.
pub(super) trait Keeper: Send + Sync + 'static {
    type Store: Store;
    type Error: fmt::Display + Send;

    fn inner(&self) -> &Inner<Self::Store>;

    fn keep_unheard(
        &self,
        refused: &Refused,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Whether another attempt at keeping it may succeed.
    fn may_be_kept_later(error: &Self::Error) -> bool;
}

impl<D: Store> Keeper for Inner<D> {
    type Store = D;
    type Error = StoreError;

    fn inner(&self) -> &Self {
        self
    }

    async fn keep_unheard(&self, refused: &Refused) -> Result<(), StoreError> {
        self.keep(refused).await.map(drop)
    }

    fn may_be_kept_later(_: &StoreError) -> bool {
        true
    }
}

/// Work that is not kept while its caller can hear of it. If dropped because the caller has gone, it is kept after all.
pub(super) struct Unheard<K: Keeper> {
    keeper: Arc<K>,
    refused: Option<Refused>,
    /// The part that the call belongs to.
    part: Arc<Part>,
    runtime: Handle,
    /// Held until it is kept, or its caller hears of it.
    held: Option<Box<dyn Send>>,
}

impl<K: Keeper> Unheard<K> {
    /// Must be called within a runtime.
    pub(super) fn new(keeper: Arc<K>, refused: Refused, part: Arc<Part>) -> Self {
        Self {
            keeper,
            refused: Some(refused),
            part,
            runtime: Handle::current(),
            held: None,
        }
    }

    /// Holds something that is dropped once the work is kept, given up or heard.
    #[cfg(all(feature = "http", target_has_atomic = "64"))]
    pub(super) fn holding(mut self, held: Option<Box<dyn Send>>) -> Self {
        self.held = held;
        self
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
            let held = self.held.take();
            self.runtime.spawn(async move {
                keep_at_last(&*keeper, &refused).await;
                drop((under_way, held));
            });
        }
    }
}

/// Tries until it is kept, or a lease is over.
async fn keep_at_last<K: Keeper>(keeper: &K, refused: &Refused) {
    let until = Instant::now() + keeper.inner().times.lease;
    let mut pause = PAUSE;
    while let Err(error) = keeper.keep_unheard(refused).await {
        if !K::may_be_kept_later(&error) || Instant::now() + pause >= until {
            return keeper.inner().unkept(&refused.job, &error);
        }
        sleep(pause).await;
        pause *= 2;
    }
}

impl<D: Store> Inner<D> {
    /// It is neither done nor kept, and no caller knows.
    pub(super) fn unkept(&self, job: &NewJob, error: &dyn fmt::Display) {
        let job = running(job, JobId::new(0));
        self.observer.unkept(&job, &text(error));
    }
}
