//! Cases of tower-resilience-circuitbreaker 0.14: its contract with tower, half-open admission, what trips, handles.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use atomic_breaker_std::tower::{BreakerLayer, GateLayer};
use atomic_breaker_std::{
    Breaker, CallError, Cause, Config, Control, Failure, LastCalls, ManualClock, Outcome, Ratio,
    ServiceError, SlidingRatio, State, StateWatch, TokioClock,
};
use futures_util::poll;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimitLayer;
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{Ask, Diary, Event, MS, RULES, SECOND, Server, breaker, play};

/// Ready only where it was asked, and a clone was not: as most services of tower.
#[derive(Debug, Default)]
struct Strict {
    is_ready: bool,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Service<()> for Strict {
    type Response = ();
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<()>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        assert!(
            std::mem::take(&mut self.is_ready),
            "called without being asked"
        );
        std::future::ready(Ok(()))
    }
}

/// One look, by nobody who could be woken.
fn look<S: Service<Ask>>(service: &mut S) -> Poll<Result<(), S::Error>> {
    service.poll_ready(&mut Context::from_waker(Waker::noop()))
}

/// tower-resilience: drives the instance that was asked whether it is ready.
#[tokio::test(start_paused = true)]
async fn the_service_that_is_called_is_the_one_that_was_ready() {
    let server = breaker(RULES);
    let mut layered = BreakerLayer::new(server).layer(Strict::default());
    let mut gated = GateLayer::new(server).layer(Strict::default());
    for _ in 0..3 {
        layered.ready().await.unwrap().call(()).await.unwrap();
        gated.ready().await.unwrap().call(()).await.unwrap();
    }
    assert_eq!(server.state(), State::Closed);
}

/// tower-resilience: composes with a concurrency limit. Here the second request waits *inside* the guarded call.
#[tokio::test(start_paused = true)]
async fn a_limit_of_concurrency_below_is_waited_for() {
    let server = Server::default();
    let guarded = ServiceBuilder::new()
        .layer(BreakerLayer::new(breaker(RULES)))
        .layer(ConcurrencyLimitLayer::new(1))
        .service(server.clone());
    let begin = Instant::now();
    let mut requests = JoinSet::new();
    for _ in 0..3 {
        requests.spawn(guarded.clone().oneshot(Ask::Take(SECOND)));
    }
    for answer in requests.join_all().await {
        assert_eq!(answer.unwrap(), 200);
    }
    assert_eq!((server.calls(), begin.elapsed()), (3, 3 * SECOND));
}

/// tower-resilience: a rejection does not ask a service that is not ready, however often readiness is polled.
#[tokio::test(start_paused = true)]
async fn open_it_rejects_without_asking_the_service() {
    let (breaker, server) = (breaker(RULES), Server::busy());
    let mut guarded = BreakerLayer::new(breaker).layer(server.clone());
    breaker.trip();
    for _ in 0..2 {
        guarded.ready().await.unwrap();
    }
    let answer = guarded.call(Ask::Answer).await;
    assert!(matches!(answer, Err(ServiceError::Rejected(_))));
    assert_eq!((server.asked(), server.calls()), (0, 0));
}

/// tower-resilience: a fallback answers in place of a rejection. Here it is tower's own combinator.
#[tokio::test(start_paused = true)]
async fn a_fallback_answers_without_asking_the_service() {
    let (breaker, server) = (breaker(RULES), Server::busy());
    let guarded = BreakerLayer::new(breaker).layer(server.clone()).map_result(
        |answer: Result<u16, ServiceError<io::Error>>| match answer {
            Err(ServiceError::Rejected(_)) => Ok(203),
            other => other,
        },
    );
    breaker.trip();
    assert_eq!(guarded.oneshot(Ask::Answer).await.unwrap(), 203);
    assert_eq!((server.asked(), server.calls()), (0, 0));
}

