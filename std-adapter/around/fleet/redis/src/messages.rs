// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of the server.

use std::fmt;
use std::time::Duration;

use atomic_breaker_fleet::{FleetError, Message, Messages};
use futures_util::StreamExt;
use redis::Value;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::time::timeout;

use crate::explain::{explained, not_subscribed};
use crate::mirror::Mirror;
use crate::text::Published;

/// The time for which a subscription may be silent before it is asked whether it is alive, and the time limit of that.
const SILENCE: Duration = Duration::from_secs(5);

/// A subscription to a [`RedisFleet`](crate::RedisFleet).
pub struct RedisMessages {
    sink: PubSubSink,
    stream: PubSubStream,
    mirror: Mirror,
}

impl RedisMessages {
    /// The client hides the server's answer to `SUBSCRIBE`. A subscribed connection answers `PING` with an array, any
    /// other one with a word: this holds in RESP2, which is used for all addresses.
    pub(crate) async fn new(
        mut sink: PubSubSink,
        stream: PubSubStream,
        mirror: Mirror,
    ) -> Result<Self, FleetError> {
        match explained(sink.ping().await)? {
            Value::ServerError(error) => explained(Err(error.into())),
            Value::SimpleString(_) => Err(not_subscribed()),
            _ => Ok(Self {
                sink,
                stream,
                mirror,
            }),
        }
    }
}

impl Messages for RedisMessages {
    async fn next(&mut self) -> Result<Message, FleetError> {
        loop {
            let Ok(next) = timeout(SILENCE, self.stream.next()).await else {
                // A connection that was cut off without notice is silent, too.
                let pong = timeout(SILENCE, self.sink.ping::<Value>()).await;
                let pong = pong.map_err(|_| FleetError::new("the subscription is silent"))?;
                explained(pong)?;
                continue;
            };
            let message = next.ok_or_else(|| FleetError::new("the subscription has ended"))?;
            // Messages that others publish there are ignored.
            if let Some(published) = Published::parse(message.get_payload_bytes()) {
                let message = published.message();
                self.mirror.hear(published);
                return Ok(message);
            }
        }
    }
}

impl fmt::Debug for RedisMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisMessages").finish_non_exhaustive()
    }
}
