// SPDX-License-Identifier: MIT OR Apache-2.0
//! Engines and keys that panic, engines that respond slowly or are far away, and a runtime that ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_fleet::{
    Answer, Ask, Fleet, FleetConfig, FleetError, InProcess, InProcessMessages, InstanceId, Joined,
    Name, Reading, Seat,
};
use atomic_breaker_server::{Breaker, KeyName, Registry, State, TokioClock, word::NativeWord};

use super::keys::{idle, open_elsewhere};
use super::support::{or_closed, rules};

/// Panics this many more times, and passes a reading on this much later.
#[derive(Clone)]
struct Faulty {
    engine: InProcess,
    asks: Arc<AtomicU32>,
    readings: Arc<AtomicU32>,
    subscriptions: Arc<AtomicU32>,
    delay: Duration,
}

impl Faulty {
    fn new(delay_ms: u64) -> Self {
        Self {
            engine: InProcess::new(),
            asks: Arc::default(),
            readings: Arc::default(),
            subscriptions: Arc::default(),
            delay: Duration::from_millis(delay_ms),
        }
    }
}

fn panic_if_due(left: &AtomicU32) {
    let took = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
        left.checked_sub(1)
    });
    assert!(took.is_err(), "a fault of the engine");
}

impl Fleet for Faulty {
    type Messages = InProcessMessages;

    async fn ask(&self, from: InstanceId, name: &Name, ask: Ask) -> Result<Answer, FleetError> {
        panic_if_due(&self.asks);
        self.engine.ask(from, name, ask).await
    }

    async fn read(&self, from: InstanceId, every_ms: u32) -> Result<Reading, FleetError> {
        panic_if_due(&self.readings);
        let reading = self.engine.read(from, every_ms).await;
        tokio::time::sleep(self.delay).await;
        reading
    }

    async fn subscribe(&self) -> Result<InProcessMessages, FleetError> {
        panic_if_due(&self.subscriptions);
        self.engine.subscribe().await
    }
}

pub(super) fn seated(
    joined: &Joined,
    name: &str,
) -> Arc<Breaker<TokioClock, NativeWord, (), Seat>> {
    let seat = joined.seat(name).unwrap();
    let payments = Breaker::builder(rules(), TokioClock)
        .observer(seat.clone())
        .build();
    let payments = Arc::new(payments);
    seat.take(Arc::clone(&payments));
    payments
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_panics_is_shown_and_asked_again() {
    for of in [
        |engine: &Faulty| Arc::clone(&engine.readings),
        |engine: &Faulty| Arc::clone(&engine.subscriptions),
    ] {
        let engine = Faulty::new(0);
        of(&engine).store(2, Ordering::SeqCst);
        let joined = Joined::new(engine.clone(), FleetConfig::new(1)).unwrap();
        idle(5_000).await;
        let status = joined.status();
        assert!(status.is_connected, "{status:?}");
        assert_eq!(status.unanswered, 2);
        let error = status.last_error.unwrap().to_string();
        assert!(error.contains("panicked"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_panics_at_every_request_leaves_each_to_itself() {
    let engine = Faulty::new(0);
    let joined = Joined::new(engine.clone(), FleetConfig::new(1)).unwrap();
    let payments = seated(&joined, "payments");
    idle(20).await;
    for (panics, is_shared) in [(u32::MAX, false), (0, true)] {
        engine.asks.store(panics, Ordering::SeqCst);
        let before = joined.status().unanswered;
        for _ in 0..3 {
            payments.acquire().unwrap().failure();
        }
        idle(1_000).await;
        assert_eq!(joined.status().open == 1, is_shared);
        assert_eq!(joined.status().unanswered == before, is_shared);
        let mut probed = 0;
        for _ in 0..20_000 {
            idle(1).await;
            if let Ok(permit) = payments.acquire() {
                permit.success();
                probed += 1;
                break;
            }
        }
        // It reads again, which does not panic.
        idle(10_000).await;
        assert_eq!((probed, or_closed(payments.state())), (1, State::Closed));
        assert!(joined.status().is_connected, "{:?}", joined.status());
    }
}

#[tokio::test(start_paused = true)]
async fn a_breaker_seated_during_a_reading_follows_the_next_one_at_once() {
    let engine = Faulty::new(100);
    let joined = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    idle(20).await;
    // The engine has read the records but not yet returned them, and there is no breaker yet to follow.
    open_elsewhere(&engine.engine, b"payments").await;
    idle(20).await;
    let payments = seated(&joined, "payments");
    idle(220).await;
    assert!(joined.status().is_connected);
    assert_eq!(payments.state(), State::Open);
}

/// Connecting and subscribing take seven times as long as a request, which takes almost as long as it may.
struct Far {
    engine: InProcess,
    is_connected: AtomicBool,
}

async fn round_trips(count: u32) {
    tokio::time::sleep(Duration::from_millis(240) * count).await;
}

impl Fleet for Far {
    type Messages = InProcessMessages;

    async fn ask(&self, from: InstanceId, name: &Name, ask: Ask) -> Result<Answer, FleetError> {
        round_trips(1).await;
        self.engine.ask(from, name, ask).await
    }

    async fn connect(&self) -> Result<(), FleetError> {
        round_trips(7).await;
        self.is_connected.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn read(&self, from: InstanceId, every_ms: u32) -> Result<Reading, FleetError> {
        assert!(self.is_connected.load(Ordering::SeqCst));
        round_trips(1).await;
        self.engine.read(from, every_ms).await
    }

    async fn subscribe(&self) -> Result<InProcessMessages, FleetError> {
        round_trips(7).await;
        self.engine.subscribe().await
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_far_away_has_time_to_connect() {
    let engine = InProcess::new();
    let far = Far {
        engine: engine.clone(),
        is_connected: AtomicBool::new(false),
    };
    let joined = Joined::new(far, FleetConfig::new(3)).unwrap();
    let payments = seated(&joined, "payments");
    idle(10_000).await;
    open_elsewhere(&engine, b"payments").await;
    idle(20).await;
    assert_eq!(payments.state(), State::Open);
    let status = joined.status();
    assert!(status.is_connected, "{status:?}");
    assert_eq!(status.unanswered, 0, "{status:?}");
}

/// Written in haste.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Tenant(u32);

impl std::fmt::Display for Tenant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl KeyName for Tenant {
    fn from_name(name: &str) -> Option<Self> {
        Some(Self(name.parse().unwrap()))
    }
}

#[tokio::test(start_paused = true)]
async fn keys_that_panic_at_names_of_others_end_nothing() {
    let engine = InProcess::new();
    let joined = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    let seats = joined.seats::<Tenant>("tenants").unwrap();
    let tenants = Registry::builder(rules())
        .clock(TokioClock)
        .observer(seats.clone())
        .build();
    let tenants = Arc::new(tenants.unwrap());
    seats.take(Arc::clone(&tenants));
    idle(20).await;
    open_elsewhere(&engine, b"tenants/seven").await;
    open_elsewhere(&engine, b"tenants/7").await;
    idle(20).await;
    assert_eq!(tenants.state(&Tenant(7)), State::Open);
    assert!(joined.status().is_connected);
}

#[test]
fn a_process_that_joined_in_a_runtime_that_has_ended_is_not_connected() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let joined = runtime.block_on(async {
        let joined = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
        idle(20).await;
        joined
    });
    assert!(joined.status().is_connected);
    drop(runtime);
    assert!(!joined.status().is_connected);
}
