// SPDX-License-Identifier: MIT OR Apache-2.0
//! tokio-postgres, with the pool deadpool-postgres.

use std::error::Error as _;
use std::{fmt, io};

use atomic_breaker_server::{Config, Failure, Outcome, Resource, ServiceError, Timed, breaker};
use deadpool_postgres::{Client, Manager, Object, Pool, PoolError, Runtime};
use tokio_postgres::{Error, NoTls};

use crate::{Answers, Errors, LIMIT, PART, guarded, sqlstate, written};

pub struct Database {
    pool: Pool,
    server: Resource,
    /// Of the calls that write.
    writes: Resource,
    answers: Answers,
}

impl Database {
    pub fn new(mut address: tokio_postgres::Config, connections: usize, rules: Config) -> Self {
        // The server stops, too: it would go on with a query whose caller has left.
        address.options(format!("-c statement_timeout={}", LIMIT.as_millis()));
        let pool = Pool::builder(Manager::new(address, NoTls))
            .max_size(connections)
            .wait_timeout(Some(PART))
            .create_timeout(Some(PART))
            .runtime(Runtime::Tokio1)
            .build();
        Self {
            pool: pool.expect("has a runtime for its limits"),
            server: Resource::new(breaker(rules)),
            writes: Resource::new(breaker(rules)),
            answers: Answers::default(),
        }
    }

    pub async fn run<T>(
        &self,
        query: impl AsyncFnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<T, ServiceError<Timed<DatabaseError>>> {
        let before = self.answers.so_far();
        let call = async {
            let mut held = Held(Some(self.pool.get().await.map_err(DatabaseError::Pool)?));
            let answer = query(held.0.as_mut().expect("just taken")).await;
            let code = answer.as_ref().err().and_then(Error::code);
            if !code.is_some_and(|code| sqlstate::is_of_a_standby(code.code())) {
                // Back into the pool: this call has read all of its answer.
                drop(held.0.take());
            }
            let answer = answer.map_err(DatabaseError::Query);
            self.answers.note(&answer, classify);
            answer
        };
        let judge = |error: &DatabaseError| match error {
            // Others were answered meanwhile: the pool is too small for so many callers.
            DatabaseError::Pool(PoolError::Timeout(_)) if self.answers.so_far() != before => {
                Outcome::Ignored
            }
            _ => classify(error),
        };
        guarded(&self.server, Errors(judge), || self.repair(), call).await
    }

    /// A call that writes.
    pub async fn write<T>(
        &self,
        query: impl AsyncFnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<T, ServiceError<Timed<DatabaseError>>> {
        written(&self.writes, classify_write, self.run(query)).await
    }

    /// Idle connections may lead to a server that is gone. New ones resolve the name again.
    fn repair(&self) {
        self.pool.retain(|_, _| false);
    }

    pub fn server(&self) -> &Resource {
        &self.server
    }

    pub fn writes(&self) -> &Resource {
        &self.writes
    }
}

/// A connection in use. One whose call is cut off is closed, as the next caller would wait for this one's answer, and so is
/// one that leads to a standby.
struct Held(Option<Client>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}

/// Of the pool, which calls every error of the server one of "creating a new object", or of a query.
#[derive(Debug)]
pub enum DatabaseError {
    Pool(PoolError),
    Query(Error),
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(error) => error.fmt(f),
            Self::Query(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DatabaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Pool(error) => error.source(),
            Self::Query(error) => error.source(),
        }
    }
}

pub fn classify(error: &DatabaseError) -> Outcome {
    match error {
        // A row that is not there, a value that does not fit its column: the server has answered.
        DatabaseError::Query(error) => classify_answer(error).unwrap_or(Outcome::Success),
        // It could not connect.
        DatabaseError::Pool(PoolError::Backend(error)) => {
            classify_answer(error).unwrap_or_else(|| Failure::new().into())
        }
        // Its connections are held by calls that do not end, or cannot be opened; unless others are answered meanwhile.
        DatabaseError::Pool(PoolError::Timeout(_)) => Failure::new().into(),
        DatabaseError::Pool(_) => Outcome::Ignored,
    }
}

/// Of a call that writes, whether writes are refused: all else is counted by the breaker of the server.
pub fn classify_write(error: &DatabaseError) -> Outcome {
    let code = match error {
        DatabaseError::Query(error) => error.code(),
        DatabaseError::Pool(_) => None,
    };
    if code.is_some_and(|code| sqlstate::refuses_writes(code.code())) {
        return Failure::new().into();
    }
    match classify(error) {
        Outcome::Success => Outcome::Success,
        _ => Outcome::Ignored,
    }
}

/// The outcome by the server's answer, or by the loss of its connection; `None` for errors of the client alone.
fn classify_answer(error: &Error) -> Option<Outcome> {
    if let Some(code) = error.code() {
        return Some(sqlstate::classify(code.code()));
    }
    let is_io = error.source().is_some_and(|cause| cause.is::<io::Error>());
    (is_io || error.is_closed()).then(|| Failure::new().into())
}
