//! What a caller learns who is rejected.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::{CallError, Rejected, State, Wait};

use super::LastFailure;

/// A rejected call: how long to wait, and the failure that opened the breaker, where it is kept.
///
/// ```
/// use atomic_breaker_std::{Config, Rejection, Resource, breaker};
///
/// static PAYMENTS: Resource = Resource::new(breaker(Config::new().consecutive_failures(1)));
///
/// let permit = PAYMENTS.acquire().unwrap();
/// permit.report_because(atomic_breaker_std::Failure::new().into(), || "503 Service Unavailable".into());
/// let rejection: Rejection = PAYMENTS.acquire().unwrap_err();
/// assert!(rejection.retry_in().is_some());
/// assert!(rejection.to_string().ends_with("(last failure: 503 Service Unavailable)"));
/// # use atomic_breaker_std::AnyPermit;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// The state, and how long to wait.
    pub rejected: Rejected,
    /// The failure that opened the breaker, where it is kept.
    pub last_failure: Option<Arc<LastFailure>>,
    /// How many tries of the same request were made before, and failed: above a retry, whose last try was not
    /// made. 0 if nothing was done.
    pub failed_tries: u32,
}

impl Rejection {
    /// How long to wait: [`Rejected::wait`].
    pub const fn wait(&self) -> Wait {
        self.rejected.wait()
    }

    /// When it is worth coming back: [`Rejected::retry_in`].
    pub const fn retry_in(&self) -> Option<Duration> {
        self.rejected.retry_in()
    }

    /// The state that rejected.
    pub const fn state(&self) -> State {
        self.rejected.state()
    }
}

impl From<Rejected> for Rejection {
    fn from(rejected: Rejected) -> Self {
        Self {
            rejected,
            last_failure: None,
            failed_tries: 0,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rejected.fmt(f)?;
        match &self.last_failure {
            Some(failure) => write!(f, " (last failure: {failure})"),
            None => Ok(()),
        }
    }
}

impl Error for Rejection {}

/// Why a guarded service gave no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceError<E> {
    /// The request was not made: the breaker rejected it. Above a retry: the last try was not made.
    Rejected(Rejection),
    /// The service failed.
    Failed(E),
}

impl<E> ServiceError<E> {
    /// The rejection, if it is one.
    pub const fn rejected(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::Failed(_) => None,
        }
    }

    /// The error of the service, if it is one.
    pub fn failed(self) -> Option<E> {
        match self {
            Self::Rejected(_) => None,
            Self::Failed(error) => Some(error),
        }
    }
}

impl<E: From<Rejection>> ServiceError<E> {
    /// One error for both cases, where the service's error can be made of a [`Rejection`]: an error of yours
    /// with a variant for it, `anyhow::Error`, or tower's `BoxError`, which is not an `Error` itself.
    ///
    /// So a stack goes on around a breaker over services that give a `BoxError`, as tower's own time-out and
    /// buffer do; who wants to know asks `error.is::<Rejection>()`:
    ///
    /// ```
    /// # #[cfg(feature = "tower")] {
    /// use atomic_breaker_std::tower::BreakerLayer;
    /// use atomic_breaker_std::{Breaker, Config, Rejection, ServiceError, breaker};
    /// use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};
    ///
    /// static PAYMENTS: Breaker = breaker(Config::new());
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let payments = ServiceBuilder::new()
    ///     .map_err(ServiceError::merge)
    ///     .layer(BreakerLayer::new(&PAYMENTS))
    ///     .service(service_fn(|amount: u32| async move { Ok::<_, BoxError>(amount) }));
    /// PAYMENTS.trip();
    /// let error: BoxError = payments.oneshot(7).await.unwrap_err();
    /// assert!(error.is::<Rejection>());
    /// # }
    /// # main();
    /// # }
    /// ```
    pub fn merge(self) -> E {
        match self {
            Self::Rejected(rejection) => rejection.into(),
            Self::Failed(error) => error,
        }
    }
}

impl<E> From<CallError<E>> for ServiceError<E> {
    fn from(error: CallError<E>) -> Self {
        match error {
            CallError::Rejected(rejected) => Self::Rejected(rejected.into()),
            CallError::Failed(error) => Self::Failed(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for ServiceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for ServiceError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Shown by `Display`, too; but found here whatever `E` is, by those who walk a chain.
            Self::Rejected(rejection) => Some(rejection),
            // `Display` shows the service's error itself, so the chain goes on below it.
            Self::Failed(error) => error.source(),
        }
    }
}
