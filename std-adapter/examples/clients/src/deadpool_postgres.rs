// SPDX-License-Identifier: MIT OR Apache-2.0
//! tokio-postgres, with the pool deadpool-postgres.

use std::error::Error as _;
use std::io;

use atomic_breaker_server::{Config, Failure, Outcome, Resource, ServiceError, Timed, breaker};
use deadpool_postgres::{Client, Manager, Object, Pool, PoolError, Runtime};
use tokio_postgres::{Error, NoTls};

use crate::{Errors, LIMIT, PART, guarded, sqlstate};

pub struct Database {
    pool: Pool,
    server: Resource,
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
        }
    }

    pub async fn run<T>(
        &self,
        query: impl AsyncFnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<T, ServiceError<Timed<PoolError>>> {
        let call = async {
            let mut held = Held(Some(self.pool.get().await?));
            let answer = query(held.0.as_mut().expect("just taken")).await;
            // Back into the pool: this call has read all of its answer.
            drop(held.0.take());
            Ok(answer?)
        };
        guarded(&self.server, Errors(classify), || self.repair(), call).await
    }

    /// Idle connections may lead to a server that is gone. New ones resolve the name again.
    fn repair(&self) {
        self.pool.retain(|_, _| false);
    }

    pub fn server(&self) -> &Resource {
        &self.server
    }
}

/// A connection in use. One whose call is cut off is closed, as the next caller would wait for this one's answer.
struct Held(Option<Client>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}

pub fn classify(error: &PoolError) -> Outcome {
    match error {
        PoolError::Backend(error) => classify_query(error),
        // Its connections are held by calls that do not end, or cannot be opened.
        PoolError::Timeout(_) => Failure::new().into(),
        PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
            Outcome::Ignored
        }
    }
}

pub fn classify_query(error: &Error) -> Outcome {
    if let Some(code) = error.code() {
        return sqlstate::classify(code.code());
    }
    let is_io = error.source().is_some_and(|cause| cause.is::<io::Error>());
    if is_io || error.is_closed() {
        return Failure::new().into();
    }
    // A value that does not fit its column, a row that is not there.
    Outcome::Ignored
}
