//! One connection for all requests, dropped as soon as it is in doubt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{Client, RedisResult};

#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    current: Arc<Mutex<Current>>,
    /// Held while connecting.
    connects: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Current {
    connection: Option<MultiplexedConnection>,
    /// How many there have been: tells this one from those before it.
    number: u64,
}

impl Connection {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            current: Arc::default(),
            connects: Arc::default(),
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        // No code under the lock panics.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for one request. Unless the request reports that it was [answered](InUse::answered), the connection
    /// is dropped for all requests, so that one that hangs is not used again.
    pub(crate) async fn get(&self) -> RedisResult<InUse<'_>> {
        let _mine = self.connects.lock().await;
        let kept = {
            let current = self.current();
            let connection = current.connection.clone();
            connection.map(|connection| (connection, current.number))
        };
        let (connection, number) = if let Some(kept) = kept {
            kept
        } else {
            let connection = self.client.get_multiplexed_async_connection().await?;
            let mut current = self.current();
            current.number += 1;
            current.connection = Some(connection.clone());
            (connection, current.number)
        };
        Ok(InUse {
            of: self,
            connection,
            number,
            is_answered: false,
        })
    }
}

pub(crate) struct InUse<'a> {
    of: &'a Connection,
    pub(crate) connection: MultiplexedConnection,
    number: u64,
    is_answered: bool,
}

impl InUse<'_> {
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let mut current = self.of.current();
        // Others may have reconnected already.
        if current.number == self.number {
            current.connection = None;
        }
    }
}
