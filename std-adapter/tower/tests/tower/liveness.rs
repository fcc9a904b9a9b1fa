// SPDX-License-Identifier: MIT OR Apache-2.0
//! Days with a server that is ill and well again, and callers who leave at random, through stacks put together by hand: they
//! trip while it is ill, and serve soon after. Seeds are random and printed.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_tower::{
    Breaker, BreakerLayer, Config, GateLayer, RetryBudget, RetryConfig, RetryLayer, State,
    TimeLimitLayer, TokioClock,
};
use tokio::time::{Instant, sleep, timeout};
use tower::balance::p2c::Balance;
use tower::discover::ServiceList;
use tower::load::{CompleteOnResponse, PendingRequests};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::fake::{OnTokio, SECOND};

const MS: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);
/// Open for five seconds, then a probe that may take three, and a caller who is patient: one of four, who come twice a
/// second.
const BOUND: Duration = Duration::from_secs(5 + 3 + 15);

#[derive(Clone, Copy, Debug)]
enum Ill {
    Hangs,
    Fails,
}

/// One that is well takes a tenth of a second.
#[derive(Default)]
struct Server {
    ill: Mutex<Option<Ill>>,
    reached: AtomicU32,
}

impl Server {
    async fn answer(self: Arc<Self>) -> io::Result<u32> {
        self.reached.fetch_add(1, Relaxed);
        let ill = *self.ill.lock().unwrap();
        match ill {
            None => sleep(100 * MS).await,
            Some(Ill::Hangs) => return pending().await,
            Some(Ill::Fails) => return Err(io::Error::other("no answer")),
        }
        Ok(7)
    }
}

fn service(
    server: &Arc<Server>,
) -> impl Service<u32, Response = u32, Error = io::Error, Future: Send + 'static>
+ Clone
+ Send
+ Sync
+ 'static {
    let server = Arc::clone(server);
    service_fn(move |_: u32| Arc::clone(&server).answer())
}

fn breaker() -> &'static OnTokio {
    Box::leak(Box::new(Breaker::new(Config::new(), TokioClock)))
}

fn seed() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    fastrand::seed(seed);
}

type Client = BoxCloneSyncService<u32, u32, BoxError>;

/// Callers for so long. Those who leave do so young, as the rules have it, or after the server would have answered.
/// Answers how many came after `bound`, were patient and not served.
async fn call(client: &Client, time: Duration, bound: Duration) -> u32 {
    let (begin, unserved) = (Instant::now(), Arc::new(AtomicU32::new(0)));
    while begin.elapsed() < time {
        let patience = match fastrand::u32(0..4) {
            0 => fastrand::u32(0..250) * MS,
            1 => fastrand::u32(250..3_000) * MS,
            2 => 5 * SECOND,
            _ => 30 * SECOND,
        };
        let late = begin.elapsed() > bound;
        let answer = timeout(patience, client.clone().oneshot(1));
        let unserved = Arc::clone(&unserved);
        tokio::spawn(async move {
            let is_served = matches!(answer.await, Ok(Ok(7)));
            let counts = late && patience >= 5 * SECOND;
            unserved.fetch_add(u32::from(counts && !is_served), Relaxed);
        });
        sleep(fastrand::u32(1..1_000) * MS).await;
    }
    sleep(35 * SECOND).await;
    unserved.load(Relaxed)
}

