//! Who tells a person.

use std::error::Error;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::timeout;

use super::caught::caught;
use super::{Job, Status};

/// A job that does not go forward.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stuck {
    /// The job, as it was found before it failed.
    pub job: Job,
    /// What it is now: [`Status::Waiting`] if it is tried again.
    pub status: Status,
    /// Why, in words.
    pub error: String,
}

/// Tells a person of a job that does not go forward: by mail, or in a chat.
///
/// It is asked once for each job: that is marked in the store first. What fails, panics, or takes longer than a minute, is tried
/// twice more; if the process ends in between, or all three fail, nobody is told again. A
/// [worker that stops](super::Worker::stop) waits for it.
pub trait Notifier: Send + Sync + 'static {
    /// Tells somebody.
    ///
    /// # Errors
    /// Any; it is tried again.
    fn notify(
        &self,
        stuck: &Stuck,
    ) -> impl Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send;
}

/// How long a try may take.
const LIMIT: Duration = Duration::from_secs(60);

type Told<'a> = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'a>>;

/// A [`Notifier`] whose type is not named.
pub(super) trait AnyNotifier: Send + Sync {
    fn notify<'a>(&'a self, stuck: &'a Stuck) -> Told<'a>;
}

impl<N: Notifier> AnyNotifier for N {
    fn notify<'a>(&'a self, stuck: &'a Stuck) -> Told<'a> {
        // Within, as it may panic before there is a future.
        let told = timeout(LIMIT, async { Notifier::notify(self, stuck).await });
        Box::pin(async move {
            let told = caught(told).await;
            told.unwrap_or_else(|words| Ok(Err(format!("the notifier panicked: {words}").into())))?
        })
    }
}
