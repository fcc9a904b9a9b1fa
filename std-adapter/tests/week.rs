//! What users of layers, registries and guarded clients write first, over a week of paused time: a host that is
//! down for an hour, twice a day, and a request each second.
//!
//! Each program is written the way someone would who has read no further than the example. It must open soon
//! after the host went down, waste little while it is down, and let requests through again soon after it came
//! back.
#![cfg(all(feature = "client", target_has_atomic = "64"))]

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_std::client::{ClientConfig, ClientGuard};
use atomic_breaker_std::registry::Registry;
use atomic_breaker_std::tower::{BreakerLayer, TimeLimitLayer};
use atomic_breaker_std::{Breaker, Config, Resource, ServiceError, State, TokioClock};
use http::{Request, Response};
use tokio::time::{sleep_until, timeout};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);
const WEEK_S: u64 = 7 * 24 * 3_600;
const PERIOD_S: u64 = 12 * 3_600;
const DOWN_S: std::ops::Range<u64> = 5 * 3_600..6 * 3_600;

/// A host that answers, or not.
#[derive(Clone, Debug, Default)]
struct Host {
    is_down: Arc<AtomicBool>,
    hangs: bool,
    reached: Arc<AtomicU32>,
}

impl Host {
    fn hanging() -> Self {
        Self {
            hangs: true,
            ..Self::default()
        }
    }

    async fn answer(&self) -> Result<u32, io::Error> {
        self.reached.fetch_add(1, Relaxed);
        match (self.is_down.load(Relaxed), self.hangs) {
            (false, _) => Ok(7),
            (true, false) => Err(io::Error::other("no answer")),
            (true, true) => pending().await,
        }
    }
}

/// What became of the requests of the worst outage.
#[derive(Debug, Default)]
struct Week {
    /// Calls that reached the host while it was down.
    wasted: u32,
    /// Seconds from its return until a request succeeded.
    back_after_s: u64,
    /// Outages after which a request succeeded.
    back: u32,
    /// Requests that failed two minutes after its return or later.
    failed_in_health: u32,
}

/// A request each second. `ask` makes it, and answers whether it succeeded.
async fn week<F: Future<Output = bool>>(host: &Host, mut ask: impl FnMut() -> F) -> Week {
    let begin = tokio::time::Instant::now();
    let mut week = Week::default();
    let (mut wasted, mut is_back) = (0, true);
    for second in 0..WEEK_S {
        sleep_until(begin + Duration::from_secs(second)).await;
        let phase = begin.elapsed().as_secs() % PERIOD_S;
        let is_down = DOWN_S.contains(&phase);
        host.is_down.store(is_down, Relaxed);
        if is_down && is_back {
            (wasted, is_back) = (0, false);
        }
        host.reached.store(0, Relaxed);
        let succeeded = ask().await;
        if is_down {
            wasted += host.reached.load(Relaxed);
            week.wasted = week.wasted.max(wasted);
        } else if succeeded && !is_back {
            is_back = true;
            week.back += 1;
            week.back_after_s = week.back_after_s.max(phase - DOWN_S.end);
        } else if !succeeded && !(DOWN_S.start..=DOWN_S.end + 120).contains(&phase) {
            week.failed_in_health += 1;
        }
    }
    week
}

/// At most `wasted` of the 3,600 requests of an outage reach the host, and a minute after it they succeed.
fn protects(week: &Week, wasted: u32) {
    assert_eq!((week.back, week.failed_in_health), (14, 0), "{week:?}");
    assert!(week.wasted <= wasted && week.wasted >= 3, "{week:?}");
    assert!(week.back_after_s <= 61, "{week:?}");
}

