// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configures how a store connects.

use std::time::Duration;

use atomic_breaker_steps::StoreError;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};

use crate::pool::{Connecting, Pool, connect};
use crate::schema;
use crate::store::PostgresStore;

/// The settings of a store's connections, and the schema of its tables: made by [`PostgresStore::builder`].
#[derive(Debug)]
#[must_use]
pub struct PostgresStoreBuilder<T = NoTls> {
    config: Config,
    tls: T,
    schema: String,
    connections: usize,
    limit: Duration,
}

impl PostgresStoreBuilder {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            tls: NoTls,
            schema: "atomic_breaker".to_owned(),
            connections: 4,
            limit: Duration::from_secs(10),
        }
    }
}

impl<T> PostgresStoreBuilder<T> {
    /// Connects with TLS, through a connector such as those of `postgres-native-tls` or `tokio-postgres-rustls`.
    /// `sslmode` in the configuration decides whether TLS is required; without a connector, `require` is an error.
    pub fn tls<U>(self, tls: U) -> PostgresStoreBuilder<U> {
        PostgresStoreBuilder {
            config: self.config,
            tls,
            schema: self.schema,
            connections: self.connections,
            limit: self.limit,
        }
    }

    /// The schema that its tables are in, `atomic_breaker` unless set: 1 to 63 of the characters a-z, 0-9 and _. It is
    /// created if it does not exist. Stores with different schemas share nothing.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets the number of calls that are under way at the same time, each on a connection of its own: 1 to 1,000, 4
    /// unless set. Connections are opened when needed, and kept.
    pub const fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets the time limit of a call, including connecting and waiting for a connection: 100 ms to an hour, 10 s unless
    /// set. After that it has failed, its connection is closed, and the server gives up what it was doing. Keep it
    /// below the lease of [steps](atomic_breaker_steps::StepsBuilder::lease).
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

impl<T> PostgresStoreBuilder<T>
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::Stream: Send,
    T::TlsConnect: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    /// Connects, and creates the tables if there are none. Any number may do so at the same time.
    ///
    /// # Errors
    /// [`StoreError`] says what is wrong: with the settings, the server, or the tables.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn connect(mut self) -> Result<PostgresStore, StoreError> {
        self.check()?;
        if self.config.get_application_name().is_none() {
            self.config.application_name("atomic-breaker");
        }
        if self.config.get_connect_timeout().is_none() {
            self.config.connect_timeout(self.limit);
        }
        let (schema, limit) = (self.schema.clone(), self.limit);
        let connect = move || -> Connecting {
            let (config, tls, schema) =
                (self.config.clone(), self.tls.clone(), self.schema.clone());
            Box::pin(async move { connect(&config, tls, &schema, limit).await })
        };
        let pool = Pool::new(connect, self.connections, limit);
        pool.call(async |session| schema::create(&mut session.client, &schema).await)
            .await?;
        Ok(PostgresStore::new(pool, schema))
    }

    fn check(&self) -> Result<(), StoreError> {
        let Self {
            schema,
            connections,
            limit,
            ..
        } = self;
        let may = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_name = (1..=63).contains(&schema.len())
            && schema.bytes().all(may)
            && !schema.starts_with(|first: char| first.is_ascii_digit());
        let limits = Duration::from_millis(100)..=Duration::from_secs(3_600);
        let words = if !is_name {
            format!(
                "{schema:?} is not a name for the schema: use 1 to 63 of the characters a-z, 0-9 and _, not a digit first"
            )
        } else if !(1..=1_000).contains(connections) {
            format!("{connections} connections: set 1 to 1,000")
        } else if !limits.contains(limit) {
            format!("a time limit of {limit:?}: set 100 ms to an hour")
        } else {
            return Ok(());
        };
        Err(StoreError::new(words))
    }
}
