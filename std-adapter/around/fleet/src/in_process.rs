// SPDX-License-Identifier: MIT OR Apache-2.0
//! An engine within the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use crate::engine::{Fleet, Messages};
use crate::error::FleetError;
use crate::ledger::Ledger;
use crate::message::{Answer, Ask, Message, Reading};
use crate::name::{InstanceId, Name};

/// The number of messages that a subscriber may lag behind.
const BACKLOG: usize = 4_096;

/// The engine's clock when it begins: not zero, so that it can be set back.
const BEGAN_MS: u64 = 1 << 40;

/// A [`Fleet`] within the process, for testing code that uses one, on tokio's clock. Clones share one engine. With the
/// feature `contract` it has every fault that a real engine can have.
///
/// ```
/// use atomic_breaker_fleet::{Fleet, InProcess, InstanceId};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let engine = InProcess::new();
/// let reading = engine.read(InstanceId::random(), 5_000).await.unwrap();
/// assert_eq!(reading.living, 1);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct InProcess(Arc<Engine>);

#[derive(Debug)]
struct Engine {
    ledger: Mutex<Ledger>,
    published: broadcast::Sender<Message>,
    began: Instant,
    /// Its clock when it began, in milliseconds.
    began_ms: AtomicU64,
    requests: AtomicU64,
    link: watch::Sender<Network>,
}

/// The network between the engine and its clients.
#[derive(Clone, Copy, Debug, Default)]
struct Network {
    is_cut: bool,
    hangs: bool,
    /// The number of times that it was cut: connections from before are lost.
    cuts: u32,
}

impl InProcess {
    /// An empty engine that responds.
    pub fn new() -> Self {
        Self(Arc::new(Engine {
            ledger: Mutex::default(),
            published: broadcast::Sender::new(BACKLOG),
            began: Instant::now(),
            began_ms: BEGAN_MS.into(),
            requests: 0.into(),
            link: watch::Sender::new(Network::default()),
        }))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // No code under the lock panics.
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        self.0.began_ms.load(Ordering::SeqCst) + self.0.began.elapsed().as_millis() as u64
    }

    /// Waits while the engine hangs; fails if the connection is cut, or was cut meanwhile.
    async fn reach(&self) -> Result<(), FleetError> {
        let mut link = self.0.link.subscribe();
        let cuts = link.borrow().cuts;
        match link.wait_for(|link| link.is_cut || !link.hangs).await {
            Ok(link) => {
                self.0.requests.fetch_add(1, Ordering::SeqCst);
                link.check(cuts)
            }
            Err(gone) => Err(FleetError::new(gone)),
        }
    }
}

/// Faults.
#[cfg(feature = "contract")]
impl InProcess {
    /// Forgets everything, as `FLUSHALL` does.
    pub fn flush(&self) {
        *self.ledger() = Ledger::default();
    }

    /// Publishes a message that no request led to, as anyone who reaches the channel of a real engine can.
    pub fn publish(&self, message: Message) {
        // Under the lock, like every message. There may be no subscriber.
        let _ledger = self.ledger();
        let _ = self.0.published.send(message);
    }

    /// Returns the state that a replica would have now.
    pub fn replica(&self) -> Ledger {
        self.ledger().clone()
    }

    /// Lets a replica take over with what it held; every connection is lost.
    pub fn fail_over(&self, to: Ledger) {
        *self.ledger() = to;
        self.cut();
        self.mend();
    }

    /// Cuts every connection; new ones fail.
    pub fn cut(&self) {
        self.0.link.send_modify(|link| {
            link.is_cut = true;
            link.cuts += 1;
        });
    }

    /// Allows connections again.
    pub fn mend(&self) {
        self.0.link.send_modify(|link| link.is_cut = false);
    }

    /// Stops answering but keeps every connection, and handles pending requests once it goes on, like a process that
    /// was stopped.
    pub fn hang(&self, hangs: bool) {
        self.0.link.send_modify(|link| link.hangs = hangs);
    }

    /// Sets its clock ahead by so many milliseconds, or back if negative.
    pub fn set_clock_ahead_ms(&self, ms: i64) {
        let began_ms = BEGAN_MS.saturating_add_signed(ms);
        self.0.began_ms.store(began_ms, Ordering::SeqCst);
    }

    /// The number of requests and readings that have reached it.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::SeqCst)
    }
}

impl Network {
    fn check(self, cuts: u32) -> Result<(), FleetError> {
        if self.is_cut || self.cuts != cuts {
            Err(FleetError::new("the connection was cut"))
        } else {
            Ok(())
        }
    }
}

impl Default for InProcess {
    fn default() -> Self {
        Self::new()
    }
}

impl Fleet for InProcess {
    type Messages = InProcessMessages;

    async fn ask(&self, from: InstanceId, name: &Name, ask: Ask) -> Result<Answer, FleetError> {
        self.reach().await?;
        let mut ledger = self.ledger();
        let (answer, notice) = ledger.ask(self.now_ms(), fastrand::u64(..), from, name, ask);
        if let Some(notice) = notice {
            // Under the lock, so that messages are in the order of the changes. There may be no subscriber.
            let name = name.clone();
            let _ = self.0.published.send(Message { name, notice });
        }
        Ok(answer)
    }

    async fn read(&self, from: InstanceId, every_ms: u32) -> Result<Reading, FleetError> {
        self.reach().await?;
        Ok(self.ledger().read(self.now_ms(), from, every_ms))
    }

    async fn subscribe(&self) -> Result<InProcessMessages, FleetError> {
        self.reach().await?;
        let link = self.0.link.subscribe();
        let cuts = link.borrow().cuts;
        Ok(InProcessMessages {
            published: self.0.published.subscribe(),
            link,
            cuts,
        })
    }
}

/// A subscription to [`InProcess`].
#[derive(Debug)]
pub struct InProcessMessages {
    published: broadcast::Receiver<Message>,
    link: watch::Receiver<Network>,
    cuts: u32,
}

impl Messages for InProcessMessages {
    async fn next(&mut self) -> Result<Message, FleetError> {
        loop {
            let link = *self.link.borrow_and_update();
            link.check(self.cuts)?;
            tokio::select! {
                biased;
                changed = self.link.changed() => changed.map_err(FleetError::new)?,
                message = self.published.recv(), if !link.hangs => {
                    return message.map_err(FleetError::new);
                }
            }
        }
    }
}
