//! Requests under way: bounded in number and time, apart from everything else.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::{Answer, Ask, EngineError, Fleet, InstanceId, Name, Reading};

/// How many requests are under way at most.
const MOST: usize = 64;

/// What a request came to.
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
    under_way: JoinSet<Reply>,
}

impl<F: Fleet> Lane<F> {
    pub(super) fn new(engine: Arc<F>, limit: Duration) -> Self {
        Self {
            engine,
            id: InstanceId::random(),
            limit,
            under_way: JoinSet::new(),
        }
    }

    /// Asks. Gives the reply at once, without an answer, if too much is under way.
    pub(super) fn ask(&mut self, name: Name, ask: Ask, asked_ms: u64) -> Option<Reply> {
        if self.under_way.len() >= MOST {
            return Some(Reply::Ask {
                name,
                ask,
                asked_ms,
                answer: Err(EngineError::new(format_args!(
                    "{MOST} requests are under way already"
                ))),
            });
        }
        let (engine, id, limit) = (Arc::clone(&self.engine), self.id, self.limit);
        self.under_way.spawn(async move {
            let answer = within(limit, engine.ask(id, &name, ask)).await;
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

    /// The next reply; for ever if nothing is under way. A request that panicked has none.
    pub(super) async fn reply(&mut self) -> Result<Reply, EngineError> {
        match self.under_way.join_next().await {
            Some(reply) => reply.map_err(EngineError::new),
            None => std::future::pending().await,
        }
    }
}

/// What an engine answers, or that it was too slow.
pub(super) async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    timeout(limit, answer)
        .await
        .unwrap_or_else(|_| Err(EngineError::new(format_args!("no answer within {limit:?}"))))
}
