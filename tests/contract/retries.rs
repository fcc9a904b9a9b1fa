// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries by a timer that skips its sleeps, to the millisecond.

use std::cell::{Cell, RefCell};
use std::future::ready;
use std::time::Duration;

use atomic_breaker::wait::{Retry, WithTimer};
use atomic_breaker::word::NativeWord;
use atomic_breaker::{Breaker, CallError, Clock, ManualClock, Observer, Rejected, State};

use super::support::{ms, rules};
use super::waits::{Skips, Waiting, run, waiting, waiting_by};

/// Retries an operation that works from the given try on; returns the result, and when it was tried.
fn tries(
    breaker: &Waiting<'_>,
    policy: Retry,
    works_from: usize,
) -> (Result<(), CallError<()>>, Vec<u32>) {
    let tried = RefCell::new(Vec::new());
    let operation = async || {
        tried.borrow_mut().push(breaker.clock().now_ms());
        if tried.borrow().len() < works_from {
            Err(())
        } else {
            Ok(())
        }
    };
    let result = run(breaker.retry(policy, operation));
    (result, tried.take())
}

/// Waits for as long as its time allows.
const PATIENT: Retry = Retry::new().wait_for_breaker(Duration::MAX);

#[test]
fn a_try_at_the_very_end_of_the_time_is_made() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let timer = Skips::new(&clock, &|_| ());
    // The shortest pause has no part to be taken off.
    let policy = Retry::new().first_pause(ms(1)).within(ms(1));
    let ended = tries(&waiting(&word, &timer), policy, 2);
    assert_eq!(ended, (Ok(()), vec![0, 1]));
}

#[test]
fn a_breaker_that_is_due_at_the_very_end_of_the_time_is_waited_for() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let timer = Skips::new(&clock, &|_| ());
    let breaker = waiting(&word, &timer);
    breaker.trip();
    let ended = tries(&breaker, PATIENT.within(ms(800)), 1);
    assert_eq!(ended, (Ok(()), vec![800]));
}

#[test]
fn a_retry_gives_up_beside_a_hanging_probe_when_the_time_of_its_timer_is_over() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let timer = Skips::new(&clock, &|_| ());
    let breaker = waiting(&word, &timer);
    breaker.trip();
    clock.advance(ms(800));
    let _hangs = breaker.acquire().unwrap();
    for policy in [
        PATIENT.within(ms(500)),
        Retry::new().wait_for_breaker(ms(500)),
    ] {
        let begin = clock.now_ms();
        let (result, tried) = tries(&breaker, policy, 1);
        assert!(matches!(result, Err(CallError::Rejected(_))), "{result:?}");
        assert_eq!((tried.len(), clock.now_ms()), (0, begin + 500));
    }
}

#[test]
fn the_timer_is_asked_for_no_sleep_of_no_time() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let timer = Skips::new(&clock, &|_| ());
    let policy = Retry::new().first_pause(ms(0));
    let ended = tries(&waiting(&word, &timer), policy, 3);
    assert_eq!(ended, (Ok(()), vec![0; 3]));
    assert!(timer.asked.take().is_empty());
}

