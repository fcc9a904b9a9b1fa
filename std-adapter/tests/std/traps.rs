// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that users write first, with threads and real time: each does what its author meant, or what the
//! documentation warns about.

use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use atomic_breaker_std::{
    Breaker, CallError, Cause, Config, Permit, Rejected, State, StdClock, Transition, breaker,
    word::NativeWord,
};
use test_support::runtime::{TimedOut, block_on, sleep, timeout};

const LONG: Duration = Duration::from_secs(3_600);
const RULES: Config = Config::new().consecutive_failures(3).open_for(LONG);

type Anything = Box<dyn Error + Send + Sync>;

fn parse(answer: &str) -> Result<u32, Anything> {
    Ok(answer.trim().parse()?)
}

#[test]
fn an_attempt_that_is_left_by_a_question_mark_counts_as_failed() {
    fn call(server: &Breaker, answer: &str) -> Result<u32, Anything> {
        let attempt = server.acquire()?.failing_when_dropped();
        let number = parse(answer)?;
        attempt.success();
        Ok(number)
    }
    let server = breaker(RULES);
    assert_eq!(call(&server, "7").unwrap(), 7);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(call(&server, "garbage").is_err()));
        }
    });
    assert_eq!(server.state(), State::Open);
    assert!(call(&server, "7").unwrap_err().is::<Rejected>());
}

#[test]
fn a_permit_that_is_left_by_a_question_mark_is_cancelled() {
    fn call(server: &Breaker, answer: &str) -> Result<u32, Anything> {
        let permit = server.acquire()?;
        let number = parse(answer)?;
        permit.success();
        Ok(number)
    }
    let server = breaker(RULES);
    for _ in 0..10 {
        assert!(call(&server, "garbage").is_err());
    }
    assert_eq!(
        server.snapshot().failures(),
        0,
        "as documented at `acquire`"
    );
}

#[test]
fn a_permit_that_a_thread_owns_reports_from_there() {
    let server = Arc::new(breaker(RULES));
    let calls: Vec<_> = (0..3)
        .map(|_| Permit::acquire(Arc::clone(&server)).unwrap())
        .map(|permit| thread::spawn(move || permit.failure()))
        .collect();
    let tripped: Vec<Transition> = calls
        .into_iter()
        .filter_map(|call| call.join().unwrap())
        .collect();
    assert_eq!(tripped.len(), 1, "one of the three has made the transition");
    assert_eq!(tripped[0].cause, Cause::FailureLimit);
    assert_eq!(tripped[0].open_for(), Some(LONG));
    assert!(Permit::acquire(Arc::clone(&server)).is_err());
}

#[test]
fn a_thread_that_panics_with_the_probes_permit_gives_its_slot_back() {
    // However long the thread takes to die, the probe is a young one.
    let server = Arc::new(breaker(RULES.cancel_limit(LONG)));
    server.trip();
    server.probe_now();
    let probe = Permit::acquire(Arc::clone(&server)).unwrap();
    assert!(server.acquire().is_err(), "one at a time");
    let died = thread::spawn(move || {
        let _probe = probe;
        panic!("on purpose");
    });
    assert!(died.join().is_err());
    assert!(server.acquire().is_ok_and(|permit| permit.is_probe()));
    assert_eq!(Arc::strong_count(&server), 1, "nothing is leaked");
}

#[test]
fn a_static_breaker_gives_permits_that_a_thread_owns_without_an_arc() {
    static SERVER: Breaker = breaker(RULES);
    let permit = SERVER.acquire().unwrap();
    thread::spawn(move || permit.failure()).join().unwrap();
    assert_eq!(SERVER.snapshot().failures(), 1);
}

#[derive(Debug, PartialEq)]
enum Failed {
    TooLate,
}

impl From<TimedOut> for Failed {
    fn from(_: TimedOut) -> Self {
        Self::TooLate
    }
}

const LIMIT: Duration = Duration::from_millis(10);

#[test]
fn a_timeout_inside_a_guarded_future_counts_as_a_failure() {
    let server = breaker(RULES);
    let call = || {
        block_on(server.call_async(|| async { timeout(LIMIT, pending::<Result<(), _>>()).await? }))
    };
    for _ in 0..3 {
        assert_eq!(call(), Err(CallError::Failed(Failed::TooLate)));
    }
    assert!(matches!(call(), Err(CallError::Rejected(_))));
}

#[test]
fn a_timeout_around_a_guarded_future_counts_as_a_slow_call_would() {
    let slow = breaker(RULES.slow_call(LIMIT / 2));
    let plain = breaker(RULES);
    for server in [&slow, &plain] {
        for _ in 0..3 {
            let hangs = || pending::<Result<(), ()>>();
            assert_eq!(
                block_on(timeout(LIMIT, server.call_async(hangs))),
                Err(TimedOut)
            );
        }
    }
    assert_eq!(slow.state(), State::Open);
    assert_eq!(
        plain.state(),
        State::Closed,
        "as documented at `call_async`"
    );
}

