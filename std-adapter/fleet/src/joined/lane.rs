//! Requests under way: bounded in number and time, separate from everything else.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::{Answer, Ask, EngineError, Fleet, InstanceId, Name, Reading};

/// How many requests may be under way at once.
const MOST: usize = 64;

/// How many may be under way or waiting for their turn: that many keys may open at once.
const WAITING: usize = 16_384;

/// For how many limits a request waits for its turn: after that it may be out of date.
const PATIENCE: u32 = 8;

/// The outcome of a request.
pub(super) enum Reply {
    Ask {
        name: Name,
        ask: Ask,
        asked_ms: u64,
        answer: Result<Answer, EngineError>,
    },
    Read {
        asked_ms: u64,
        reading: Result<Reading, EngineError>,
    },
}

pub(super) struct Lane<F> {
    engine: Arc<F>,
    id: InstanceId,
    limit: Duration,
    room: Arc<Semaphore>,
    under_way: JoinSet<Reply>,
}

impl<F: Fleet> Lane<F> {
    pub(super) fn new(engine: Arc<F>, id: InstanceId, limit: Duration) -> Self {
        Self {
            engine,
            id,
            limit,
            room: Arc::new(Semaphore::new(MOST)),
            under_way: JoinSet::new(),
        }
    }

    /// Asks. If too many are waiting, returns a reply without an answer at once. The limit starts when the request is
    /// sent.
    pub(super) fn ask(&mut self, name: Name, ask: Ask, asked_ms: u64) -> Option<Reply> {
        if self.under_way.len() >= WAITING {
            return Some(Reply::Ask {
                name,
                ask,
                asked_ms,
                answer: Err(EngineError::new(format_args!(
                    "{WAITING} requests wait already"
                ))),
            });
        }
        let (engine, id, limit) = (Arc::clone(&self.engine), self.id, self.limit);
        let room = Arc::clone(&self.room);
        self.under_way.spawn(async move {
            let turn = within(limit * PATIENCE, async {
                room.acquire().await.map_err(EngineError::new)
            });
            let answer = match turn.await {
                Ok(_room) => within(limit, engine.ask(id, &name, ask)).await,
                Err(error) => Err(error),
            };
            Reply::Ask {
                name,
                ask,
                asked_ms,
                answer,
            }
        });
        None
    }

    pub(super) fn read(&mut self, every_ms: u64, asked_ms: u64) {
        let (engine, id, limit) = (Arc::clone(&self.engine), self.id, self.limit);
        let every_ms = u32::try_from(every_ms).unwrap_or(u32::MAX);
        self.under_way.spawn(async move {
            let reading = within(limit, engine.read(id, every_ms)).await;
            Reply::Read { asked_ms, reading }
        });
    }

    /// The next reply; waits forever if nothing is under way. A request that panicked is an error.
    pub(super) async fn reply(&mut self) -> Result<Reply, EngineError> {
        match self.under_way.join_next().await {
            Some(reply) => reply.map_err(EngineError::new),
            None => std::future::pending().await,
        }
    }
}

/// The engine's answer, or an error if it was too slow.
pub(super) async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    timeout(limit, answer)
        .await
        .unwrap_or_else(|_| Err(EngineError::new(format_args!("no answer within {limit:?}"))))
}
