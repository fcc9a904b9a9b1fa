// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints that are not ready while their breaker would reject.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use atomic_breaker_server::Resource;
use atomic_breaker_server::{AnyBreaker, Observer, OneBreaker};
use atomic_breaker_server::{KeyGuard, KeyedObserver, Outcome, Registry};
use atomic_breaker_tower::{
    Admit, Breaker, GateLayer, GateService, ServiceError, State, TokioClock,
};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::fake::{Fake, Mood, OnTokio, RULES, SECOND, breaker, watched};

pub(crate) type Gate<A> = GateService<Fake, A>;

pub(crate) fn gate<A>(server: &A, fake: &Fake) -> Gate<A>
where
    GateLayer<A>: Layer<Fake, Service = Gate<A>>,
    A: Admit<()> + OneBreaker + Clone,
{
    GateLayer::new(server.clone()).layer(fake.twin())
}

/// One look, by a caller that cannot be woken.
pub(crate) fn look<S: Service<u32>>(service: &mut S) -> Poll<Result<(), S::Error>> {
    service.poll_ready(&mut Context::from_waker(Waker::noop()))
}

pub(crate) async fn ready<S: Service<u32>>(service: &mut S) -> Result<(), S::Error> {
    poll_fn(|context| service.poll_ready(context)).await
}

