//! Calls with a time limit.

use std::cell::{Cell, RefCell};
use std::future::pending;

use atomic_breaker_embassy::{BreakerExt, CallError, Failure, Outcome, State, TimeLimit, Timed};
use embassy_time::{Duration, Timer};

use super::sim::{RULES, Sim, breaker};

const LIMIT: Duration = Duration::from_millis(50);

type Answer = Result<u32, CallError<Timed<&'static str>>>;

/// An operation that takes so long.
async fn takes(ms: u64, result: Result<u32, &'static str>) -> Result<u32, &'static str> {
    Timer::after_millis(ms).await;
    result
}

#[test]
fn a_call_in_time_is_like_any_other() {
    let breaker = breaker(RULES);
    for (result, answer, failures) in [
        (Err("no"), Err(CallError::Failed(Timed::Failed("no"))), 1),
        (Ok(7), Ok(7), 0),
    ] {
        let got = RefCell::new(None::<Answer>);
        let took = Sim::new().run(async {
            let call = breaker.call_timeout(LIMIT, || takes(49, result));
            *got.borrow_mut() = Some(call.await);
        });
        assert_eq!(took, 49);
        assert_eq!(got.take(), Some(answer));
        assert_eq!(breaker.snapshot().failures(), failures);
    }
}

#[test]
fn a_call_that_takes_too_long_fails_and_is_dropped() {
    struct Dropped<'a>(&'a Cell<bool>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let breaker = breaker(RULES);
    let (dropped, got) = (Cell::new(false), RefCell::new(None::<Answer>));
    let took = Sim::new().run(async {
        let hangs = || async {
            let _guard = Dropped(&dropped);
            pending().await
        };
        *got.borrow_mut() = Some(breaker.call_timeout(LIMIT, hangs).await);
        assert!(dropped.get());
    });
    assert_eq!(took, 50);
    assert_eq!(got.take(), Some(Err(CallError::Failed(Timed::TimedOut))));
    assert_eq!(breaker.snapshot().failures(), 1);
}

#[test]
fn a_time_out_weighs_what_the_limit_says() {
    let breaker = breaker(RULES);
    let limit = TimeLimit::new(LIMIT).counting_as(Failure::weighing(3));
    Sim::new().run(async {
        let _ = breaker.call_timeout(limit, || takes(60, Ok(1))).await;
    });
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_classifier_decides_of_time_outs_too() {
    let breaker = breaker(RULES);
    let classify = |result: &Result<u32, Timed<&str>>| match result {
        Err(Timed::TimedOut) => Outcome::Ignored,
        _ => Outcome::Success,
    };
    Sim::new().run(async {
        for _ in 0..5 {
            let call = breaker.call_timeout_with(LIMIT, classify, || takes(60, Ok(1)));
            assert_eq!(call.await, Err(CallError::Failed(Timed::TimedOut)));
        }
    });
    assert_eq!(breaker.snapshot().failures(), 0);
}

#[test]
fn a_refused_call_does_not_begin() {
    let breaker = breaker(RULES);
    breaker.trip();
    let took = Sim::new().run(async {
        let call = breaker.call_timeout(LIMIT, || async { unreachable!("refused") });
        let refused: Answer = call.await;
        assert!(matches!(refused, Err(CallError::Rejected(_))));
    });
    assert_eq!(took, 0);
}

#[test]
fn a_probe_that_is_dropped_while_it_runs_gives_its_slot_back() {
    let breaker = breaker(RULES);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.spawn(async {
        let _ = breaker.call_timeout(LIMIT, || takes(60, Ok(1))).await;
    });
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    sim.drop_last();
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    assert_eq!(
        breaker.state(),
        State::HalfOpen,
        "neither failed nor succeeded"
    );
}

#[test]
fn errors_tell_what_happened_and_keep_the_chain() {
    let error: Timed<std::num::ParseIntError> = Timed::TimedOut;
    assert_eq!(error.to_string(), "timed out");
    let inner = "x".parse::<u8>().unwrap_err();
    assert_eq!(Timed::Failed(inner.clone()).to_string(), inner.to_string());
}