/// tower-resilience: clones share one breaker, also inside a `BoxCloneService` that was moved to another task.
#[tokio::test(start_paused = true)]
async fn clones_boxed_and_moved_services_share_the_breaker() {
    let (breaker, server) = (breaker(RULES), Server::default());
    let guarded = BoxCloneService::new(BreakerLayer::new(breaker).layer(server.clone()));
    breaker.force_open();
    for clone in [guarded.clone(), guarded.clone()] {
        let answer = tokio::spawn(clone.oneshot(Ask::Answer)).await.unwrap();
        assert!(matches!(answer, Err(ServiceError::Rejected(_))));
    }
    assert_eq!((server.asked(), server.calls()), (0, 0));
    breaker.reset();
    assert_eq!(guarded.oneshot(Ask::Answer).await.unwrap(), 200);
}

/// tower-resilience, back-pressure: waits for the circuit before it asks the service.
#[tokio::test(start_paused = true)]
async fn a_gate_waits_for_the_breaker_first_and_for_the_service_then() {
    let (breaker, server) = (breaker(RULES), Server::busy());
    let mut gate = GateLayer::new(breaker).layer(server.clone());
    breaker.trip();
    assert!(look(&mut gate).is_pending());
    assert_eq!(server.asked(), 0);
    let waiting = tokio::spawn(async move { gate.ready().await.map(|_| ()) });
    sleep(9 * SECOND).await;
    assert_eq!(server.asked(), 0);
    sleep(2 * SECOND).await;
    assert!(server.asked() > 0 && !waiting.is_finished());
    server.set_ready();
    assert!(waiting.await.unwrap().is_ok());
}

/// tower-resilience, back-pressure: closed, requests pass; open, they wait; events are published as ever.
#[tokio::test(start_paused = true)]
async fn a_gate_lets_requests_pass_waits_while_open_and_notifies_as_ever() {
    let breaker = Breaker::builder(RULES, TokioClock)
        .observer(Diary::default())
        .build();
    let breaker: &'static _ = Box::leak(Box::new(breaker));
    let mut gate = GateLayer::new(breaker).layer(Server::default());
    let begin = Instant::now();
    for ask in [Ask::Answer, Ask::Fail, Ask::Fail, Ask::Answer] {
        let _ = gate.ready().await.unwrap().call(ask).await;
    }
    assert!(begin.elapsed() >= 10 * SECOND);
    let changes: Vec<_> = breaker
        .observer()
        .read()
        .into_iter()
        .filter(|event| matches!(event, Event::Changed(..)))
        .collect();
    assert_eq!(
        changes,
        [
            Event::Changed(State::Closed, State::Open),
            Event::Changed(State::Open, State::HalfOpen),
            Event::Changed(State::HalfOpen, State::Closed),
        ]
    );
}

/// tower-resilience: the service's error of readiness is passed on. Here it counts as a failure besides.
#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_is_passed_on_and_counts() {
    let (layered, gated) = (breaker(RULES), breaker(RULES));
    let service = BreakerLayer::new(layered).layer(Server::gone());
    let error = service.oneshot(Ask::Answer).await.unwrap_err();
    assert_eq!(error.failed().unwrap().to_string(), "no answer");
    let mut gate = GateLayer::new(gated).layer(Server::gone());
    let error = gate.ready().await.map(|_| ()).unwrap_err();
    assert_eq!(error.failed().unwrap().to_string(), "no answer");
    for breaker in [layered, gated] {
        assert_eq!(breaker.snapshot().failures(), 1);
    }
}

/// tower-resilience: under contention half-open admits no more than its permitted calls.
#[tokio::test(start_paused = true)]
async fn half_open_admits_no_more_probes_than_allowed() {
    for probes in [1, 3] {
        let (breaker, server) = (breaker(RULES.probes(probes)), Server::default());
        let guarded = BreakerLayer::new(breaker).layer(server.clone());
        breaker.trip();
        sleep(10 * SECOND).await;
        let mut requests = JoinSet::new();
        for _ in 0..8 {
            requests.spawn(guarded.clone().oneshot(Ask::Take(SECOND)));
        }
        sleep(SECOND / 2).await;
        assert_eq!(
            (server.calls(), breaker.state()),
            (probes as usize, State::HalfOpen)
        );
        let answers = requests.join_all().await;
        assert_eq!(answers.iter().flatten().count(), probes as usize);
        assert_eq!(
            (server.calls(), breaker.state()),
            (probes as usize, State::Closed)
        );
    }
}