fn config() -> Config {
    Config::new().exponential(2, Duration::from_secs(60))
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_registry_that_is_left_by_the_question_mark() {
    let host = Host::default();
    let hosts = Registry::<&str>::builder(config())
        .clock(TokioClock)
        .build()
        .unwrap();
    let ask = async || -> Result<u32, Box<dyn std::error::Error>> {
        let value = hosts.call_async("a.example", || host.answer()).await?;
        Ok(value + 1)
    };
    protects(&week(&host, || async { ask().await.is_ok() }).await, 70);
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_layered_service_in_tasks() {
    static HOST: Resource<Breaker<TokioClock>> = Resource::new(Breaker::new(
        Config::new().exponential(2, Duration::from_secs(60)),
        TokioClock,
    ));
    let host = Host::default();
    let service = ServiceBuilder::new()
        .layer(BreakerLayer::new(&HOST))
        .service(service_fn(|host: Host| async move { host.answer().await }));
    let ask = || {
        let request = tokio::spawn(service.oneshot(host.clone()));
        async { request.await.unwrap().is_ok() }
    };
    protects(&week(&host, ask).await, 70);
}

/// The deadline of the caller is shorter than the limit of a try: calls that are cut short are slow ones.
#[tokio::test(start_paused = true)]
async fn a_time_out_around_a_guarded_client() {
    let host = Host::hanging();
    let guard = ClientGuard::with(ClientConfig::new(), TokioClock, ())
        .unwrap()
        .leak();
    let client = {
        let host = host.clone();
        guard.layer().layer(service_fn(move |_: Request<()>| {
            let host = host.clone();
            async move { host.answer().await.map(Response::new) }
        }))
    };
    let ask = || async {
        let request = Request::get("http://a.example/").body(()).unwrap();
        timeout(2 * SECOND, client.clone().oneshot(request))
            .await
            .is_ok_and(|answer| answer.is_ok())
    };
    // Open for half a minute at most, so twice as often as the others.
    protects(&week(&host, ask).await, 200);
}

/// A time limit below the breaker, and callers that leave in the middle of every third request.
#[tokio::test(start_paused = true)]
async fn requests_that_are_dropped_in_the_middle() {
    let host = Host::hanging();
    let breaker = Arc::new(Breaker::new(config(), TokioClock));
    let service = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .layer(TimeLimitLayer::new(SECOND / 2))
        .service(service_fn(|host: Host| async move { host.answer().await }));
    let number = AtomicU32::new(0);
    let ask = || {
        let patience = if number.fetch_add(1, Relaxed).is_multiple_of(3) {
            SECOND / 10
        } else {
            SECOND
        };
        let request = service.clone().oneshot(host.clone());
        async move {
            timeout(patience, request)
                .await
                .is_ok_and(|answer| answer.is_ok())
        }
    };
    // A probe that is left young says nothing, and the next second another one is made.
    protects(&week(&host, ask).await, 160);
}

/// Two clients of one host, each with a layer of its own over the same breaker.
#[tokio::test(start_paused = true)]
async fn one_breaker_in_two_clients() {
    let host = Host::default();
    let breaker = Arc::new(Breaker::new(config(), TokioClock));
    let client = || {
        BreakerLayer::new(Arc::clone(&breaker))
            .layer(service_fn(|host: Host| async move { host.answer().await }))
    };
    let (one, other) = (client(), client());
    let number = AtomicU32::new(0);
    let ask = || {
        let is_even = number.fetch_add(1, Relaxed).is_multiple_of(2);
        let client = if is_even { one.clone() } else { other.clone() };
        let request = client.oneshot(host.clone());
        async { request.await.is_ok() }
    };
    protects(&week(&host, ask).await, 70);
}

/// The same breaker twice in one stack: documented as wrong. It protects, and an operator gets it closed.
#[tokio::test(start_paused = true)]
async fn a_breaker_around_itself_never_closes_by_itself() {
    let breaker = Arc::new(Breaker::new(config(), TokioClock));
    let service = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .map_err(|error: ServiceError<io::Error>| error)
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .service(service_fn(|host: Host| async move { host.answer().await }));
    let host = Host::default();
    breaker.trip();
    for _ in 0..WEEK_S / 60 {
        tokio::time::sleep(60 * SECOND).await;
        assert!(service.clone().oneshot(host.clone()).await.is_err());
    }
    assert_ne!(breaker.state(), State::Closed);
    breaker.reset();
    assert!(service.oneshot(host).await.is_ok());
}