async fn days(server: &Server, breaker: &OnTokio, client: Client) {
    seed();
    for round in 0..50 {
        let ill = fastrand::choice([Ill::Hangs, Ill::Fails]).unwrap();
        *server.ill.lock().unwrap() = Some(ill);
        server.reached.store(0, Relaxed);
        let minutes = fastrand::u32(1..20);
        call(&client, minutes * MINUTE, Duration::MAX).await;
        let reached = server.reached.load(Relaxed);
        assert_ne!(
            breaker.state(),
            State::Closed,
            "{round}: {ill:?} did not trip"
        );
        // Until it trips; then a few probes for each open time of five seconds.
        assert!(
            reached <= 60 + 5 * 12 * (minutes + 1),
            "{round}: {reached} by {ill:?}"
        );
        *server.ill.lock().unwrap() = None;
        let unserved = call(&client, 10 * MINUTE, BOUND).await;
        assert_eq!(unserved, 0, "{round}: after {ill:?}");
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn retries_above_a_breaker_above_a_time_limit() {
    static BUDGET: RetryBudget = RetryBudget::new();
    let (server, breaker) = (Arc::<Server>::default(), breaker());
    let client = ServiceBuilder::new()
        .map_err(BoxError::from)
        .layer(RetryLayer::new(RetryConfig::new(), &BUDGET, |_: &u32| true))
        .layer(BreakerLayer::new(breaker))
        .layer(TimeLimitLayer::new(3 * SECOND))
        .service(service(&server));
    days(&server, breaker, BoxCloneSyncService::new(client)).await;
}

#[tokio::test(start_paused = true)]
async fn a_gate_below_a_buffer() {
    let (server, breaker) = (Arc::<Server>::default(), breaker());
    let client = ServiceBuilder::new()
        .buffer(1_024)
        .layer(GateLayer::new(breaker))
        .layer(TimeLimitLayer::new(3 * SECOND))
        .service(service(&server));
    days(&server, breaker, BoxCloneSyncService::new(client)).await;
}

/// One of two endpoints is ill: the other serves all but those who meet it before it trips, or as its probes.
#[tokio::test(start_paused = true)]
async fn gates_below_a_balancer() {
    seed();
    let servers = [(); 2].map(|()| Arc::<Server>::default());
    let breakers = [(); 2].map(|()| breaker());
    let endpoints = [0, 1].map(|number| {
        let limited = TimeLimitLayer::new(3 * SECOND).layer(service(&servers[number]));
        let gate = GateLayer::new(breakers[number]).layer(limited);
        PendingRequests::new(gate, CompleteOnResponse::default())
    });
    let balance = Balance::new(ServiceList::new::<u32>(endpoints));
    let client = ServiceBuilder::new().buffer(1_024).service(balance);
    let client: Client = BoxCloneSyncService::new(client);
    for round in 0..30 {
        let number = fastrand::usize(0..2);
        *servers[number].ill.lock().unwrap() = fastrand::choice([Ill::Hangs, Ill::Fails]);
        servers[number].reached.store(0, Relaxed);
        call(&client, 10 * MINUTE, Duration::MAX).await;
        let reached = servers[number].reached.load(Relaxed);
        assert_ne!(breakers[number].state(), State::Closed, "{round}");
        assert!(reached < 60 + 5 * 12 * 11, "{round}: {reached}");
        *servers[number].ill.lock().unwrap() = None;
        let unserved = call(&client, 5 * MINUTE, BOUND).await;
        assert_eq!(unserved, 0, "{round}");
        for (breaker, server) in breakers.iter().zip(&servers) {
            assert_eq!(breaker.state(), State::Closed, "{round}");
            assert!(server.reached.swap(0, Relaxed) > 100, "{round}: both serve");
        }
    }
}

/// Callers who leave later than the `cancel_limit`, and sooner than the server answers, look like those of one that hangs.
/// A limit above their patience lets those who stay decide.
#[tokio::test(start_paused = true)]
async fn a_cancel_limit_above_the_patience_of_most_callers_lets_a_slow_server_return() {
    let rules = Config::new().cancel_limit(400 * MS);
    let breaker: &'static OnTokio = Box::leak(Box::new(Breaker::new(rules, TokioClock)));
    let client = ServiceBuilder::new()
        .layer(BreakerLayer::new(breaker))
        .service(service_fn(|(): ()| async {
            sleep(400 * MS).await;
            Ok::<_, io::Error>(())
        }));
    breaker.trip();
    let mut served = 0;
    for second in 0..3_600 {
        // Every tenth caller waits for the answer.
        let patience = if second % 10 == 9 { SECOND } else { 300 * MS };
        let answer = timeout(patience, client.oneshot(())).await;
        served += u32::from(answer.is_ok_and(|answer| answer.is_ok()));
        sleep(SECOND).await;
    }
    assert_eq!(served, 360);
}
