// SPDX-License-Identifier: MIT OR Apache-2.0
//! The connection for all requests, dropped as soon as it is in doubt. None of its limits are those of the client: code
//! that awaits an answer sets its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult, Script};

/// The server's part: the script that handles each request.
const LEDGER: &str = include_str!("ledger.lua");

#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) script: Arc<Script>,
    current: Arc<Mutex<Current>>,
    /// Held while connecting.
    connects: Arc<tokio::sync::Mutex<()>>,
}

type Current = Option<Arc<MultiplexedConnection>>;

impl Connection {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            script: Arc::new(Script::new(LEDGER)),
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
        let kept = self.current().clone();
        let connection = if let Some(kept) = kept {
            kept
        } else {
            let new = self.connect().await?;
            Arc::clone(self.current().insert(Arc::new(new)))
        };
        Ok(InUse {
            of: self,
            connection,
            is_answered: false,
        })
    }
}

impl Connection {
    /// A connection whose server knows the script, so that each request is one round trip.
    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let client = &self.client;
        let mut new = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let load = redis::cmd("SCRIPT").arg("LOAD").arg(LEDGER).to_owned();
        load.exec_async(&mut new).await?;
        Ok(new)
    }
}

pub(crate) struct InUse<'a> {
    of: &'a Connection,
    connection: Arc<MultiplexedConnection>,
    is_answered: bool,
}

impl InUse<'_> {
    pub(crate) fn connection(&self) -> MultiplexedConnection {
        MultiplexedConnection::clone(&self.connection)
    }

    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            // Unless others have reconnected already.
            let is_mine = |current: &mut _| Arc::ptr_eq(current, &self.connection);
            self.of.current().take_if(is_mine);
        }
    }
}