type Prepare = fn(&Waiting<'_>, &ManualClock);

/// Into each state that rejects.
const REJECTING: [Prepare; 4] = [
    |breaker, _| {
        breaker.trip();
    },
    |breaker, clock| {
        breaker.trip();
        clock.advance(ms(800));
        let _hangs = breaker.acquire().unwrap().into_token();
    },
    |breaker, _| {
        breaker.trip();
        breaker.probe_now();
        breaker.acquire().unwrap().success();
    },
    |breaker, _| {
        breaker.force_open();
    },
];

#[test]
fn a_rejection_ends_a_retry_at_once_unless_it_is_to_wait() {
    for prepare in REJECTING {
        let (clock, word) = (ManualClock::new(), NativeWord::new(0));
        let timer = Skips::new(&clock, &|_| ());
        let rules = rules().gradual_return(10, ms(8_000));
        let breaker = waiting_by(rules.open_for(ms(800)), &word, &timer);
        prepare(&breaker, &clock);
        let state = breaker.state();
        // While traffic returns, about one call in ten passes.
        for _ in 0..50 {
            let (result, tried) = tries(&breaker, Retry::new(), 1);
            match result {
                Err(CallError::Rejected(rejected)) => assert_eq!(rejected.state(), state),
                result => assert_eq!((result, tried.len(), state), (Ok(()), 1, State::Returning)),
            }
        }
        assert!(timer.asked.take().is_empty(), "it has slept: {state}");
    }
}

/// Two draws of each caller would let nearly twice the share pass.
#[test]
fn while_traffic_returns_a_retry_that_does_not_wait_draws_once() {
    #[derive(Default)]
    struct Counted(Cell<u32>);
    impl Observer for &Counted {
        fn rejected(&self, _: Rejected) {
            self.0.set(self.0.get() + 1);
        }
    }
    let (clock, counted) = (ManualClock::new(), Counted::default());
    let timer = Skips::new(&clock, &|_| ());
    let with_timer = WithTimer {
        clock: &clock,
        timer: &timer,
    };
    let rules = rules().gradual_return(10, ms(8_000));
    let breaker = Breaker::builder(rules, with_timer)
        .observer(&counted)
        .build();
    breaker.trip();
    breaker.probe_now();
    breaker.acquire().unwrap().success();
    let mut passed = 0;
    for _ in 0..1_000 {
        let sent = run(breaker.retry(Retry::new(), || ready(Ok::<_, ()>(()))));
        passed += u32::from(sent.is_ok());
    }
    assert_eq!(counted.0.get() + passed, 1_000);
    assert!((50..=200).contains(&passed), "{passed}");
}

#[test]
fn a_retry_whose_own_try_has_tripped_ends_with_the_failure_of_that_try() {
    for policy in [Retry::new(), Retry::new().wait_for_breaker(ms(650))] {
        let (clock, word) = (ManualClock::new(), NativeWord::new(0));
        let timer = Skips::new(&clock, &|_| ());
        let rules = rules().consecutive_failures(1).open_for(ms(800));
        let breaker = waiting_by(rules, &word, &timer);
        let ended = tries(&breaker, policy, 9);
        // Neither the pause nor the open time is waited for in vain.
        assert_eq!(ended, (Err(CallError::Failed(())), vec![0]));
        assert!(timer.asked.take().is_empty());
    }
}

#[test]
fn so_does_one_that_others_trip_in_its_pause() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let other = Breaker::over(&word, rules(), &clock);
    let trips = |_| {
        other.trip();
    };
    let timer = Skips::new(&clock, &trips);
    let ended = tries(&waiting(&word, &timer), Retry::new(), 9);
    assert_eq!(ended, (Err(CallError::Failed(())), vec![0]));
    assert_eq!(
        timer.asked.take().len(),
        1,
        "its pause, and nothing after it"
    );
}

#[test]
fn a_breaker_that_is_due_by_the_end_of_the_pause_is_tried() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let timer = Skips::new(&clock, &|_| ());
    let rules = rules().consecutive_failures(1).open_for(ms(50));
    let breaker = waiting_by(rules, &word, &timer);
    let (result, tried) = tries(&breaker, Retry::new(), 2);
    assert_eq!((result, tried.len()), (Ok(()), 2));
    assert!((50..=100).contains(&tried[1]), "{tried:?}");
}

#[test]
fn a_retry_waits_for_the_breaker_for_so_long_in_all() {
    // The first wait takes 800 to 900 ms, the second one as long.
    for (wait, tries_made) in [(799, 0), (900, 1), (1_400, 1), (1_800, 2)] {
        let (clock, word) = (ManualClock::new(), NativeWord::new(0));
        let timer = Skips::new(&clock, &|_| ());
        let rules = rules().consecutive_failures(1).open_for(ms(800));
        let breaker = waiting_by(rules, &word, &timer);
        breaker.trip();
        let policy = Retry::new().first_pause(ms(0)).wait_for_breaker(ms(wait));
        let (result, tried) = tries(&breaker, policy, 9);
        assert_eq!(tried.len(), tries_made, "{wait}: {tried:?}");
        assert_eq!(result.unwrap_err().failed().is_some(), tries_made > 0);
        assert!(u64::from(clock.now_ms()) <= wait, "{wait}: {tried:?}");
    }
}