/// tower-resilience: a probe whose future is dropped gives its slot back and records nothing. Here only a young one;
/// one that hung for longer than the cancel limit has failed, or a resource that hangs would be probed for ever.
#[tokio::test(start_paused = true)]
async fn a_dropped_probe_gives_its_slot_back_without_a_result_while_it_is_young() {
    for (age, then) in [(10 * MS, State::HalfOpen), (SECOND, State::Open)] {
        let (breaker, server) = (breaker(RULES), Server::default());
        let mut guarded = BreakerLayer::new(breaker).layer(server.clone());
        breaker.trip();
        sleep(10 * SECOND).await;
        {
            let mut probe = pin!(guarded.call(Ask::Hang));
            assert!(poll!(probe.as_mut()).is_pending());
            let rejected = guarded.call(Ask::Answer).await;
            assert!(matches!(rejected, Err(ServiceError::Rejected(_))));
            sleep(age).await;
        }
        assert_eq!(breaker.state(), then);
        if then == State::HalfOpen {
            assert_eq!(guarded.call(Ask::Answer).await.unwrap(), 200);
            assert_eq!((server.calls(), server.answered()), (2, 1));
        }
    }
}

/// tower-resilience, back-pressure: who waits for a slot is woken when one is freed, long before the open time.
#[tokio::test(start_paused = true)]
async fn a_gate_that_waits_for_a_slot_gets_it_soon_after_it_is_free() {
    let breaker = Breaker::builder(RULES, TokioClock)
        .observer(StateWatch::new())
        .build();
    let breaker: &'static _ = Box::leak(Box::new(breaker));
    breaker.trip();
    sleep(10 * SECOND).await;
    let probe = breaker.acquire().unwrap();
    let mut gate = GateLayer::new(breaker).layer(Server::default());
    assert!(look(&mut gate).is_pending());
    let freed = async {
        sleep(50 * MS).await;
        probe.cancel();
    };
    let begin = Instant::now();
    let ((), ready) = tokio::join!(freed, gate.ready());
    assert!(ready.is_ok());
    assert!(begin.elapsed() <= 150 * MS, "{:?}", begin.elapsed());
}

/// tower-resilience: closed, a service that is never ready is waited for without busy polling; a caller may give up.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_never_ready_is_polled_once_and_wakes_the_next_caller() {
    let server = Server::busy();
    let gate = GateLayer::new(breaker(RULES)).layer(server.clone());
    let layered = BreakerLayer::new(breaker(RULES)).layer(server.clone());
    let mut first = gate;
    let gate = tokio::spawn(async move { first.ready().await.map(|_| ()) });
    let request = tokio::spawn(layered.clone().oneshot(Ask::Answer));
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!((server.asked(), server.calls()), (2, 0), "once each");
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    let next = tokio::spawn(layered.oneshot(Ask::Answer));
    tokio::task::yield_now().await;
    server.set_ready();
    assert!(gate.await.unwrap().is_ok());
    assert_eq!(next.await.unwrap().unwrap(), 200);
}

/// tower-resilience: the failure rate trips once the window holds enough calls, by whichever call filled it. Here only
/// a failure trips, of the last calls and within a time: a call that succeeds never takes the service away.
#[test]
fn the_share_of_failures_trips_by_a_failure_once_there_are_enough_calls() {
    let clock = ManualClock::new();
    let share = Ratio::percent(50);
    let last = Config::new()
        .tally_only()
        .failure_ratio(share.of_last(4).min_calls(4));
    let within = Config::new()
        .tally_only()
        .failure_ratio(share.within(SECOND).min_calls(4));
    for (calls, state) in [
        ("xxx", State::Closed),
        ("xx..", State::Closed),
        ("..xx", State::Open),
        ("xx..xr", State::Open),
        ("...x", State::Closed),
    ] {
        let by_calls = Breaker::builder(last, &clock)
            .last_calls(LastCalls::new())
            .build();
        assert_eq!(play(&by_calls, calls), state, "{calls}");
        let by_time = Breaker::builder(within, &clock)
            .tally(SlidingRatio::<_, 1>::by(&clock))
            .build();
        assert_eq!(play(&by_time, calls), state, "{calls}");
    }
}

