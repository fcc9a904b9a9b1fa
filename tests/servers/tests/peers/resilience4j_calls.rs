// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of resilience4j: how calls and waits affect the circuit breaker, and its registry.

use std::future::ready;
use std::io;

use atomic_breaker_http::{Breaker, Failure, Guard, Outcome, Registry, State, Timed, TokioClock};
use atomic_breaker_server::{AnyPermit, CallError, Fallback, ManualClock, Prober, Resource};
use atomic_breaker_tower::BreakerLayer;
use tokio::time::sleep;
use tower::{Layer, ServiceExt};

use crate::resilience4j::{RING, Ring, ring};
use crate::support::{Ask, Diary, Event, RULES, SECOND, Server, breaker, no_answer, play};

/// resilience4j, metrics only: all calls pass and are recorded. Here the transitions happen as well, in shadow mode, so
/// that an operator sees what the breaker would have done.
#[test]
fn in_shadow_mode_all_calls_pass_and_all_transitions_happen() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(RULES, &clock)
        .observer(Diary::default())
        .build();
    let resource = Resource::new(breaker);
    resource.enforcement().set_percent(0).unwrap();
    for _ in 0..3 {
        let permit = resource.acquire().unwrap();
        permit.report(Failure::new().into());
    }
    assert_eq!(resource.breaker().state(), State::Open);
    let shadowed = resource.acquire().unwrap();
    assert!(!shadowed.is_admitted());
    drop(shadowed);
    assert_eq!(
        resource.breaker().observer().read(),
        [
            Event::Failed,
            Event::Failed,
            Event::Changed(State::Closed, State::Open),
            Event::Rejected(State::Open),
            Event::Rejected(State::Open),
        ]
    );
    resource.enforcement().set_percent(100).unwrap();
    assert!(resource.acquire().is_err());
}

/// resilience4j: it may start open, forced open or disabled.
#[test]
fn it_may_begin_in_another_state() {
    let clock = ManualClock::new();
    let begins = [Ring::trip, Ring::force_open, Ring::disable];
    let then = [
        ("r", State::Open),
        ("r", State::ForcedOpen),
        ("x", State::Disabled),
    ];
    for (begin, (calls, state)) in begins.into_iter().zip(then) {
        let breaker = ring(RING, &clock);
        assert!(begin(&breaker).is_some());
        assert_eq!(play(&breaker, calls), state);
    }
}

/// resilience4j: may become half-open by itself, using a timer. Here it is half-open for those who look, and the event comes
/// with the next call; a task that pings replaces the timer.
#[tokio::test(start_paused = true)]
async fn it_is_half_open_by_time_and_the_event_comes_with_the_next_call_or_ping() {
    let breaker = breaker(RULES);
    breaker.trip();
    sleep(60 * SECOND).await;
    assert_eq!(
        (breaker.state(), breaker.snapshot().is_due()),
        (State::HalfOpen, true)
    );
    let prober =
        tokio::spawn(breaker.run_prober(Prober::every(SECOND), async || Ok::<_, io::Error>(())));
    sleep(5 * SECOND).await;
    prober.abort();
    assert_eq!(breaker.state(), State::Closed);
}

/// resilience4j: calls that began earlier are recorded in the state in which they end. Here they change nothing: a slow
/// response from the outage neither closes the breaker nor opens it again.
#[test]
fn calls_that_began_in_another_state_change_nothing() {
    let clock = ManualClock::new();
    let breaker = ring(RING, &clock);
    let early: Vec<_> = (0..6).map(|_| breaker.acquire().unwrap()).collect();
    breaker.trip();
    breaker.probe_now();
    for (n, permit) in early.into_iter().enumerate() {
        if n < 4 {
            permit.success();
        } else {
            permit.failure();
        }
        assert_eq!(breaker.state(), State::HalfOpen);
        assert_eq!(breaker.snapshot().successes(), 0);
    }
}

/// resilience4j: exceptions to record and to ignore; ignoring takes precedence; results may be failures, too.
#[test]
fn the_classifier_chooses_what_is_recorded_or_ignored() {
    let classify = |result: &Result<u16, io::ErrorKind>| match result {
        Err(io::ErrorKind::InvalidInput) => Outcome::Ignored,
        Err(io::ErrorKind::NotFound) => Outcome::Success,
        Err(_) | Ok(500..) => Failure::new().into(),
        Ok(_) => Outcome::Success,
    };
    for (result, event, failures) in [
        (Err(io::ErrorKind::TimedOut), Event::Failed, 2),
        (Ok(503), Event::Failed, 2),
        // Neither counts nor clears.
        (Err(io::ErrorKind::InvalidInput), Event::Ignored, 1),
        (Err(io::ErrorKind::NotFound), Event::Succeeded, 0),
        (Ok(200), Event::Succeeded, 0),
    ] {
        let breaker = Breaker::builder(RULES.consecutive_failures(9), ManualClock::new())
            .observer(Diary::default())
            .build();
        play(&breaker, "x");
        breaker.observer().read();
        let answer = breaker.call_with(classify, || result);
        assert_eq!(answer, result.map_err(CallError::Failed));
        assert_eq!(breaker.observer().read(), [event], "{result:?}");
        assert_eq!(breaker.snapshot().failures(), failures);
    }
}

