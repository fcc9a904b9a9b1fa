//! Requests under way, bounded in number and time, and the subscription. Each runs in a task of its own, so that an
//! engine that panics is lost like one that fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::{Answer, Ask, Fleet, FleetError, InstanceId, Message, Messages, Name, Reading};

/// How many requests may be under way at once.
const MOST: usize = 64;

/// How many may be under way or waiting for their turn: that many keys may open at once.
const WAITING: usize = 16_384;

/// For how many limits a request waits for its turn: after that it may be out of date.
const PATIENCE: u32 = 8;

/// How many limits connecting may take, and subscribing: each needs several round trips, with TLS up to seven.
const CONNECTING: u32 = 8;

/// What took too long.
const UNANSWERED: &str = "no answer";
const UNCONNECTED: &str = "not connected";

/// The first pause before another try, and the longest.
const FIRST_MS: u64 = 100;
const LONGEST_MS: u64 = 5_000;

/// The outcome of a request.
pub(super) enum Reply {
    Ask {
        name: Name,
        ask: Ask,
        asked_ms: u64,
        answer: Result<Answer, FleetError>,
    },
    Read {
        asked_ms: u64,
        reading: Result<Reading, FleetError>,
    },
}

/// The subscription and its next message, which is absent when it has just begun; or why there is none any more.
pub(super) type Heard<F> = Result<(<F as Fleet>::Messages, Option<Message>), FleetError>;

pub(super) struct Lane<F: Fleet> {
    engine: Arc<F>,
    id: InstanceId,
    limit: Duration,
    clock: Instant,
    room: Arc<Semaphore>,
    pub(super) replies: JoinSet<Reply>,
    pub(super) heard: JoinSet<Heard<F>>,
}

impl<F: Fleet> Lane<F> {
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

    pub(super) fn is_full(&self) -> bool {
        self.replies.len() >= WAITING
    }

    /// The limit starts when the request is sent.
    pub(super) fn ask(&mut self, name: Name, ask: Ask, asked_ms: u64) {
        let (engine, id, limit) = (Arc::clone(&self.engine), self.id, self.limit);
        let room = Arc::clone(&self.room);
        self.replies.spawn(async move {
            let answer = async {
                let turn = async { room.acquire().await.map_err(FleetError::new) };
                let _turn = within("no turn to ask", limit * PATIENCE, turn).await?;
                within(UNANSWERED, limit, engine.ask(id, &name, ask)).await
            };
            let answer = answer.await;
            Reply::Ask {
                name,
                ask,
                asked_ms,
                answer,
            }
        });
    }

    /// The limit starts once there is a connection.
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
            Reply::Read { asked_ms, reading }
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

/// The pause after one more failure in a row: its limit doubles each time, and a random part of it, at least half, is
/// taken.
pub(super) fn pause(failures: &mut u32) -> Duration {
    let longest = (FIRST_MS << (*failures).min(10)).min(LONGEST_MS);
    *failures += 1;
    Duration::from_millis(fastrand::u64(longest / 2..=longest))
}
