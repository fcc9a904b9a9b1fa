// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests to the engine, bounded in number and time, and the subscription. Each runs in a task of its own, so that an
//! engine that panics is lost like one that fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::engine::{Fleet, Messages};
use crate::error::FleetError;
use crate::message::{Answer, Ask, Message, Reading};
use crate::name::{InstanceId, Name};

/// The number of requests that may be sent and unanswered at once.
const MOST: usize = 64;

/// The number of requests that may be sent or waiting for their turn: that many keys may open at once.
const WAITING: usize = 16_384;

/// A request waits for its turn for so many limits: after that it may be out of date.
const PATIENCE: u32 = 8;

/// The number of limits that connecting may take, and subscribing: each needs several round trips, with TLS up to
/// seven.
const CONNECTING: u32 = 8;

/// The error of a request that took too long.
const UNANSWERED: &str = "no answer";
const UNCONNECTED: &str = "not connected";

/// A member's request about its breaker.
pub(super) struct EngineRequest {
    pub(super) name: Name,
    pub(super) ask: Ask,
    pub(super) asked_ms: u64,
}

/// The outcome of a request, or of a reading with the time at which it was asked for.
pub(super) enum Reply {
    Answer(EngineRequest, Result<Answer, FleetError>),
    Reading(u64, Result<Reading, FleetError>),
}

/// The subscription and its next message, which is absent when it has just begun; or the reason why it ended.
pub(super) type Subscribed<F> = Result<(<F as Fleet>::Messages, Option<Message>), FleetError>;

pub(super) struct Outgoing<F: Fleet> {
    engine: Arc<F>,
    id: InstanceId,
    limit: Duration,
    clock: Instant,
    room: Arc<Semaphore>,
    pub(super) replies: JoinSet<Reply>,
    pub(super) heard: JoinSet<Subscribed<F>>,
}

impl<F: Fleet> Outgoing<F> {
    pub(super) fn new(engine: F, id: InstanceId, limit: Duration, clock: Instant) -> Self {
        Self {
            engine: Arc::new(engine),
            id,
            limit,
            clock,
            room: Arc::new(Semaphore::new(MOST)),
            replies: JoinSet::new(),
            heard: JoinSet::new(),
        }
    }

    pub(super) fn are_full(&self) -> bool {
        self.replies.len() >= WAITING
    }

    /// Asks about a breaker. The limit starts when the request is sent.
    pub(super) fn ask(&mut self, request: EngineRequest) {
        let (engine, id, limit) = (Arc::clone(&self.engine), self.id, self.limit);
        let room = Arc::clone(&self.room);
        self.replies.spawn(async move {
            let answer = async {
                let turn = async { room.acquire().await.map_err(FleetError::new) };
                let _turn = within("no turn to ask", limit * PATIENCE, turn).await?;
                let asked = engine.ask(id, &request.name, request.ask);
                within(UNANSWERED, limit, asked).await
            };
            let answer = answer.await;
            Reply::Answer(request, answer)
        });
    }

    /// Reads everything. The limit starts once there is a connection.
    pub(super) fn read(&mut self, every_ms: u32) {
        let (engine, id, limit) = (Arc::clone(&self.engine), self.id, self.limit);
        let clock = self.clock;
        self.replies.spawn(async move {
            let connected = within(UNCONNECTED, limit * CONNECTING, engine.connect()).await;
            let asked_ms = clock.elapsed().as_millis() as u64;
            let reading = match connected {
                Ok(()) => within(UNANSWERED, limit, engine.read(id, every_ms)).await,
                Err(error) => Err(error),
            };
            Reply::Reading(asked_ms, reading)
        });
    }

    pub(super) fn subscribe(&mut self, pause: Duration) {
        let (engine, limit) = (Arc::clone(&self.engine), self.limit);
        self.heard.spawn(async move {
            sleep(pause).await;
            let messages = within(UNCONNECTED, limit * CONNECTING, engine.subscribe());
            Ok((messages.await?, None))
        });
    }

    pub(super) fn listen(&mut self, mut messages: F::Messages) {
        self.heard.spawn(async move {
            let message = messages.next().await?;
            Ok((messages, Some(message)))
        });
    }
}

/// The result of the next task that ends; waits forever if there is none. A task that panicked is an error.
pub(super) async fn next<T: 'static>(tasks: &mut JoinSet<T>) -> Result<T, FleetError> {
    match tasks.join_next().await {
        Some(ended) => ended.map_err(FleetError::new),
        None => std::future::pending().await,
    }
}

/// The engine's answer, or an error if it was too slow.
async fn within<T>(
    what: &str,
    limit: Duration,
    answer: impl Future<Output = Result<T, FleetError>>,
) -> Result<T, FleetError> {
    timeout(limit, answer)
        .await
        .unwrap_or_else(|_| Err(FleetError::new(format_args!("{what} within {limit:?}"))))
}
