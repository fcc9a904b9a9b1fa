// SPDX-License-Identifier: MIT OR Apache-2.0
//! An engine that says anything to an instance of a fleet, and is gone then. The instance never waits longer than its
//! rules let it, a resource that responds is served again, and one that does not trips it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_fleet::{
    Answer, Ask, Fleet, FleetConfig, FleetError, InstanceId, Joined, Message, Messages, Name,
    Notice, Period, PeriodId, Reading, Seat,
};
use atomic_breaker_server::word::NativeWord;
use atomic_breaker_server::{Breaker, Config, State, TokioClock};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::draw::Draw;

/// The next messages, one after the other; nothing more is an error.
#[derive(Clone, Default)]
struct Liar(Arc<(Mutex<Said>, Notify)>);

#[derive(Default)]
struct Said {
    bytes: VecDeque<u8>,
    published: VecDeque<Message>,
}

fn name() -> Name {
    Name::new("payments").expect("a name")
}

fn period(draw: &mut Draw<'_>) -> Option<Period> {
    let epoch = match draw.byte()? % 4 {
        0 => u64::MAX - u64::from(draw.byte()?),
        1 => u64::from_le_bytes(draw.bytes()?),
        _ => draw.byte()?.into(),
    };
    Some(Period {
        id: PeriodId {
            epoch,
            mark: u64::from(draw.byte()? % 3),
        },
        remaining_ms: draw.number()?,
        leased_ms: draw.number()?,
        open_ms: draw.number()?,
        trips: draw.byte()?,
    })
}

fn notice(draw: &mut Draw<'_>) -> Option<Notice> {
    Some(match draw.byte()? % 3 {
        0 => Notice::Closed(period(draw)?.id),
        _ => Notice::Open(period(draw)?),
    })
}

impl Liar {
    /// The next thing that is said.
    fn says<T>(&self, what: impl FnOnce(&mut Draw<'_>) -> Option<T>) -> Result<T, FleetError> {
        let mut said = self.0.0.lock().expect("no code under the lock panics");
        let bytes: Vec<u8> = said.bytes.iter().copied().collect();
        let mut draw = Draw(&bytes);
        let what = what(&mut draw);
        let left = draw.0.len();
        said.bytes.drain(..bytes.len() - left);
        what.ok_or_else(|| FleetError::new("the engine is gone"))
    }

    fn publish(&self, message: Message) {
        self.0
            .0
            .lock()
            .expect("no code under the lock panics")
            .published
            .push_back(message);
        self.0.1.notify_one();
    }
}

impl Fleet for Liar {
    type Messages = Self;

    async fn ask(&self, _: InstanceId, _: &Name, _: Ask) -> Result<Answer, FleetError> {
        self.says(|draw| {
            let done = draw.byte()? % 2 == 0;
            let notice = match draw.byte()? % 3 {
                0 => None,
                _ => Some(notice(draw)?),
            };
            let votes = draw.number()?;
            Some(Answer {
                done,
                votes,
                notice,
            })
        })
    }

    async fn read(&self, _: InstanceId, _: u32) -> Result<Reading, FleetError> {
        self.says(|draw| {
            let (living, more) = (draw.number()?, draw.byte()? % 8 == 0);
            let mut messages = Vec::new();
            for _ in 0..draw.small(3)? {
                messages.push(Message {
                    name: name(),
                    notice: notice(draw)?,
                });
            }
            Some(Reading {
                living,
                messages,
                more,
            })
        })
    }

    async fn subscribe(&self) -> Result<Self, FleetError> {
        self.says(|draw| draw.byte()).map(|_| self.clone())
    }
}

impl Messages for Liar {
    async fn next(&mut self) -> Result<Message, FleetError> {
        loop {
            let next = self
                .0
                .0
                .lock()
                .expect("no code under the lock panics")
                .published
                .pop_front();
            if let Some(next) = next {
                return Ok(next);
            }
            self.0.1.notified().await;
        }
    }
}

/// The longest that one of its own periods may be.
const LONGEST_MS: u64 = 40_000;
const LEASE_MS: u64 = 5_000;

fn rules() -> Config {
    Config::new()
        .consecutive_failures(2)
        .open_for(Duration::from_secs(10))
        .exponential(2, Duration::from_millis(LONGEST_MS))
        .max_retry_after(Duration::from_millis(LONGEST_MS))
        .probe_lease(Duration::from_millis(LEASE_MS))
}

type Payments = Arc<Breaker<TokioClock, NativeWord, (), Seat>>;

/// The time until a call is admitted, or more than that.
async fn shut_for(payments: &Payments, is_up: bool, most_ms: u64) -> u64 {
    let mut waited = 0;
    while waited <= most_ms {
        if let Ok(permit) = payments.acquire() {
            let _ = if is_up {
                permit.success()
            } else {
                permit.failure()
            };
            break;
        }
        sleep(Duration::from_millis(250)).await;
        waited += 250;
    }
    waited
}

async fn lives(bytes: &[u8]) -> Option<()> {
    let mut draw = Draw(bytes);
    let scenes: Vec<_> = (0..draw.small(12)?)
        .map_while(|_| draw.bytes::<2>())
        .collect();
    let liar = Liar::default();
    liar.0
        .0
        .lock()
        .expect("no code under the lock panics")
        .bytes = draw.0.iter().copied().collect();
    let joined = Joined::new(liar.clone(), FleetConfig::new(2)).expect("a fleet");
    let seat = joined.seat("payments").expect("a seat");
    let builder = Breaker::builder(rules(), TokioClock).observer(seat.clone());
    let payments: Payments = Arc::new(builder.build());
    assert!(seat.take(Arc::clone(&payments)));
    for [what, number] in scenes {
        match what % 4 {
            0 => {
                let message = liar.says(|draw| {
                    Some(Message {
                        name: name(),
                        notice: notice(draw)?,
                    })
                });
                message
                    .map(|message| liar.publish(message))
                    .unwrap_or_default();
            }
            1 => sleep(Duration::from_millis(u64::from(number) * 50)).await,
            what => {
                for _ in 0..number % 8 {
                    shut_for(&payments, what == 2, 500).await;
                }
            }
        }
    }
    // Nothing more is heard of it.
    liar.0
        .0
        .lock()
        .expect("no code under the lock panics")
        .bytes
        .clear();
    // Its longest period, two graces, and a reading: around/docs/fleet.md.
    let most = LONGEST_MS + 2 * LONGEST_MS / 10 + 5_000;
    let shut = shut_for(&payments, true, most).await;
    assert!(
        shut <= most,
        "shut for more than {most} ms: {:?}",
        payments.snapshot()
    );
    for _ in 0..2 {
        shut_for(&payments, true, 1_000).await;
    }
    // It may still remember its trips.
    let admits = matches!(payments.state(), State::Closed | State::Returning);
    assert!(admits, "{:?}", payments.snapshot());
    for _ in 0..2 {
        shut_for(&payments, false, 0).await;
    }
    assert_eq!(
        payments.snapshot().entered(),
        State::Open,
        "{:?}",
        payments.snapshot()
    );
    Some(())
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
}

pub(crate) fn lies(bytes: &[u8]) {
    runtime().block_on(lives(bytes));
}
