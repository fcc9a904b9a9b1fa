// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries whose tries have a time limit.

use std::cell::{Cell, RefCell};
use std::future::{pending, ready};

use atomic_breaker_embassy::{CallError, Outcome, Retry, State, TimeLimit, Timed};
use core::time::Duration;
use embassy_time::Timer;

use super::sim::{RULES, Sim, Times, breaker, now};

const LIMIT: Duration = Duration::from_millis(200);

const POLICY: Retry<TimeLimit> = Retry::new().try_limit(LIMIT);

/// A radio that hangs until the given time, and then answers within ten milliseconds.
async fn send(tried: &Times, back_at: u64) -> Result<u32, &'static str> {
    tried.mark();
    if now() < back_at {
        pending::<()>().await;
    }
    Timer::after_millis(10).await;
    Ok(7)
}

#[test]
fn a_radio_that_hangs_trips_and_closes_once_it_is_back() {
    const BACK: u64 = 5_000;
    let radio = breaker(RULES);
    let tried = Times::default();
    let got = Cell::new(None);
    let mut sim = Sim::new();
    sim.run(async {
        let lost = radio.retry(POLICY, || send(&tried, BACK)).await;
        assert_eq!(lost, Err(CallError::Failed(Timed::TimedOut)));
        assert_eq!((tried.len(), radio.state()), (3, State::Open));
        // From now on it waits for the breaker, whose probe hangs as well, until the radio is back.
        let patient = POLICY.tries(100).wait_for_breaker(Duration::MAX);
        let sent = radio.retry(patient, || send(&tried, BACK)).await;
        got.set(Some(sent));
    });
    assert_eq!(got.take(), Some(Ok(7)));
    assert_eq!(radio.state(), State::Closed);
    assert_eq!(radio.snapshot().failures(), 0);
}

#[test]
fn a_try_that_takes_too_long_is_dropped_and_tried_again() {
    struct Dropped<'a>(&'a Times);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.mark();
        }
    }
    let radio = breaker(RULES.consecutive_failures(100));
    let (begun, dropped) = (Times::default(), Times::default());
    Sim::new().run(async {
        let hangs = async || {
            begun.mark();
            let _guard = Dropped(&dropped);
            pending::<Result<(), ()>>().await
        };
        let result = radio.retry(POLICY.tries(2), hangs).await;
        assert_eq!(result, Err(CallError::Failed(Timed::TimedOut)));
    });
    assert_eq!((begun.len(), radio.snapshot().failures()), (2, 2));
    for (begin, end) in begun.all().iter().zip(dropped.all()) {
        assert_eq!(end - begin, 200);
    }
}

#[test]
fn a_try_in_time_is_like_any_other() {
    let radio = breaker(RULES);
    let results = RefCell::new(vec![Ok(7), Err("no")]);
    Sim::new().run(async {
        let late = || async {
            Timer::after_millis(200).await;
            results.borrow_mut().pop().unwrap()
        };
        assert_eq!(radio.retry(POLICY, late).await, Ok::<u32, _>(7));
        let failed = radio.retry(POLICY, || ready(Err::<(), _>("no"))).await;
        assert_eq!(failed, Err(CallError::Failed(Timed::Failed("no"))));
    });
}

#[test]
fn a_classifier_says_what_a_timeout_means() {
    let radio = breaker(RULES);
    let classify = |result: &Result<(), Timed<()>>| match result {
        Err(Timed::TimedOut) => Outcome::Ignored,
        _ => Outcome::Success,
    };
    Sim::new().run(async {
        let hangs = async || pending::<Result<(), ()>>().await;
        let result = radio.retry_with(classify, POLICY, hangs).await;
        assert_eq!(result, Err(CallError::Failed(Timed::TimedOut)));
        assert_eq!(now(), 200);
    });
    assert_eq!(radio.snapshot().failures(), 0);
}

#[test]
fn the_longest_limit_is_none() {
    let radio = breaker(RULES);
    Sim::new().run(async {
        let policy = Retry::new().try_limit(Duration::MAX);
        let slow = || async {
            Timer::after_secs(60).await;
            Ok::<_, ()>(7)
        };
        assert_eq!(radio.retry(policy, slow).await, Ok(7));
    });
}

/// Two breakers, one inside the other: what a rejection of the inner one means is said.
#[test]
fn a_retry_around_a_call_through_another_breaker_takes_a_classifier() {
    let (radio, bus) = (breaker(RULES), breaker(RULES));
    bus.trip();
    let classify = |result: &Result<(), CallError<()>>| match result {
        Ok(()) => Outcome::Success,
        Err(_) => Outcome::Ignored,
    };
    Sim::new().run(async {
        let sent = radio.retry_with(classify, Retry::new(), async || {
            bus.call_async(|| ready(Ok::<_, ()>(()))).await
        });
        let error = sent.await.unwrap_err().failed();
        assert!(matches!(error, Some(CallError::Rejected(_))));
        // Later another test may have the clock.
        assert_eq!((radio.snapshot().failures(), now()), (0, 0));
    });
}