/// resilience4j: Java's errors are not measured. Here a panic is a failure wherever it happens, and is propagated: in
/// the closure before there is a future, in the future, and in a service.
#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_and_is_propagated() {
    let (closure, future, service) = (breaker(RULES), breaker(RULES), breaker(RULES));
    let guarded = BreakerLayer::new(service).layer(Server::default());
    for _ in 0..2 {
        let call = tokio::spawn(async {
            let _ = closure
                .call_async(|| -> std::future::Ready<io::Result<()>> { panic!("no future") })
                .await;
        });
        assert!(call.await.unwrap_err().is_panic());
        let call = tokio::spawn(async {
            let panics = async {
                if true {
                    panic!("in the future")
                } else {
                    Ok::<(), io::Error>(())
                }
            };
            let _ = future.call_async(|| panics).await;
        });
        assert!(call.await.unwrap_err().is_panic());
        let call = tokio::spawn(guarded.clone().oneshot(Ask::Panic));
        assert!(call.await.unwrap_err().is_panic());
    }
    for breaker in [closure, future, service] {
        assert_eq!(breaker.state(), State::Open);
    }
}

/// resilience4j, futures: reported once, however they are polled; a timeout inside is a failure; a cancelled future is
/// not a failure, and releases its permission.
#[tokio::test(start_paused = true)]
async fn a_future_is_reported_once_and_not_at_all_if_it_is_cancelled() {
    let breaker = Breaker::builder(RULES, TokioClock)
        .observer(Diary::default())
        .build();
    let breaker: &'static _ = Box::leak(Box::new(breaker));
    assert!(
        breaker
            .call_async(|| ready(Ok::<_, io::Error>(7)))
            .await
            .is_ok()
    );
    assert!(
        breaker
            .call_async(|| ready(Err::<(), _>(no_answer())))
            .await
            .is_err()
    );
    let hangs = breaker.call_async(std::future::pending::<io::Result<()>>);
    assert!(tokio::time::timeout(SECOND, hangs).await.is_err());
    let late = breaker
        .call_timeout(SECOND, std::future::pending::<io::Result<()>>)
        .await;
    assert!(matches!(late, Err(CallError::Failed(Timed::TimedOut))));
    assert_eq!(
        breaker.observer().read(),
        [
            Event::Succeeded,
            Event::Failed,
            Event::Cancelled,
            Event::Failed,
            Event::Changed(State::Closed, State::Open),
        ]
    );
    let not_made = breaker.call_async(|| ready(Ok::<_, io::Error>(7))).await;
    assert!(matches!(not_made, Err(CallError::Rejected(_))));
}

/// resilience4j: recovers from a rejection and chains decorated functions.
#[test]
fn a_rejection_can_be_recovered_from() {
    let (first, second) = [(); 2]
        .map(|()| Breaker::new(RULES, ManualClock::new()))
        .into();
    let chained = || {
        first.call(|| Ok::<_, &str>("first")).or_if_rejected(|_| {
            second
                .call(|| Ok("second"))
                .or_if_rejected(|_| Err("neither"))
        })
    };
    assert_eq!(chained(), Ok("first"));
    first.trip();
    assert_eq!(chained(), Ok("second"));
    second.trip();
    assert_eq!(chained(), Err("neither"));
}

/// resilience4j, registry: the same name returns the same breaker, another name another one; rules of one name and of
/// all names are replaced at run time.
#[test]
fn a_registry_has_one_breaker_for_each_name() {
    let clock = ManualClock::new();
    let names = Registry::<&'static str>::builder(RULES)
        .clock(&clock)
        .build()
        .unwrap();
    let fail = |name| names.of(name).call(|| Err::<(), _>("no answer")).is_err();
    assert!(fail("a") && fail("a") && fail("b"));
    let states = ["a", "b", "unknown"].map(|name| names.state(&name));
    assert_eq!(states, [State::Open, State::Closed, State::Closed]);
    names
        .set_config_of(&"c", RULES.consecutive_failures(1))
        .unwrap();
    names.set_config(RULES.consecutive_failures(3)).unwrap();
    assert!(fail("b") && fail("c"));
    assert_eq!(
        ["b", "c"].map(|name| names.state(&name)),
        [State::Closed, State::Open]
    );
    assert!(names.set_config(RULES.probes(0)).is_err());
    assert!(fail("b"));
    assert_eq!(names.state(&"b"), State::Open);
}
