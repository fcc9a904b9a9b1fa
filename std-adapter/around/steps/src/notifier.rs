// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells a person.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::timeout;

use super::caught::caught;
use super::error::BoxError;
use super::{Job, Status};

/// A job that makes no progress.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stuck {
    /// The job as it was before it failed.
    pub job: Job,
    /// The status now: [`Status::Waiting`] if it will be tried again.
    pub status: Status,
    /// The cause, in words.
    pub error: String,
}

/// Tells a person about a job that makes no progress, for example by mail or chat.
///
/// Called once for a job that is late, and once when it ends without success: this is first marked in the store. For a
/// job that is [tried again](super::Store::retry_now) on command, or taken up after it was parked, the person is
/// notified anew, and its [age](Job::age) is not reset. A call that fails, panics, or takes longer than a minute is
/// repeated up to twice; if the process ends in between, or all three fail, the person is not notified again. A
/// [worker that stops](super::Worker::stop) waits for it.
///
/// Workers without one notify no person, and leave a delay to the next worker that has one; the end of a job is
/// reported by the worker that ends it, or not at all. So give the same one to all.
pub trait Notifier: Send + Sync + 'static {
    /// Tells a person.
    ///
    /// # Errors
    /// Any error; the call is repeated.
    fn notify(&self, stuck: &Stuck) -> impl Future<Output = Result<(), BoxError>> + Send;
}

/// The time limit of one call.
const LIMIT: Duration = Duration::from_secs(60);

type Told<'a> = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send + 'a>>;

/// A [`Notifier`] with its type erased.
pub(super) trait AnyNotifier: Send + Sync {
    fn notify<'a>(&'a self, stuck: &'a Stuck) -> Told<'a>;
}

impl<N: Notifier> AnyNotifier for N {
    fn notify<'a>(&'a self, stuck: &'a Stuck) -> Told<'a> {
        // Called inside the async block, as it may panic before there is a future.
        let told = timeout(LIMIT, async { Notifier::notify(self, stuck).await });
        Box::pin(async move {
            let told = caught(told).await;
            told.unwrap_or_else(|words| Ok(Err(format!("the notifier panicked: {words}").into())))?
        })
    }
}
