//! The subscription: kept, or taken again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::sleep;

use super::super::{EngineError, Fleet, Message, Messages};
use super::lane::within;

/// What comes from the engine.
pub(super) enum Heard {
    /// From now on everything is heard.
    Subscribed,
    Message(Message),
    /// There is no subscription, or no more.
    Lost(EngineError),
}

/// The first pause before another try, and the longest.
const FIRST_MS: u64 = 100;
const LONGEST_MS: u64 = 5_000;

/// A pause that doubles with each one in a row, of which a random part is taken.
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

/// Listens for ever. Ends when nobody takes what it hears.
pub(super) async fn listen<F: Fleet>(engine: Arc<F>, limit: Duration, heard: Sender<Heard>) {
    let mut pause = Pause::default();
    loop {
        let error = match within(limit, engine.subscribe()).await {
            Ok(mut messages) => {
                if heard.send(Heard::Subscribed).await.is_err() {
                    return;
                }
                loop {
                    match messages.next().await {
                        Ok(message) => {
                            pause.start_over();
                            if heard.send(Heard::Message(message)).await.is_err() {
                                return;
                            }
                        }
                        Err(error) => break error,
                    }
                }
            }
            Err(error) => error,
        };
        if heard.send(Heard::Lost(error)).await.is_err() {
            return;
        }
        sleep(Duration::from_millis(pause.next_ms())).await;
    }
}
