// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clients that most services have, each behind a breaker: `docs/clients.md` shows these files.

pub mod deadpool_postgres;
pub mod lettre;
pub mod redis;
pub mod s3;
pub mod sqlstate;
pub mod sqlx;

use std::error::Error;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Config, Failure, Guard, GuardPermit, Outcome, Report, Resource, ServiceError, Timed,
};
use tokio::time::timeout;

/// For all of a call: the wait for a connection, the connect, the query, the answer.
pub const LIMIT: Duration = Duration::from_secs(1);

/// For a part of it, so that the error says which part it was.
pub const PART: Duration = Duration::from_millis(500);

pub fn rules() -> Config {
    Config::new()
        .consecutive_failures(5)
        .open_for(Duration::from_secs(1))
        .jitter_percent(20)
}

/// One call, within the limit. A probe repairs first: no other call is let through at that moment.
pub async fn guarded<'a, T, E>(
    server: &'a Resource,
    report: impl Report<T, Timed<E>, Output<GuardPermit<&'a Resource>> = T>,
    repair: impl FnOnce(),
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, ServiceError<Timed<E>>> {
    let permit = server.acquire()?;
    let is_probe = permit.is_probe();
    let limited = async || {
        if is_probe {
            repair();
        }
        match timeout(LIMIT, call).await {
            Ok(answer) => answer.map_err(Timed::Failed),
            Err(_) => Err(Timed::TimedOut),
        }
    };
    let answer = permit.run_async(report, limited).await;
    answer.map_err(ServiceError::Failed)
}

/// Judges the errors of a client; a call that takes too long has failed. Keeps the words of the failure, so that rejections
/// say why.
pub struct Errors<C>(pub C);

impl<T, E: Error, C: Fn(&E) -> Outcome> Report<T, Timed<E>> for Errors<C> {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, answer: Result<T, Timed<E>>) -> Result<T, Timed<E>> {
        let outcome = match &answer {
            Ok(_) => Outcome::Success,
            Err(Timed::Failed(error)) => (self.0)(error),
            Err(Timed::TimedOut) => Failure::new().into(),
        };
        permit.report_because(outcome, || words(answer.as_ref().err()));
        answer
    }
}

/// One write, behind a breaker of its own around the call, which is behind that of its server: while a disk is full, writes
/// fail and reads succeed. `judge` says which errors are of writes alone, and ignores those that the other breaker counts.
pub async fn written<T, E: Error>(
    writes: &Resource,
    judge: impl Fn(&E) -> Outcome,
    call: impl Future<Output = Result<T, ServiceError<Timed<E>>>>,
) -> Result<T, ServiceError<Timed<E>>> {
    let permit = writes.acquire()?;
    permit.run_async(Writes(judge), || call).await
}

/// Judges writes whose server has a breaker inside, which counts what takes too long.
struct Writes<J>(J);

impl<T, E: Error, J: Fn(&E) -> Outcome> Report<T, ServiceError<Timed<E>>> for Writes<J> {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(
        &self,
        permit: P,
        answer: Result<T, ServiceError<Timed<E>>>,
    ) -> Result<T, ServiceError<Timed<E>>> {
        match &answer {
            Ok(_) => permit.report(Outcome::Success),
            Err(ServiceError::Failed(Timed::Failed(error))) => {
                permit.report_because((self.0)(error), || words(Some(error)))
            }
            Err(_) => permit.report(Outcome::Ignored),
        };
        answer
    }
}

/// The number of calls that a server has answered. While it answers some, others that wait for a place in the pool do so because it is
/// too small, which is no failure of the server.
#[derive(Debug, Default)]
pub(crate) struct Answers(AtomicU32);

impl Answers {
    /// To be read when the wait begins.
    pub(crate) fn so_far(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn note<T, E>(&self, answer: &Result<T, E>, classify: impl Fn(&E) -> Outcome) {
        if answer.as_ref().err().map_or(Outcome::Success, classify) == Outcome::Success {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// With the causes, which most clients leave out and some repeat.
pub(crate) fn words(error: Option<&impl Error>) -> String {
    let Some(error) = error else {
        return "too slow".to_owned();
    };
    let (mut words, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.ends_with(&text) {
            let _ = write!(words, ": {text}");
        }
        cause = error.source();
    }
    words
}

/// A value that a repair replaces while calls are in flight: each keeps the one with which it began.
pub(crate) struct Current<T>(RwLock<T>);

impl<T: Clone> Current<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    pub(crate) fn get(&self) -> T {
        // Nothing under the lock panics.
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn replace(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}