#[test]
fn a_probe_that_a_timeout_drops_late_opens_the_breaker_again() {
    let server = breaker(RULES.cancel_limit(LIMIT / 2));
    server.trip();
    server.probe_now();
    let probe = server.call_async(pending::<Result<(), ()>>);
    assert_eq!(block_on(timeout(LIMIT, probe)), Err(TimedOut));
    let snapshot = server.snapshot();
    assert_eq!(snapshot.state(), State::Open, "{snapshot:?}");
    assert_eq!(snapshot.trips(), 2);
}

#[test]
fn a_future_that_another_thread_wakes_is_guarded_without_a_runtime() {
    let server = breaker(RULES);
    let answer = block_on(server.call_async(|| async {
        sleep(Duration::from_millis(1)).await;
        Ok::<_, ()>(42)
    }));
    assert_eq!(answer, Ok(42));
}

#[test]
fn one_word_in_two_places_is_one_breaker() {
    static WORD: NativeWord = NativeWord::new(0);
    static NOTIFIED: AtomicU32 = AtomicU32::new(0);
    let place = |failures| {
        let config = RULES.consecutive_failures(failures);
        let breaker = Breaker::builder(config, StdClock).word(&WORD);
        breaker
            .on_transition(|_: &Transition| {
                NOTIFIED.fetch_add(1, Ordering::Relaxed);
            })
            .build()
    };
    let (strict, patient) = (place(3), place(1_000));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2 {
                let _ = patient.call(|| Err::<(), _>("down"));
            }
        });
    });
    assert_eq!(strict.snapshot().failures(), 2, "counted elsewhere");
    let _ = strict.call(|| Err::<(), _>("down"));
    assert_eq!(patient.state(), State::Open);
    assert!(patient.acquire().is_err());
    assert_eq!(
        NOTIFIED.load(Ordering::Relaxed),
        1,
        "reported where it was made"
    );
}

#[test]
fn one_breaker_in_an_arc_in_two_places_serves_both() {
    struct Client {
        server: Arc<Breaker>,
    }
    let server = Arc::new(breaker(RULES));
    let clients = [(); 2].map(|()| Client {
        server: Arc::clone(&server),
    });
    thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| {
                for _ in 0..2 {
                    let _ = client.server.call(|| Err::<(), _>("down"));
                }
            });
        }
    });
    assert!(
        clients
            .iter()
            .all(|client| client.server.acquire().is_err())
    );
}

mod of_a_resource {
    use super::{LONG, RULES, State};
    use atomic_breaker_server::{AnyPermit, Breaker, ManualClock, Outcome, breaker};
    use atomic_breaker_server::{Guard, Resource};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_permit_that_fails_when_dropped_counts_an_early_return() {
        fn call(server: &Resource, answer: &str) -> Result<u32, super::Anything> {
            let permit = server.acquire()?.failing_when_dropped();
            let number = super::parse(answer)?;
            permit.report(Outcome::Success);
            Ok(number)
        }
        let server = Resource::new(breaker(RULES));
        assert_eq!(call(&server, "7").unwrap(), 7);
        for _ in 0..3 {
            assert!(call(&server, "garbage").is_err());
        }
        assert_eq!(server.breaker().state(), State::Open);
        server.enforcement().set_percent(0).unwrap();
        assert_eq!(call(&server, "7").unwrap(), 7, "in shadow mode");
    }

    #[test]
    fn a_permit_that_fails_when_dropped_can_be_cancelled() {
        let server = Resource::new(breaker(RULES));
        server.acquire().unwrap().failing_when_dropped().cancel();
        assert_eq!(server.breaker().snapshot().failures(), 0);
    }

    #[test]
    fn a_rejection_by_command_names_no_failure_of_an_earlier_day() {
        let clock = ManualClock::new();
        let server = Resource::new(Breaker::new(RULES.consecutive_failures(1), &clock));
        let words = || server.acquire().unwrap_err().last_failure.is_some();
        let _ = server.call(|| Err::<(), _>("503 of yesterday"));
        assert!(words());
        clock.advance(LONG);
        let probe = server.acquire().unwrap();
        assert!(words(), "half-open");
        probe.report(Outcome::Success);
        server.breaker().trip();
        assert!(!words(), "tripped by command");
        server.breaker().force_open();
        assert!(!words(), "forced open");
        assert!(server.last_failure().get().is_some(), "it is history");
    }

    #[test]
    fn a_classifier_that_panics_has_failed_the_call() {
        let server = Resource::new(breaker(RULES.consecutive_failures(1)));
        let closure = |_: &Result<u8, &str>| -> Outcome { panic!("a bug") };
        let call = || server.call_with(&closure, || Ok(7)).map(drop);
        catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(server.breaker().state(), State::Open);
    }
}
