// SPDX-License-Identifier: MIT OR Apache-2.0
//! sqlx, with its pool of connections to PostgreSQL.

use atomic_breaker_server::{Config, Failure, Outcome, Resource, ServiceError, Timed, breaker};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Error, PgConnection, PgPool, Postgres};

use crate::{Answers, Current, Errors, LIMIT, PART, guarded, sqlstate, written};

pub struct Database {
    pool: Current<PgPool>,
    server: Resource,
    /// Of the calls that write.
    writes: Resource,
    answers: Answers,
}

impl Database {
    pub fn new(address: PgConnectOptions, connections: u32, rules: Config) -> Self {
        // The server stops, too: it would go on with a query whose caller has left.
        let limit = LIMIT.as_millis().to_string();
        let address = address.options([("statement_timeout", limit)]);
        let options = PgPoolOptions::new()
            .max_connections(connections)
            // 30 s by default, and all that time it connects again and again to a server that refuses.
            .acquire_timeout(PART);
        Self {
            pool: Current::new(options.connect_lazy_with(address)),
            server: Resource::new(breaker(rules)),
            writes: Resource::new(breaker(rules)),
            answers: Answers::default(),
        }
    }

    pub async fn run<T>(
        &self,
        query: impl AsyncFnOnce(&mut PgConnection) -> Result<T, Error>,
    ) -> Result<T, ServiceError<Timed<Error>>> {
        let before = self.answers.so_far();
        let call = async {
            let mut held = Held(Some(self.pool.get().acquire().await?));
            let answer = query(held.0.as_mut().expect("just taken")).await;
            let error = answer.as_ref().err().and_then(Error::as_database_error);
            let code = error.and_then(|error| error.code());
            if !code.is_some_and(|code| sqlstate::is_of_a_standby(&code)) {
                // Back into the pool: this call has read all of its answer.
                drop(held.0.take());
            }
            self.answers.note(&answer, classify);
            answer
        };
        let judge = |error: &Error| match error {
            // Others were answered meanwhile: the pool is too small for so many callers.
            Error::PoolTimedOut if self.answers.so_far() != before => Outcome::Ignored,
            _ => classify(error),
        };
        guarded(&self.server, Errors(judge), || self.repair(), call).await
    }

    /// A call that writes.
    pub async fn write<T>(
        &self,
        query: impl AsyncFnOnce(&mut PgConnection) -> Result<T, Error>,
    ) -> Result<T, ServiceError<Timed<Error>>> {
        written(&self.writes, classify_write, self.run(query)).await
    }

    /// The pool has no way to drop its idle connections, so a new one takes its place. Calls in flight keep theirs.
    fn repair(&self) {
        let old = self.pool.get();
        let (options, address) = (old.options().clone(), old.connect_options());
        self.pool
            .replace(options.connect_lazy_with((*address).clone()));
    }

    pub fn server(&self) -> &Resource {
        &self.server
    }

    pub fn writes(&self) -> &Resource {
        &self.writes
    }
}

/// A connection in use. One whose call is cut off is closed at once: the pool would hold its place until it has answered a
/// ping, which one that hangs never does. So is one that leads to a standby.
struct Held(Option<PoolConnection<Postgres>>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(connection.detach());
        }
    }
}

pub fn classify(error: &Error) -> Outcome {
    match error {
        Error::Database(error) => match error.code() {
            Some(code) => sqlstate::classify(&code),
            None => Outcome::Ignored,
        },
        // Within its limit the pool connects again and again if it is refused, or if there are too many connections
        // (`53300`) or the server is starting (`57P03`): then this is what callers see. Unless others are answered meanwhile.
        Error::PoolTimedOut => Failure::new().into(),
        Error::Io(_) | Error::Tls(_) | Error::Protocol(_) => Failure::new().into(),
        // The server has answered, with something else than was asked for.
        Error::RowNotFound
        | Error::ColumnNotFound(_)
        | Error::ColumnIndexOutOfBounds { .. }
        | Error::ColumnDecode { .. }
        | Error::Decode(_)
        | Error::TypeNotFound { .. } => Outcome::Success,
        // A value that could not be sent, a pool that the program has closed.
        _ => Outcome::Ignored,
    }
}

/// Of a call that writes, whether writes are refused: all else is counted by the breaker of the server.
pub fn classify_write(error: &Error) -> Outcome {
    let code = error.as_database_error().and_then(|error| error.code());
    if code.is_some_and(|code| sqlstate::refuses_writes(&code)) {
        return Failure::new().into();
    }
    match classify(error) {
        Outcome::Success => Outcome::Success,
        _ => Outcome::Ignored,
    }
}
