// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times at which an engine is read and subscribed to, and the number of requests that it gets at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_fleet::{
    Answer, Ask, Fleet, FleetConfig, FleetError, InProcess, InProcessMessages, InstanceId, Joined,
    Name, Reading,
};
use atomic_breaker_server::{Breaker, Config, TokioClock, word::NativeWord};
use tokio::time::Instant;

use super::faulty::seated;
use super::keys::idle;

/// Takes so long for each request, and notes when it gets them.
#[derive(Clone)]
struct Timed {
    engine: InProcess,
    takes: Duration,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    readings: Vec<Instant>,
    subscriptions: Vec<Instant>,
    bids: Vec<Instant>,
    /// The number of readings that are under way, and the most at once.
    under_way: u32,
    most: u32,
}

impl Timed {
    fn new(takes_ms: u64) -> Self {
        Self {
            engine: InProcess::new(),
            takes: Duration::from_millis(takes_ms),
            seen: Arc::default(),
        }
    }

    fn join(&self) -> Joined {
        Joined::new(self.clone(), FleetConfig::new(1)).unwrap()
    }
}

impl Fleet for Timed {
    type Messages = InProcessMessages;

    async fn ask(&self, from: InstanceId, name: &Name, ask: Ask) -> Result<Answer, FleetError> {
        if matches!(ask, Ask::Bid { .. }) {
            self.seen.lock().unwrap().bids.push(Instant::now());
        }
        tokio::time::sleep(self.takes).await;
        self.engine.ask(from, name, ask).await
    }

    async fn read(&self, from: InstanceId, every_ms: u32) -> Result<Reading, FleetError> {
        {
            let mut seen = self.seen.lock().unwrap();
            seen.readings.push(Instant::now());
            seen.under_way += 1;
            seen.most = seen.most.max(seen.under_way);
        }
        tokio::time::sleep(self.takes).await;
        self.seen.lock().unwrap().under_way -= 1;
        self.engine.read(from, every_ms).await
    }

    async fn subscribe(&self) -> Result<InProcessMessages, FleetError> {
        self.seen.lock().unwrap().subscriptions.push(Instant::now());
        self.engine.subscribe().await
    }
}

/// The times from each to the next, in milliseconds.
fn gaps(times: &[Instant]) -> Vec<u128> {
    let pairs = times.windows(2);
    pairs.map(|pair| (pair[1] - pair[0]).as_millis()).collect()
}

#[tokio::test(start_paused = true)]
async fn it_reads_at_each_poll_a_tenth_sooner_or_later_at_most() {
    let engine = Timed::new(0);
    let _joined = engine.join();
    idle(1_000_000).await;
    let gaps = gaps(&engine.seen.lock().unwrap().readings);
    // A timer fires up to a millisecond late.
    assert!(
        gaps.iter().all(|gap| (4_500..=5_502).contains(gap)),
        "{gaps:?}"
    );
    let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!(*least < 4_700 && *most > 5_300, "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_tried_again_after_pauses_that_double() {
    let engine = Timed::new(0);
    engine.engine.cut();
    let _joined = engine.join();
    idle(120_000).await;
    let gaps = gaps(&engine.seen.lock().unwrap().subscriptions);
    assert!(gaps.len() > 20, "{gaps:?}");
    for (number, gap) in gaps.iter().enumerate() {
        let limit = (100 << number.min(10)).min(5_000);
        assert!((limit / 2..=limit + 2).contains(gap), "{gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn there_is_one_reading_at_a_time() {
    let engine = Timed::new(100);
    let joined = engine.join();
    for _ in 0..5 {
        seated(&joined, "payments");
        idle(30).await;
    }
    idle(1_000).await;
    let seen = engine.seen.lock().unwrap();
    assert!(seen.readings.len() > 1);
    assert_eq!(seen.most, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_those_before_it() {
    let engine = Timed::new(200);
    let joined = engine.join();
    idle(1_000).await;
    let all: Vec<_> = (0..100)
        .map(|number| seated(&joined, &format!("service {number}")))
        .collect();
    idle(1_000).await;
    for breaker in &all {
        for _ in 0..3 {
            breaker.acquire().unwrap().failure();
        }
    }
    // More than are sent at once.
    idle(1_000).await;
    let status = joined.status();
    assert_eq!((status.open, status.unanswered), (100, 0), "{status:?}");
}

/// The grace is so short that there is no pause before a bid. What is due at once is due in the next millisecond, so that
/// no breaker keeps the others waiting.
#[tokio::test(start_paused = true)]
async fn a_bid_without_a_pause_comes_a_millisecond_later() {
    let ms = Duration::from_millis;
    let engine = Timed::new(0);
    let fleet = FleetConfig::new(1).time_limit(ms(1)).poll(ms(5_000));
    let joined = Joined::new(engine.clone(), fleet).unwrap();
    let seat = joined.seat("payments").unwrap();
    let rules = Config::new().consecutive_failures(1).open_for(ms(10));
    let payments = Breaker::builder(rules, TokioClock)
        .observer(seat.clone())
        .build();
    let payments: Arc<Breaker<_, NativeWord, _, _>> = Arc::new(payments);
    seat.take(Arc::clone(&payments));
    idle(20).await;
    payments.acquire().unwrap().failure();
    idle(11).await;
    let rejected_at = Instant::now();
    assert!(payments.acquire().is_err());
    idle(20).await;
    let bid = engine.seen.lock().unwrap().bids[0];
    assert_eq!((bid - rejected_at).as_millis(), 1);
}