/// tower-resilience: failures in a row trip whatever the window says, and stay below it otherwise.
#[test]
fn failures_in_a_row_trip_independently_of_the_ratio() {
    let clock = ManualClock::new();
    let ratio = Ratio::percent(50).of_last(50).min_calls(50);
    let rules = Config::new().consecutive_failures(3).failure_ratio(ratio);
    let breaker = Breaker::builder(rules, &clock)
        .last_calls(LastCalls::new())
        .build();
    assert_eq!(play(&breaker, ".xx"), State::Closed);
    assert_eq!(play(&breaker, ".xx"), State::Closed);
    assert_eq!(play(&breaker, "xr"), State::Open);
}

/// tower-resilience: slow calls trip without a single error, by a rate of their own. Here they are failures, so that
/// slow ones and errors add up.
#[tokio::test(start_paused = true)]
async fn slow_calls_trip_though_all_succeed() {
    let (breaker, server) = (breaker(RULES.slow_call(20 * MS)), Server::default());
    let guarded = BreakerLayer::new(breaker).layer(server);
    for (takes, state) in [(40 * MS, State::Closed), (19 * MS, State::Closed)] {
        let answer = guarded.clone().oneshot(Ask::Take(takes)).await;
        assert_eq!((answer.unwrap(), breaker.state()), (200, state));
    }
    for (ask, state) in [
        (Ask::Fail, State::Closed),
        (Ask::Take(40 * MS), State::Open),
    ] {
        let _ = guarded.clone().oneshot(ask).await;
        assert_eq!(breaker.state(), state);
    }
}

/// tower-resilience: settings that make no sense are rejected when it is built, and the smallest valid ones are not.
#[test]
fn settings_that_make_no_sense_are_errors_when_it_is_built() {
    let build = |ratio: Ratio| {
        Breaker::builder(Config::new().failure_ratio(ratio), ManualClock::new())
            .last_calls(LastCalls::new())
            .try_build()
    };
    let half = Ratio::percent(50);
    for bad in [
        half.of_last(0),
        half.of_last(4).min_calls(0),
        half.of_last(4).min_calls(5),
        Ratio::percent(0),
        Ratio::percent(101),
        half.within(SECOND),
    ] {
        assert!(build(bad).is_err(), "{bad:?}");
    }
    for good in [half.of_last(1), Ratio::percent(1), Ratio::percent(100)] {
        assert!(build(good).is_ok(), "{good:?}");
    }
    let failures = |failures| {
        Breaker::try_new(
            Config::new().consecutive_failures(failures),
            ManualClock::new(),
        )
    };
    assert!(failures(0).is_err() && failures(1).is_ok());
}

/// tower-resilience: a handle sees the state at once, forces it, and clears what was counted.
#[test]
fn a_handle_sees_and_commands_at_once() {
    let breaker = Breaker::new(RULES, ManualClock::new());
    let handle: &dyn Control = &breaker;
    assert_eq!(handle.state(), State::Closed);
    assert_eq!(play(&breaker, "x"), State::Closed);
    assert_eq!(handle.snapshot().failures(), 1);
    handle.reset();
    assert_eq!(
        (handle.snapshot().failures(), handle.state()),
        (0, State::Closed)
    );
    handle.force_open();
    assert_eq!(play(&breaker, "r"), State::ForcedOpen);
    handle.reset();
    assert_eq!(play(&breaker, "."), State::Closed);
    assert_eq!(play(&breaker, "xx"), State::Open);
}

