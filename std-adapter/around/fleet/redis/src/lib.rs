// SPDX-License-Identifier: MIT OR Apache-2.0
//! [Fleets](atomic_breaker_fleet) of circuit breakers, connected through Redis 7: instances learn from one another's
//! trips, and one of them probes for all. Calls never wait for Redis; without it every breaker goes on alone.
//!
//! ```no_run
//! use atomic_breaker_fleet::{FleetConfig, Joined};
//! use atomic_breaker_fleet_redis::RedisFleet;
//! use atomic_breaker_std::{Breaker, Config, StdClock};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fleet = Joined::new(RedisFleet::new("redis://127.0.0.1/", "shop")?, FleetConfig::new(3))?;
//!
//! let seat = fleet.seat("payments")?; // the same name in all instances
//! let payments = Breaker::builder(Config::new(), StdClock).observer(seat.clone()).build();
//! let payments = Arc::new(payments);
//! seat.take(Arc::clone(&payments));
//! # Ok(()) }
//! ```
//!
//! It has [`RedisFleet`], for [`Joined`](atomic_breaker_fleet::Joined), and no features; TLS is a feature of the crate
//! `redis`.
//!
//! A script handles each request, on the server's clock; all keys of a fleet share a hash tag, so they are on one
//! node of a cluster. Keys expire.
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

mod connection;
mod explain;
mod messages;
mod mirror;
mod text;

use std::fmt;

use atomic_breaker_fleet::{Answer, Ask, Finding, Fleet, FleetError, InstanceId, Name, Reading};
use connection::Connection;
use explain::explained;
use futures_util::future::join;
pub use messages::RedisMessages;
use mirror::Mirror;
use redis::{Client, FromRedisValue, IntoConnectionInfo, ProtocolVersion, ScriptInvocation};
use text::{ChangeId, ServerRecord};

/// A name, and what is packed under it.
type NamedRecord = (Vec<u8>, Vec<u8>);

/// The number of records that are read at once: a few milliseconds of the server's time.
const PART: u32 = 2_000;

/// A fleet that meets in Redis. Clones are the same fleet.
///
/// ```no_run
/// use atomic_breaker_fleet::{FleetConfig, Joined};
/// use atomic_breaker_fleet_redis::RedisFleet;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fleet = Joined::new(RedisFleet::new("redis://127.0.0.1/", "shop")?, FleetConfig::new(3))?;
/// # drop(fleet);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RedisFleet {
    connection: Connection,
    mirror: Mirror,
    prefix: String,
    channel: String,
}

impl RedisFleet {
    /// A fleet at an address such as `redis://127.0.0.1:6379/` or `redis://user:password@host/`. It connects when it is
    /// first used: [`FleetStatus`](atomic_breaker_fleet::FleetStatus) shows whether it reaches the server, and the
    /// error.
    ///
    /// For TLS (`rediss://`) turn on a feature of the crate `redis`, such as `tokio-rustls-comp`. In a cluster it needs
    /// the address of the node that has the keys of the prefix: it follows no redirection.
    ///
    /// The prefix tells fleets in one Redis apart, whatever their databases, because channels ignore these. It has 1 to
    /// 64 ASCII letters, digits, `-`, `_`, `.` or `:`.
    ///
    /// # Errors
    /// [`FleetError`] says what is wrong with the address or the prefix.
    pub fn new(address: &str, prefix: &str) -> Result<Self, FleetError> {
        let is_right = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if !(1..=64).contains(&prefix.len()) || !prefix.bytes().all(is_right) {
            return Err(FleetError::new(
                "the prefix of a fleet has 1 to 64 ASCII letters, digits, '-', '_', '.' or ':'",
            ));
        }
        // RESP2, whatever the address says: only there can a refused subscription be told from a successful one.
        let client = address.into_connection_info().and_then(|info| {
            let settings = info.redis_settings().clone();
            let settings = settings.set_protocol(ProtocolVersion::RESP2);
            Client::open(info.set_redis_settings(settings))
        });
        let client = client
            .map_err(|error| FleetError::new(format_args!("not a Redis address: {error}")))?;
        let prefix = format!("{{{prefix}}}");
        Ok(Self {
            connection: Connection::new(client),
            mirror: Mirror::new(),
            channel: format!("{prefix}:messages"),
            prefix,
        })
    }

    fn records(&self) -> String {
        format!("{}:records", self.prefix)
    }

