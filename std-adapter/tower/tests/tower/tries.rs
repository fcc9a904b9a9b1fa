// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tries that go on when their callers leave.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_server::word;
use atomic_breaker_tower::{
    AnyPermit, Breaker, BreakerLayer, Config, Failure, ReadOn, Report, ServiceError, State,
    TimeLimitLayer, Timed, TokioClock, TryLayer,
};
use tokio::time::{Instant, sleep, timeout};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(3);
const JUST_BEFORE: Duration = Duration::from_millis(2_999);
/// A healthy answer, later than the `cancel_limit` of the rules.
const ANSWER: Duration = Duration::from_millis(400);
/// Between the two.
const PATIENCE: Duration = Duration::from_millis(300);
const HANGS: Duration = Duration::MAX;

type Client = BoxCloneSyncService<(), (), BoxError>;

fn one(rules: Config) -> Arc<Breaker<TokioClock>> {
    Arc::new(Breaker::new(rules, TokioClock))
}

/// A service that takes that long, and counts the calls that it has at once.
fn taking(
    time: Duration,
    at_once: &Arc<AtomicU32>,
) -> impl Service<(), Response = (), Error = io::Error, Future: Send + 'static>
+ Clone
+ Send
+ Sync
+ 'static {
    struct Leaving(Arc<AtomicU32>);
    impl Drop for Leaving {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    let at_once = Arc::clone(at_once);
    service_fn(move |()| {
        let at_once = Arc::clone(&at_once);
        async move {
            at_once.fetch_add(1, Relaxed);
            let _leaving = Leaving(at_once);
            match time {
                HANGS => pending().await,
                time => sleep(time).await,
            }
            Ok(())
        }
    })
}

fn boxed<S>(service: S) -> Client
where
    S: Service<(), Response = (), Error = ServiceError<Timed<io::Error>>, Future: Send + 'static>,
    S: Clone + Send + Sync + 'static,
{
    BoxCloneSyncService::new(service.map_err(BoxError::from))
}

fn through(layer: &TryLayer<Arc<Breaker<TokioClock>>>, time: Duration) -> Client {
    boxed(layer.layer(taking(time, &Arc::default())))
}

