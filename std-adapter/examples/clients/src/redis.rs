// SPDX-License-Identifier: MIT OR Apache-2.0
//! redis-rs, with its `ConnectionManager`.

use std::error::Error as _;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use atomic_breaker_server::{
    AnyPermit, Config, ConnectionId, Failure, Outcome, Report, Resource, ServiceError, Timed,
    breaker,
};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind};

use crate::{Current, LIMIT, PART, guarded, words, written};

pub struct Cache {
    client: Client,
    connection: Current<ConnectionManager>,
    /// The time at which it last left a replica.
    left: Mutex<Option<Instant>>,
    server: Resource,
    /// Of the commands that write.
    writes: Resource,
}

impl Cache {
    pub fn new(client: Client, rules: Config) -> RedisResult<Self> {
        Ok(Self {
            connection: Current::new(connect(&client)?),
            left: Mutex::default(),
            client,
            server: Resource::new(breaker(rules)),
            writes: Resource::new(breaker(rules)),
        })
    }

    pub async fn call<T: FromRedisValue>(
        &self,
        command: &Cmd,
    ) -> Result<T, ServiceError<Timed<RedisError>>> {
        let mut connection = self.connection.get();
        let repair = || self.repair();
        // A probe repairs before this runs, and takes the connection that comes of it.
        let call = async {
            connection = self.connection.get();
            let answer = command.query_async(&mut connection).await;
            if answer.as_ref().is_err_and(is_of_a_replica) && self.may_leave() {
                // Reads succeed there, so the breaker does not open by a few writes among them.
                self.repair();
            }
            answer
        };
        guarded(&self.server, Errors, repair, call).await
    }

    /// A command that writes.
    pub async fn write<T: FromRedisValue>(
        &self,
        command: &Cmd,
    ) -> Result<T, ServiceError<Timed<RedisError>>> {
        written(&self.writes, classify_write, self.call(command)).await
    }

    /// The manager replaces a connection that is lost, but not one that no longer answers: a timeout is no loss to it. A new
    /// one also resolves the name again, so that it finds the primary after a failover.
    fn repair(&self) {
        if let Ok(connection) = connect(&self.client) {
            self.connection.replace(connection);
        }
    }

    /// Once a second at most: perhaps the name leads there still.
    fn may_leave(&self) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = left.is_none_or(|left| left.elapsed() >= Duration::from_secs(1));
        if is_time {
            *left = Some(Instant::now());
        }
        is_time
    }

    pub fn server(&self) -> &Resource {
        &self.server
    }

    pub fn writes(&self) -> &Resource {
        &self.writes
    }
}

/// It connects with the first command, within that one's limit.
fn connect(client: &Client) -> RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        // Six by default, with pauses that add up to seconds: the breaker is what waits here.
        .set_number_of_retries(0)
        .set_connection_timeout(Some(PART))
        .set_response_timeout(Some(LIMIT));
    ConnectionManager::new_lazy_with_config(client.clone(), config)
}

/// The primary has become a replica.
fn is_of_a_replica(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
}

pub struct Errors;

impl<T> Report<T, Timed<RedisError>> for Errors {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(
        &self,
        permit: P,
        answer: Result<T, Timed<RedisError>>,
    ) -> Result<T, Timed<RedisError>> {
        let why = || words(answer.as_ref().err());
        match &answer {
            Ok(_) => permit.report(Outcome::Success),
            // All commands in flight share the connection, so its loss is one failure and not one for each.
            Err(Timed::Failed(error)) if error.is_connection_dropped() => {
                permit.report_shared(Failure::new().into(), ConnectionId::UNKNOWN, why)
            }
            Err(Timed::Failed(error)) => permit.report_because(classify(error), why),
            Err(Timed::TimedOut) => permit.report_because(Failure::new().into(), why),
        };
        answer
    }
}

pub fn classify(error: &RedisError) -> Outcome {
    let failure = Failure::new().into();
    match error.kind() {
        ErrorKind::Io | ErrorKind::AuthenticationFailed => failure,
        ErrorKind::Server(kind) => match kind {
            // It is starting, or without its primary, or has become a replica: no write or no command at all succeeds.
            ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::ReadOnly => failure,
            // A wrong type, a script that is not loaded, a key of another node: it has answered.
            _ => Outcome::Success,
        },
        // Codes that this client has no kind for. A script that does not end lets nothing else run. Memory or a disk that is
        // full fails writes alone, and opening would turn away the reads: writes have a breaker of their own.
        ErrorKind::Extension => match error.code() {
            Some("BUSY") => failure,
            _ => Outcome::Success,
        },
        // The server has answered, with another type than was asked for.
        ErrorKind::UnexpectedReturnType => Outcome::Success,
        // What its limits say is an error of the operating system or a cause, by version.
        _ if error.source().is_some_and(|cause| cause.is::<io::Error>()) => failure,
        // A command that makes no sense.
        _ => Outcome::Ignored,
    }
}

/// Of a command that writes, whether writes are refused, for want of memory, a disk or replicas: all else is counted by the
/// breaker of the server.
pub fn classify_write(error: &RedisError) -> Outcome {
    let is_full = matches!(error.code(), Some("OOM" | "MISCONF" | "NOREPLICAS"));
    if is_full || is_of_a_replica(error) {
        return Failure::new().into();
    }
    match classify(error) {
        Outcome::Success => Outcome::Success,
        _ => Outcome::Ignored,
    }
}
