//! One connection for all requests, dropped as soon as it is in doubt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{Client, RedisResult};

#[derive(Clone)]
pub(crate) struct Connection {
    client: Client,
    current: Arc<Mutex<Option<MultiplexedConnection>>>,
    /// Held by the one who connects.
    connects: Arc<tokio::sync::Mutex<()>>,
}

impl Connection {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            current: Arc::default(),
            connects: Arc::default(),
        }
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    fn current(&self) -> MutexGuard<'_, Option<MultiplexedConnection>> {
        // Nothing that panics is done under the lock.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for one request. It is closed for all, unless the request says that it was
    /// [answered](InUse::answered): one that hangs is not asked again.
    pub(crate) async fn get(&self) -> RedisResult<InUse<'_>> {
        let connection = self.connect().await?;
        Ok(InUse {
            of: self,
            connection,
            is_answered: false,
        })
    }

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let _mine = self.connects.lock().await;
        let current = self.current().clone();
        if let Some(connection) = current {
            return Ok(connection);
        }
        let connection = self.client.get_multiplexed_async_connection().await?;
        *self.current() = Some(connection.clone());
        Ok(connection)
    }
}

pub(crate) struct InUse<'a> {
    of: &'a Connection,
    pub(crate) connection: MultiplexedConnection,
    is_answered: bool,
}

impl InUse<'_> {
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            *self.of.current() = None;
        }
    }
}