/// tower-resilience: forcing it open publishes the transition of an automatic trip. Here forced open is a state of its
/// own, and the cause says who made it, as no time ends it.
#[test]
fn forced_open_is_a_state_of_its_own_that_no_time_ends() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    let made = breaker.force_open().unwrap();
    assert_eq!((made.to, made.cause), (State::ForcedOpen, Cause::Manual));
    clock.advance(3_600 * SECOND);
    assert_eq!(play(&breaker, "r"), State::ForcedOpen);
    // As a health check does: for a while, and closed when it says so.
    breaker.reset();
    let made = breaker.trip().unwrap();
    assert_eq!((made.to, made.cause), (State::Open, Cause::Manual));
    clock.advance(10 * SECOND);
    assert_eq!(play(&breaker, "."), State::Closed);
}

/// tower-resilience, manual mode: failures do not trip, and the operator still forces and resets.
#[test]
fn disabled_it_does_not_trip_and_can_still_be_forced() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    breaker.disable();
    assert_eq!(play(&breaker, "xxxxx"), State::Disabled);
    breaker.force_open();
    clock.advance(3_600 * SECOND);
    assert_eq!(play(&breaker, "r"), State::ForcedOpen);
    breaker.release();
    assert_eq!(play(&breaker, "xx"), State::Disabled);
    breaker.reset();
    assert_eq!(play(&breaker, "xxr"), State::Open);
}

/// tower-resilience: events name successes, failures, rejections and transitions, each once.
#[test]
fn whoever_listens_is_notified_of_each_event_once() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(RULES, &clock)
        .observer(Diary::default())
        .build();
    play(&breaker, ".xxr");
    assert_eq!(
        breaker.observer().read(),
        [
            Event::Succeeded,
            Event::Failed,
            Event::Failed,
            Event::Changed(State::Closed, State::Open),
            Event::Rejected(State::Open),
        ]
    );
}

/// tower-resilience: a classifier decides what trips, and one serves responses of two types.
#[tokio::test(start_paused = true)]
async fn one_classifier_serves_two_types_of_responses() {
    fn empty<T: AsRef<[u8]>>(result: &Result<T, io::Error>) -> Outcome {
        match result {
            Ok(body) if !body.as_ref().is_empty() => Outcome::Success,
            _ => Failure::new().into(),
        }
    }
    let breaker = breaker(RULES);
    let texts = BreakerLayer::new(breaker)
        .classify(empty::<String>)
        .layer(service_fn(|text: &'static str| async move {
            Ok(text.to_owned())
        }));
    let bytes = BreakerLayer::new(breaker)
        .classify(empty::<Vec<u8>>)
        .layer(service_fn(|bytes: &'static [u8]| async move {
            Ok(bytes.to_vec())
        }));
    assert!(texts.oneshot("full").await.is_ok());
    assert!(texts.oneshot("").await.is_ok());
    assert!(bytes.oneshot(&[]).await.is_ok());
    assert_eq!(breaker.state(), State::Open);
    sleep(10 * SECOND).await;
    assert!(texts.oneshot("full").await.is_ok());
    assert_eq!(breaker.state(), State::Closed);
}

/// tower-resilience: errors say whether the circuit was open, and give the service's own.
#[test]
fn errors_say_whether_it_was_rejected_or_failed() {
    let breaker = Arc::new(Breaker::new(
        RULES.consecutive_failures(1),
        ManualClock::new(),
    ));
    let failed = breaker.call(|| Err::<(), _>("no answer")).unwrap_err();
    assert!(failed.rejected().is_none());
    assert_eq!(failed.failed(), Some("no answer"));
    let rejected = breaker.call(|| Err::<(), _>("not made")).unwrap_err();
    assert!(matches!(rejected, CallError::Rejected(_)));
    let error = ServiceError::from(rejected);
    assert!(error.rejected().is_some() && error.failed().is_none());
}

/// tower-resilience: the service inside can be reached.
#[test]
fn the_service_inside_can_be_reached() {
    let server = Server::default();
    let mut guarded = BreakerLayer::new(breaker(RULES)).layer(server);
    assert_eq!(guarded.get_ref().calls(), 0);
    guarded.get_mut().set_ready();
    assert_eq!(guarded.into_inner().calls(), 0);
}
