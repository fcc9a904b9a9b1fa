// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries by a timer that skips its sleeps, to the millisecond.

use std::cell::{Cell, RefCell};
use std::future::ready;
use std::time::Duration;

use atomic_breaker::wait::{Retry, RetryEvent, TryEvent, WithTimer};
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

/// The events of a retry that an observer is notified of: try, event, pause in milliseconds, waits.
type Told = Vec<(u32, RetryEvent, u64, u32)>;

/// Retries as [`tries`] does, with an observer.
fn told(breaker: &Waiting<'_>, policy: Retry, works_from: usize) -> (bool, Told) {
    let (mut told, mut made) = (Told::new(), 0);
    let policy = policy.observer(|event: &TryEvent| {
        let pause = event.pause.as_millis() as u64;
        told.push((event.number, event.event, pause, event.waits));
    });
    let operation = || {
        made += 1;
        ready(if made < works_from { Err(()) } else { Ok(()) })
    };
    let result = run(breaker.retry(policy, operation));
    (result.is_ok(), told)
}

#[test]
fn an_observer_is_told_of_each_failed_try_and_of_what_followed() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let timer = Skips::new(&clock, &|_| ());
    let breaker = waiting(&word, &timer);
    let policy = Retry::new().tries(4).first_pause(ms(1));
    assert_eq!(told(&breaker, policy, 1), (true, vec![]));
    let recovered = vec![
        (1, RetryEvent::Sent, 1, 0),
        (2, RetryEvent::Recovered, 0, 0),
    ];
    assert_eq!(told(&breaker, policy, 2), (true, recovered));
    let in_vain = vec![
        (1, RetryEvent::Sent, 1, 0),
        (2, RetryEvent::NoTryLeft, 0, 0),
    ];
    assert_eq!(told(&breaker, policy.tries(2), 99), (false, in_vain));
    breaker.reset();
    let late = policy.first_pause(ms(100)).within(ms(20));
    assert_eq!(
        told(&breaker, late, 99),
        (false, vec![(1, RetryEvent::NoTime, 0, 0)])
    );
    breaker.trip();
    assert_eq!(told(&breaker, policy, 1), (false, vec![]));
}

/// The rules trip by its second failure.
#[test]
fn an_observer_is_told_that_the_breaker_rejects_or_for_how_long_it_was_waited_for() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let timer = Skips::new(&clock, &|_| ());
    let two = rules().consecutive_failures(2).open_for(ms(800));
    let breaker = waiting_by(two, &word, &timer);
    let rejected = |told: &Told| told.last().map(|&(_, event, ..)| event);
    let (is_ok, ended) = told(&breaker, Retry::new().tries(9), 99);
    assert!(
        !is_ok && rejected(&ended) == Some(RetryEvent::Rejected),
        "{ended:?}"
    );
    breaker.reset();
    let trips_at = ended.len();
    let (is_ok, waited) = told(&breaker, PATIENT.tries(9), trips_at + 1);
    assert!(is_ok, "{waited:?}");
    let (number, event, pause, waits) = waited[trips_at - 1];
    assert_eq!(
        (number as usize, event, waits),
        (trips_at, RetryEvent::Sent, 1)
    );
    let open_ms = u64::from(breaker.config().open_for_ms);
    assert!((open_ms..open_ms + 1_000).contains(&pause), "{waited:?}");
    assert_eq!(rejected(&waited), Some(RetryEvent::Recovered));
}