    /// The script with the arguments that every request has.
    fn request(&self, from: InstanceId, name: &[u8]) -> ScriptInvocation<'_> {
        let of_name = |what| [self.prefix.as_bytes(), what, name].concat();
        let mut request = self.connection.script.prepare_invoke();
        request
            .key(self.records())
            .key(of_name(b":votes:".as_slice()))
            .key(of_name(b":trips:"))
            .key(format!("{}:living", self.prefix))
            .arg(from.to_string())
            .arg(name)
            .arg(&self.channel)
            .arg(text::mark(fastrand::u64(..)));
        request
    }

    async fn invoke<T: FromRedisValue>(
        &self,
        request: &ScriptInvocation<'_>,
    ) -> Result<T, FleetError> {
        let used = explained(self.connection.get().await)?;
        let answer = explained(request.invoke_async(&mut used.connection()).await)?;
        used.answered();
        Ok(answer)
    }

    /// Reads the next part of the records, together with the last change. Returns whether that was the last part.
    async fn read_part(&self) -> Result<bool, FleetError> {
        let cursor = self.mirror.cursor();
        let used = explained(self.connection.get().await)?;
        let part = redis::pipe()
            .hget(self.records(), "")
            .cmd("HSCAN")
            .arg(self.records())
            .arg(cursor)
            .arg("COUNT")
            .arg(PART)
            .query_async(&mut used.connection())
            .await;
        let (change, (next, part)): (Vec<u8>, (u64, Vec<NamedRecord>)) = explained(part)?;
        used.answered();
        let records = part.into_iter().filter_map(|(name, packed)| {
            let record = ServerRecord::parse(&packed)?;
            Some((Name::new(name).ok()?, record))
        });
        // Without a change there are no records.
        let change = ChangeId::parse(&change);
        Ok(change.is_none_or(|change| self.mirror.add(change, cursor, next, records)))
    }
}

impl fmt::Debug for RedisFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisFleet")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl Fleet for RedisFleet {
    type Messages = RedisMessages;

    async fn ask(&self, from: InstanceId, name: &Name, ask: Ask) -> Result<Answer, FleetError> {
        let mut request = self.request(from, name.as_bytes());
        match ask {
            Ask::Vote {
                quorum,
                window_ms,
                age_ms,
                open_ms,
                known,
            } => {
                request.arg("vote").arg(quorum).arg(window_ms).arg(age_ms);
                // A higher one was forged: the script ignores it.
                request.arg(open_ms).arg(known.min(text::LAST));
            }
            Ask::Bid { id, lease_ms } => {
                request.arg("bid").arg(id.epoch).arg(text::mark(id.mark));
                request.arg(lease_ms);
            }
            Ask::Finding { id, finding } => {
                let (open_ms, pause_ms) = match finding {
                    Finding::Healthy => (0, 0),
                    Finding::Failed { open_ms, pause_ms } => (open_ms.max(1), pause_ms),
                };
                request
                    .arg("verdict")
                    .arg(id.epoch)
                    .arg(text::mark(id.mark));
                request.arg(open_ms).arg(pause_ms);
            }
        }
        let (done, votes, now, packed): (bool, u32, u64, Vec<u8>) = self.invoke(&request).await?;
        Ok(Answer {
            done,
            votes,
            notice: ServerRecord::parse(&packed).map(|record| record.notice(now)),
        })
    }

    async fn connect(&self) -> Result<(), FleetError> {
        explained(self.connection.get().await)?.answered();
        Ok(())
    }

    /// The records themselves are read only if a change to them was not received, or if the server has lost one that
    /// was: in the same round trip, if that is known before.
    async fn read(&self, from: InstanceId, every_ms: u32) -> Result<Reading, FleetError> {
        let heard = self.mirror.heard();
        let mut request = self.request(from, b"");
        request.arg("read").arg(every_ms);
        let lacks_records = self.mirror.lacks_records();
        let part = async {
            if lacks_records {
                Some(self.read_part().await)
            } else {
                None
            }
        };
        let (answer, part) = join(self.invoke(&request), part).await;
        let (living, now, change): (u32, u64, Vec<u8>) = answer?;
        let is_whole = match (ChangeId::parse(&change), part) {
            (None, _) => {
                self.mirror.clear();
                true
            }
            (Some(_), Some(part)) => part?,
            (Some(change), None) if change.number >= heard && self.mirror.has(change).await => true,
            (Some(_), None) => self.read_part().await?,
        };
        Ok(Reading {
            living,
            messages: if is_whole {
                self.mirror.messages(now)
            } else {
                Vec::new()
            },
            more: !is_whole,
        })
    }

    async fn subscribe(&self) -> Result<RedisMessages, FleetError> {
        self.mirror.start_anew();
        let mut pubsub = explained(self.connection.client.get_async_pubsub().await)?;
        explained(pubsub.subscribe(&self.channel).await)?;
        let (sink, stream) = pubsub.split();
        RedisMessages::new(sink, stream, self.mirror.clone()).await
    }
}

/// The front page, whose code is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
