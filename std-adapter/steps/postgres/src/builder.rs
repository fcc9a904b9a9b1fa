//! Configures how a store connects.

use std::time::Duration;

use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};

use crate::error::PostgresStoreError as Fault;
use crate::pool::Pool;
use crate::schema;
use crate::sql::Sql;
use crate::store::PostgresStore;

/// How a store connects, and in which schema its tables are: made by [`PostgresStore::builder`].
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

    /// How many calls are under way at the same time, each on a connection of its own: 1 to 1,000, 4 unless set.
    /// Connections are opened when needed, and kept.
    pub const fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// How long a call may take, including connecting and waiting for a connection: 100 ms to an hour, 10 s unless set.
    /// After that it has failed, its connection is closed, and the server gives up what it was doing. Keep it below the
    /// lease of [steps](atomic_breaker_steps::StepsBuilder::lease).
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
    /// Connects, and creates the tables or upgrades them to the version of this crate. Any number may do so at the same
    /// time.
    ///
    /// # Errors
    /// [`PostgresStoreError`](crate::PostgresStoreError) says what is wrong: with the settings, the server, or the tables.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn connect(mut self) -> Result<PostgresStore, Fault> {
        self.check()?;
        if self.config.get_application_name().is_none() {
            self.config.application_name("atomic-breaker");
        }
        if self.config.get_connect_timeout().is_none() {
            self.config.connect_timeout(self.limit);
        }
        let pool = Pool::new(self.config, self.tls, self.connections, self.limit);
        let first = async {
            let session = pool.get().await?;
            let is_current = schema::is_current(&session.client, &self.schema).await?;
            Ok((session, is_current))
        };
        let (mut session, is_current) = pool.limited(first).await?;
        if !is_current {
            // Without a limit: an upgrade may have much to do.
            schema::migrate(&mut session.client, &self.schema).await?;
        }
        session.answered();
        Ok(PostgresStore::new(
            pool,
            Sql::new(&self.schema),
            self.schema,
        ))
    }

    fn check(&self) -> Result<(), Fault> {
        let is_right =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let schema = self.schema.as_bytes();
        if !(1..=63).contains(&schema.len())
            || schema[0].is_ascii_digit()
            || !schema.iter().copied().all(is_right)
        {
            let words = "is no name for the schema: take 1 to 63 of the characters a-z, 0-9 and _, a digit not first";
            return Err(Fault::new(format!("{:?} {words}", self.schema)));
        }
        if !(1..=1_000).contains(&self.connections) {
            let connections = self.connections;
            return Err(Fault::new(format!(
                "{connections} connections: take 1 to 1,000"
            )));
        }
        if self.limit < Duration::from_millis(100) || self.limit > Duration::from_secs(3_600) {
            let limit = self.limit;
            return Err(Fault::new(format!(
                "a time limit of {limit:?}: take 100 ms to an hour"
            )));
        }
        Ok(())
    }
}
