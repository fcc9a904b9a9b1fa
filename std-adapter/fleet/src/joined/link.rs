//! The subscription: kept up, or renewed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::lane::within;
use crate::{EngineError, Fleet, Message, Messages};

/// What comes from the engine.
pub(super) enum Heard {
    /// From now on everything is heard.
    Subscribed,
    Message(Message),
    /// There is no subscription, or it has ended.
    Lost(EngineError),
}

/// The first pause before another try, and the longest.
const FIRST_MS: u64 = 100;
const LONGEST_MS: u64 = 5_000;

/// A pause whose limit doubles each time in a row; a random part of it, at least half, is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pause {
    in_row: u32,
}

impl Pause {
    pub(super) fn next_ms(&mut self) -> u64 {
        let longest = (FIRST_MS << self.in_row.min(10)).min(LONGEST_MS);
        self.in_row += 1;
        fastrand::u64(longest / 2..=longest)
    }

    pub(super) fn start_over(&mut self) {
        self.in_row = 0;
    }
}

/// Listens forever. Ends when its receiver is gone.
pub(super) async fn listen<F: Fleet>(engine: Arc<F>, limit: Duration, heard: Sender<Heard>) {
    let mut pause = Pause::default();
    loop {
        // In a task of its own, so that an engine that panics is lost like one that fails.
        let mut subscription = JoinSet::new();
        subscription.spawn(hear(Arc::clone(&engine), limit, heard.clone()));
        let Some(ended) = subscription.join_next().await else {
            return;
        };
        let (has_heard, error) =
            ended.unwrap_or_else(|panicked| (false, EngineError::new(panicked)));
        if has_heard {
            pause.start_over();
        }
        if heard.send(Heard::Lost(error)).await.is_err() {
            return;
        }
        sleep(Duration::from_millis(pause.next_ms())).await;
    }
}

/// One subscription. Returns whether it brought a message, and why it ended.
async fn hear<F: Fleet>(
    engine: Arc<F>,
    limit: Duration,
    heard: Sender<Heard>,
) -> (bool, EngineError) {
    let mut messages = match within(limit, engine.subscribe()).await {
        Ok(messages) => messages,
        Err(error) => return (false, error),
    };
    let mut has_heard = false;
    let mut next = Heard::Subscribed;
    loop {
        if let Err(gone) = heard.send(next).await {
            return (has_heard, EngineError::new(gone));
        }
        next = match messages.next().await {
            Ok(message) => Heard::Message(message),
            Err(error) => return (has_heard, error),
        };
        has_heard = true;
    }
}
