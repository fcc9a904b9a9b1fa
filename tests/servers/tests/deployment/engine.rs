// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of one instance to the engine of its fleet. Answers may be lost, and messages lost, repeated or late.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_fleet::contract::Ledger;
use atomic_breaker_fleet::{
    Answer, Ask, Fleet, FleetError, InProcess, InstanceId, Message, Messages, Name, Notice, Period,
    PeriodId, Reading,
};
use test_support::dice::Dice;
use tokio::time::sleep;

use crate::net::{Life, Link, Node};
use crate::world::World;

/// The faults of the engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EngineFault {
    /// Every connection is cut, and new ones fail.
    Gone,
    Hangs,
    /// It forgets everything.
    Flushed,
    /// A replica takes over with what was known when the fault before this one ended.
    Older,
    /// Its clock is wrong by so many milliseconds.
    Clock(i64),
    /// Another program publishes messages that no request led to.
    Forged(u32),
}

/// The ledger that replicas hold.
#[derive(Default)]
pub(crate) struct Replica(Mutex<Option<Ledger>>);

impl EngineFault {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        match dice.below(7) {
            0 | 1 => Self::Gone,
            2 => Self::Hangs,
            3 => Self::Flushed,
            4 => Self::Older,
            5 => Self::Clock(i64::from(dice.within(0..2_000_000)) - 1_000_000),
            _ => Self::Forged(dice.within(1..100_000_000)),
        }
    }

    pub(crate) fn begin(self, world: &World) {
        let engine = &world.engine;
        match self {
            Self::Gone => engine.cut(),
            Self::Hangs => engine.hang(true),
            Self::Flushed => engine.flush(),
            Self::Older => {
                if let Some(older) = world.replica.0.lock().unwrap().take() {
                    engine.fail_over(older);
                }
            }
            Self::Clock(ahead_ms) => engine.set_clock_ahead_ms(ahead_ms),
            Self::Forged(claims_ms) => forge(world, claims_ms),
        }
    }

    pub(crate) fn end(self, world: &World) {
        match self {
            Self::Gone => world.engine.mend(),
            Self::Hangs => world.engine.hang(false),
            Self::Clock(_) => world.engine.set_clock_ahead_ms(0),
            Self::Flushed | Self::Older | Self::Forged(_) => {}
        }
        *world.replica.0.lock().unwrap() = Some(world.engine.replica());
    }
}

/// As anyone who reaches the channel can.
fn forge(world: &World, claims_ms: u32) {
    let mark = world.draw(Dice::next);
    let epoch = (1 << 40) + u64::from(claims_ms);
    let id = PeriodId { epoch, mark };
    let name = Name::new(format!(
        "hosts/{}",
        crate::client::Target::Host(mark as usize % 3).origin()
    ));
    let period = Period {
        id,
        remaining_ms: claims_ms,
        leased_ms: claims_ms,
        open_ms: claims_ms,
        trips: mark as u8,
    };
    let notice = if mark.is_multiple_of(4) {
        Notice::Closed(id)
    } else {
        Notice::Open(period)
    };
    let name = name.expect("a short name");
    world.engine.publish(Message { name, notice });
}

/// The engine, as one instance reaches it.
pub(crate) struct Reached {
    pub(crate) world: &'static World,
    pub(crate) life: Arc<Life>,
}

impl Reached {
    async fn send<T>(
        &self,
        handle: impl Future<Output = Result<T, FleetError>>,
    ) -> Result<T, FleetError> {
        let sent = self.world.net.send(&self.life, Node::ENGINE, handle);
        sent.await
            .unwrap_or_else(|error| Err(FleetError::new(error)))
    }
}

impl Fleet for Reached {
    type Messages = Received;

    async fn ask(&self, from: InstanceId, name: &Name, ask: Ask) -> Result<Answer, FleetError> {
        self.send(self.world.engine.ask(from, name, ask)).await
    }

    async fn read(&self, from: InstanceId, every_ms: u32) -> Result<Reading, FleetError> {
        self.send(self.world.engine.read(from, every_ms)).await
    }

    async fn subscribe(&self) -> Result<Received, FleetError> {
        let messages = self.send(self.world.engine.subscribe()).await?;
        Ok(Received {
            messages,
            kept: VecDeque::new(),
            world: self.world,
            life: Arc::clone(&self.life),
        })
    }
}

/// The messages that one instance receives.
pub(crate) struct Received {
    messages: <InProcess as Fleet>::Messages,
    /// Repeated or late ones.
    kept: VecDeque<Message>,
    world: &'static World,
    life: Arc<Life>,
}

impl Received {
    /// The message after a disturbance; `None` if it does not arrive now.
    fn disturbed(&mut self, message: Message) -> Option<Message> {
        let link = self.world.net.link(Node::ENGINE, self.life.node);
        if matches!(link, Link::Drops | Link::Refuses) {
            return None;
        }
        let noise = self.world.plan.noise;
        match self
            .world
            .draw(|dice| dice.percent(noise).then(|| dice.below(3)))
        {
            None => return Some(message),
            Some(0) => return None,
            Some(1) => {
                self.kept.push_back(message.clone());
                return Some(message);
            }
            Some(_) => self.kept.push_back(message),
        }
        None
    }
}

/// The delay of a late message.
const LATE: Duration = Duration::from_millis(700);

impl Messages for Received {
    async fn next(&mut self) -> Result<Message, FleetError> {
        loop {
            self.life.runs().await;
            tokio::select! {
                biased;
                message = self.messages.next() => {
                    if let Some(message) = self.disturbed(message?) {
                        return Ok(message);
                    }
                }
                () = sleep(LATE), if !self.kept.is_empty() => {
                    if let Some(message) = self.kept.pop_front() {
                        return Ok(message);
                    }
                }
            }
        }
    }
}