/// The time for which an open breaker rejects, with 200 callers a second that leave, and one that waits,
/// at random.
async fn shut(breaker: &Breaker<TokioClock>, client: &Client, at_most: Duration) -> Duration {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    breaker.trip();
    let begun = Instant::now();
    while breaker.state() != State::Closed && begun.elapsed() < at_most {
        let patience = match random.u32(..201) {
            0 => LIMIT,
            _ => PATIENCE,
        };
        tokio::spawn(timeout(patience, client.clone().oneshot(())));
        sleep(5 * MS).await;
    }
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn callers_that_leave_do_not_keep_a_healthy_service_shut() {
    let breaker = one(Config::new());
    let layer = TryLayer::new(Arc::clone(&breaker), LIMIT);
    let shut = shut(&breaker, &through(&layer, ANSWER), 3_600 * SECOND).await;
    // The open time of 5 s, and a probe.
    assert!(shut <= 5 * SECOND + ANSWER + 10 * MS, "{shut:?}");
}

/// Of 201 probes, each of three tenths of a second, one belongs to a caller that waits.
#[tokio::test(start_paused = true)]
async fn without_going_on_a_long_cancel_limit_lets_the_patient_close() {
    let breaker = one(Config::new().cancel_limit(LIMIT / 2));
    let client = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .layer(TimeLimitLayer::new(LIMIT))
        .service(taking(ANSWER, &Arc::default()));
    let shut = shut(&breaker, &boxed(client), 1_200 * SECOND).await;
    assert!(shut < 1_200 * SECOND, "{shut:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_hangs_is_tripped_although_all_callers_leave() {
    let breaker = one(Config::new());
    let client = through(&TryLayer::new(Arc::clone(&breaker), LIMIT), HANGS);
    for number in 0..5 {
        assert_eq!(breaker.state(), State::Closed, "{number}");
        let call = client.clone().oneshot(());
        assert!(timeout(MS, call).await.is_err());
    }
    sleep(LIMIT).await;
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn no_more_tries_go_on_than_are_allowed_but_probes_always() {
    let at_once = Arc::<AtomicU32>::default();
    let breaker = one(Config::new());
    for (most, limit, go_on) in [(7, LIMIT, 7), (0, LIMIT, 0), (7, Duration::MAX, 0)] {
        let layer = TryLayer::new(Arc::clone(&breaker), limit).outliving(most);
        let client = layer.layer(taking(HANGS, &at_once));
        for _ in 0..20 {
            let call = client.clone().oneshot(());
            assert!(timeout(MS, call).await.is_err());
        }
        assert_eq!(at_once.load(Relaxed), go_on, "{most}, {limit:?}");
        breaker.trip();
        breaker.probe_now();
        let probe = client.clone().oneshot(());
        assert!(timeout(MS, probe).await.is_err());
        let probes = u32::from(go_on > 0);
        assert_eq!(at_once.load(Relaxed), go_on + probes, "{most}, {limit:?}");
        sleep(LIMIT).await;
        assert_eq!(at_once.load(Relaxed), 0);
        breaker.reset();
    }
}

#[tokio::test(start_paused = true)]
async fn a_try_that_is_dropped_before_it_begins_does_not_go_on() {
    let at_once = Arc::<AtomicU32>::default();
    let breaker = one(Config::new());
    breaker.trip();
    breaker.probe_now();
    let layer = TryLayer::new(Arc::clone(&breaker), LIMIT);
    let mut client = layer.layer(taking(HANGS, &at_once));
    drop(client.call(()));
    sleep(MS).await;
    assert_eq!(
        (at_once.load(Relaxed), breaker.state()),
        (0, State::HalfOpen)
    );
    assert!(breaker.acquire().is_ok(), "the slot is free");
}

#[tokio::test(start_paused = true)]
async fn a_try_that_takes_longer_than_its_limit_has_failed() {
    let breaker = one(Config::new().consecutive_failures(1));
    let layer = TryLayer::new(Arc::clone(&breaker), LIMIT);
    let client = layer.layer(taking(HANGS, &Arc::default()));
    let late = client.clone().oneshot(()).await.unwrap_err();
    assert!(matches!(late, ServiceError::Failed(Timed::TimedOut)));
    let rejected = client.oneshot(()).await.unwrap_err();
    assert!(matches!(rejected, ServiceError::Rejected(_)));
}

/// Reports the failure that shows a second after the response.
#[derive(Clone)]
struct Later;

impl<E> Report<(), E> for Later {
    type Output<P: AnyPermit> = P;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<(), E>) -> Result<P, E> {
        result.map(|()| permit)
    }
}

impl<E: 'static> ReadOn<(), E> for Later {
    async fn read_on<P: AnyPermit + Send + 'static>(
        permit: P,
        late: impl Future<Output = ()> + Send + 'static,
    ) {
        tokio::select! {
            () = late => {}
            () = sleep(SECOND) => drop(permit.report(Failure::new().into())),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_after_the_response_is_waited_for_within_the_limit_of_a_try() {
    for (limit, state) in [(ANSWER + SECOND + MS, State::Open), (SECOND, State::Closed)] {
        let breaker = one(Config::new());
        let layer = TryLayer::new(Arc::clone(&breaker), limit).report(Later);
        let client = layer.layer(taking(ANSWER, &Arc::default()));
        for _ in 0..5 {
            let call = client.clone().oneshot(());
            assert!(timeout(PATIENCE, call).await.is_err());
        }
        sleep(limit).await;
        assert_eq!(breaker.state(), state);
    }
}

#[test]
#[should_panic(expected = "no try ends within 0")]
fn a_limit_of_zero_is_an_error() {
    let _ = TryLayer::new(one(Config::new()), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_probes_doubles_and_the_fourth_has_that_of_a_try() {
    let breaker = one(Config::new());
    let layer = TryLayer::new(Arc::clone(&breaker), LIMIT).probe_limit(SECOND / 2);
    let client = layer.layer(taking(HANGS, &Arc::default()));
    breaker.trip();
    for limit in [SECOND / 2, SECOND, 2 * SECOND, LIMIT, LIMIT] {
        breaker.probe_now();
        let begun = Instant::now();
        let late = client.clone().oneshot(()).await.unwrap_err();
        assert!(matches!(late, ServiceError::Failed(Timed::TimedOut)));
        assert_eq!(begun.elapsed(), limit);
        assert_eq!(breaker.state(), State::Open);
    }
    breaker.reset();
    let late = timeout(JUST_BEFORE, client.oneshot(())).await;
    assert!(late.is_err(), "no probe");
}

/// Also without growth, and in a word with few trips.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_slower_than_its_first_probes_is_served_again() {
    let word = word::AtomicU32::new(0);
    let breaker = Arc::new(Breaker::over(word, Config::new(), TokioClock));
    let layer = TryLayer::new(Arc::clone(&breaker), LIMIT).probe_limit(MS);
    let client = layer.layer(taking(JUST_BEFORE, &Arc::default()));
    breaker.trip();
    let mut probes = 0;
    while breaker.state() != State::Closed {
        // The open time, in the ticks of this word.
        sleep(6 * SECOND).await;
        let _ = client.clone().oneshot(()).await;
        probes += 1;
    }
    assert_eq!(probes, 4);
}

#[test]
#[should_panic(expected = "a probe may not take longer than a try")]
fn a_limit_of_probes_beyond_that_of_a_try_is_an_error() {
    let _ = TryLayer::new(one(Config::new()), LIMIT).probe_limit(LIMIT + MS);
}

#[test]
#[should_panic(expected = "no probe ends within 0")]
fn a_limit_of_probes_of_zero_is_an_error() {
    let _ = TryLayer::new(one(Config::new()), LIMIT).probe_limit(Duration::ZERO);
}