pub(crate) const SOON: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn closed_it_takes_no_permit_and_a_call_asks_again() {
    let (server, fake) = (breaker(), Fake::new(Mood::Answers));
    let mut endpoint = gate(&server, &fake);
    assert!(look(&mut endpoint).is_ready());
    server.trip();
    let rejected = endpoint.call(1).await.unwrap_err();
    assert_eq!(rejected.rejected().unwrap().state(), State::Open);
    assert_eq!(fake.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn open_it_is_not_ready_until_the_time_is_over_without_any_traffic() {
    let (server, fake) = (breaker(), Fake::new(Mood::Answers));
    let mut endpoint = gate(&server, &fake);
    server.trip();
    let begin = Instant::now();
    assert!(look(&mut endpoint).is_pending());
    assert_eq!(fake.asked(), 0, "the service is not even asked");
    ready(&mut endpoint).await.unwrap();
    let waited = begin.elapsed();
    assert!(waited >= 10 * SECOND && waited < 10 * SECOND + SOON);
    assert_eq!(server.snapshot().probes_in_flight(), 1);
    assert_eq!(endpoint.call(7).await.unwrap(), 7);
    assert_eq!((server.state(), fake.calls()), (State::Closed, 1));
}

/// Endpoints of a pool, which share a registry.
#[tokio::test(start_paused = true)]
async fn the_breaker_of_a_key_is_a_gate_as_one_of_its_own_is() {
    let pool: Registry<u32, TokioClock> =
        Registry::builder(RULES).clock(TokioClock).build().unwrap();
    let (pool, fake) = (Arc::new(pool), Fake::new(Mood::Answers));
    let mut endpoint = gate(&KeyGuard::new(Arc::clone(&pool), 1), &fake);
    let mut other = gate(&KeyGuard::new(Arc::clone(&pool), 2), &fake);
    assert!(look(&mut endpoint).is_ready());
    pool.command(&1, |breaker| breaker.trip()).unwrap();
    assert!(endpoint.call(1).await.is_err());
    assert_eq!(fake.calls(), 0);
    let begin = Instant::now();
    assert!(look(&mut endpoint).is_pending());
    assert!(look(&mut other).is_ready());
    ready(&mut endpoint).await.unwrap();
    let waited = begin.elapsed();
    assert!(waited >= 10 * SECOND && waited < 10 * SECOND + SOON);
    assert_eq!(pool.entry(&1).unwrap().snapshot.probes_in_flight(), 1);
    assert_eq!(endpoint.call(7).await.unwrap(), 7);
    assert_eq!((pool.state(&1), fake.calls()), (State::Closed, 1));
}

#[tokio::test(start_paused = true)]
async fn a_cap_on_keys_shut_out_keeps_a_pool_below_a_balancer_in_use() {
    let ready_of_400 = |most: Option<usize>| {
        let pool = Registry::builder(RULES).clock(TokioClock);
        let pool = match most {
            Some(most) => pool.max_shut_out(most),
            None => pool,
        };
        let pool: Arc<Registry<u32, TokioClock>> = Arc::new(pool.build().unwrap());
        for key in 0..4 {
            pool.command(&key, |breaker| breaker.trip()).unwrap();
        }
        let fake = Fake::new(Mood::Answers);
        let looks = (0..400).map(|look| KeyGuard::new(Arc::clone(&pool), look % 4));
        looks
            .filter(|key| look(&mut gate(key, &fake)).is_ready())
            .count()
    };
    assert_eq!(ready_of_400(None), 0);
    // Of four keys that are open the one that went down first is shut out.
    assert_eq!(ready_of_400(Some(1)), 300);
}

#[tokio::test(start_paused = true)]
async fn a_transition_wakes_it_at_once_where_a_watch_is_the_observer_and_within_a_second_elsewhere()
{
    async fn noticed<A>(server: A) -> Duration
    where
        A: Admit<()> + OneBreaker<Awaited: AnyBreaker> + Clone,
    {
        let fake = Fake::new(Mood::Answers);
        let mut endpoint = GateLayer::new(server.clone()).layer(fake);
        server.awaited().as_breaker().force_open();
        let begin = Instant::now();
        let released = async {
            sleep(SECOND * 5 / 2).await;
            server.awaited().as_breaker().reset();
        };
        let ((), is_ready) = tokio::join!(released, ready(&mut endpoint));
        is_ready.unwrap();
        begin.elapsed()
    }
    assert_eq!(noticed(watched()).await, SECOND * 5 / 2);
    assert!(noticed(breaker()).await <= 3 * SECOND + SOON);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_ready_keeps_the_probe_waiting_and_is_never_called() {
    let (server, fake) = (breaker(), Fake::new(Mood::NeverReady));
    let mut endpoint = gate(&server, &fake);
    server.trip();
    sleep(10 * SECOND).await;
    assert!(look(&mut endpoint).is_pending());
    assert_eq!((fake.asked(), fake.calls()), (1, 0));
    drop(endpoint);
    assert_eq!(server.snapshot().probes_in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_is_a_failure_and_passed_on() {
    let (server, fake) = (breaker(), Fake::new(Mood::FailsWhenAskedWhetherReady));
    let mut endpoint = gate(&server, &fake);
    for _ in 0..2 {
        let error = ready(&mut endpoint).await.unwrap_err();
        assert!(matches!(error, ServiceError::Failed(_)));
    }
    assert_eq!(server.state(), State::Open);
    assert!(ready(&mut endpoint).await.is_err(), "the probe");
    assert_eq!(
        (server.state(), server.snapshot().trips()),
        (State::Open, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_call_is_a_failure() {
    let (server, fake) = (breaker(), Fake::new(Mood::PanicsInCall));
    for trips in 1..3 {
        let mut endpoint = gate(&server, &fake);
        server.trip();
        ready(&mut endpoint).await.unwrap();
        let panicked = tokio::spawn(async move { endpoint.call(1).await });
        assert!(panicked.await.unwrap_err().is_panic());
        assert_eq!(server.state(), State::Open, "after {trips} rounds");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_readiness_leaves_no_slot_taken() {
    let (server, fake) = (breaker(), Fake::new(Mood::PanicsWhenAskedWhetherReady));
    let mut endpoint = gate(&server, &fake);
    server.trip();
    let panicked = tokio::spawn(async move { ready(&mut endpoint).await });
    assert!(panicked.await.unwrap_err().is_panic());
    assert_eq!(server.snapshot().probes_in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn traffic_returns_by_a_growing_number_of_calls_and_none_is_rejected() {
    let gradual = RULES.gradual_return(10, 10 * SECOND);
    let server = Arc::new(Breaker::new(gradual, TokioClock));
    let fake = Fake::new(Mood::AnswersAfter(Duration::from_millis(1)));
    let mut endpoint = gate(&server, &fake);
    server.trip();
    let mut seconds = Vec::new();
    ready(&mut endpoint).await.unwrap();
    endpoint.call(1).await.unwrap();
    assert_eq!(server.state(), State::Returning);
    for _ in 0..10 {
        let (begin, before) = (Instant::now(), fake.calls());
        while begin.elapsed() < SECOND {
            ready(&mut endpoint).await.unwrap();
            endpoint.call(1).await.unwrap();
        }
        seconds.push(fake.calls() - before);
    }
    println!("calls in each second of the return: {seconds:?}");
    assert!(seconds[0] < 150 && seconds[9] > 2 * seconds[0]);
    ready(&mut endpoint).await.unwrap();
    assert_eq!(server.state(), State::Closed);
}

/// Outcomes that say nothing.
#[derive(Clone, Default)]
struct Ignored(Arc<AtomicUsize>);

impl KeyedObserver<u32> for Ignored {
    fn outcome(&self, _: &u32, outcome: Outcome) {
        let is_ignored = outcome == Outcome::Ignored;
        self.0.fetch_add(usize::from(is_ignored), Relaxed);
    }
}

/// A permit that a look has taken is used by the call: it is neither asked for twice nor given back as an ignored call.
#[tokio::test(start_paused = true)]
async fn while_traffic_returns_to_a_key_no_call_after_a_look_is_rejected_and_no_look_is_a_call() {
    let ignored = Ignored::default();
    let pool = Registry::builder(RULES.gradual_return(10, 10 * SECOND))
        .clock(TokioClock)
        .observer(ignored.clone());
    let pool: Arc<Registry<u32, TokioClock, (), Ignored>> = Arc::new(pool.build().unwrap());
    let fake = Fake::new(Mood::AnswersAfter(Duration::from_millis(1)));
    let mut endpoint = gate(&KeyGuard::new(Arc::clone(&pool), 1), &fake);
    pool.command(&1, |breaker| breaker.trip()).unwrap();
    let begin = Instant::now();
    while begin.elapsed() < 30 * SECOND {
        ready(&mut endpoint).await.unwrap();
        endpoint.call(1).await.expect("ready means that it passes");
    }
    assert_eq!(pool.state(&1), State::Closed);
    assert!(fake.calls() > 5_000, "{}", fake.calls());
    assert_eq!(ignored.0.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_it_is_ready_and_only_probes_decide() {
    let server: Arc<Resource<OnTokio>> = Arc::new(Resource::new(Breaker::new(RULES, TokioClock)));
    let fake = Fake::new(Mood::Answers);
    let mut endpoint = gate(&server, &fake);
    server.breaker().trip();
    assert!(look(&mut endpoint).is_pending());
    server.enforcement().set_percent(0).unwrap();
    let begin = Instant::now();
    ready(&mut endpoint).await.unwrap();
    assert!(begin.elapsed() <= SECOND + SOON, "noticed");
    assert!(endpoint.call(1).await.is_ok());
    assert_eq!(server.breaker().state(), State::Open, "not a probe");
    ready(&mut endpoint).await.unwrap();
    server.enforcement().set_percent(100).unwrap();
    assert!(endpoint.call(1).await.unwrap_err().rejected().is_some());
    ready(&mut endpoint).await.unwrap();
    assert!(endpoint.call(1).await.is_ok());
    assert_eq!(server.breaker().state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn one_timer_is_boxed_and_used_again() {
    let server = breaker();
    let mut endpoint = gate(&server, &Fake::new(Mood::Answers));
    let looks = |endpoint: &mut Gate<_>| {
        allocation_counter::measure(|| {
            for _ in 0..100 {
                assert!(look(endpoint).is_pending());
            }
        })
        .count_total
    };
    server.trip();
    assert_eq!(looks(&mut endpoint), 1);
    for _ in 0..5 {
        ready(&mut endpoint).await.unwrap();
        server.trip();
        assert_eq!(looks(&mut endpoint), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn below_a_buffer_requests_wait_and_a_shed_or_a_limit_turns_them_away() {
    let (server, fake) = (breaker(), Fake::new(Mood::Answers));
    let buffered = ServiceBuilder::new()
        .buffer(8)
        .layer(GateLayer::new(Arc::clone(&server)))
        .service(fake.twin());
    server.trip();
    let begin = Instant::now();
    let requests = (0..3).map(|request| tokio::spawn(buffered.clone().oneshot(request)));
    for request in requests.collect::<Vec<_>>() {
        assert!(request.await.unwrap().is_ok());
    }
    assert!(begin.elapsed() >= 10 * SECOND && begin.elapsed() <= 11 * SECOND);
    server.trip();
    let limited = tokio::time::timeout(SECOND, buffered.oneshot(1));
    assert!(limited.await.is_err());
    let calls = fake.calls();
    let shed = tower::util::MapErr::new(gate(&server, &fake), tower::BoxError::from);
    let mut shed = tower::load_shed::LoadShed::new(shed);
    let overloaded = shed.ready().await.unwrap().call(1).await;
    assert!(overloaded.is_err());
    assert_eq!(fake.calls(), calls);
}

/// A balancer polls its endpoints with a waker for each wait.
#[tokio::test(start_paused = true)]
async fn pauses_of_a_return_leave_no_wakers_behind() {
    #[derive(Default)]
    struct Registered(AtomicUsize);
    impl Observer for Registered {
        fn wake_on_change(&self, _: &Waker) -> bool {
            self.0.fetch_add(1, Relaxed);
            true
        }
    }

    let gradual = RULES.gradual_return(1, 10 * SECOND);
    let server = Breaker::builder(gradual, TokioClock).observer(Registered::default());
    let server = Arc::new(server.build());
    let mut endpoint = GateLayer::new(Arc::clone(&server)).layer(Fake::new(Mood::Answers));
    server.trip();
    ready(&mut endpoint).await.unwrap();
    endpoint.call(1).await.unwrap();
    assert_eq!(server.state(), State::Returning);
    let before = server.observer().0.load(Relaxed);
    assert!(before > 0);
    for _ in 0..20 {
        ready(&mut endpoint).await.unwrap();
        endpoint.call(1).await.unwrap();
    }
    assert_eq!(server.observer().0.load(Relaxed), before);
}
