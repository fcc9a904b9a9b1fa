//! Trying again.

use std::cell::{Cell, RefCell};

use atomic_breaker_embassy::{Breaker, BreakerExt, CallError, Retry, State};
use embassy_time::{Duration, Instant};

use super::sim::{RULES, Sim, breaker};

/// Retries an operation that fails until the given try; answers when it was tried, the result, and
/// when that came.
fn tries(
    breaker: &Breaker,
    policy: Retry,
    works_from: usize,
) -> (Vec<u64>, Result<(), CallError<()>>, u64) {
    let (tried, result) = (RefCell::new(Vec::new()), Cell::new(Ok(())));
    let took = Sim::new().run(async {
        let operation = || async {
            tried.borrow_mut().push(Instant::now().as_millis());
            if tried.borrow().len() >= works_from {
                Ok(())
            } else {
                Err(())
            }
        };
        result.set(breaker.retry(policy, operation).await);
    });
    (tried.take(), result.get(), took)
}

const POLICY: Retry = Retry::new()
    .tries(4)
    .first_pause(Duration::from_millis(100))
    .longest_pause(Duration::from_millis(300));

/// Does not trip.
fn patient() -> Breaker {
    breaker(RULES.consecutive_failures(100))
}

#[test]
fn a_first_success_is_the_only_try() {
    assert_eq!(tries(&patient(), POLICY, 1), (vec![0], Ok(()), 0));
}

#[test]
fn pauses_double_up_to_the_longest_with_up_to_half_taken_off() {
    let breaker = patient();
    for _ in 0..20 {
        let (tried, result, _) = tries(&breaker, POLICY, 99);
        assert_eq!(result, Err(CallError::Failed(())));
        assert_eq!(tried.len(), 4);
        let pauses: Vec<u64> = tried.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (pause, full) in pauses.iter().zip([100, 200, 300]) {
            assert!((full / 2..=full).contains(pause), "{pauses:?}");
        }
    }
}

#[test]
fn callers_do_not_pause_in_step() {
    let breaker = patient();
    let mut seconds: Vec<u64> = (0..8).map(|_| tries(&breaker, POLICY, 2).0[1]).collect();
    seconds.sort_unstable();
    seconds.dedup();
    assert!(seconds.len() >= 6, "{seconds:?}");
}

#[test]
fn it_never_tries_before_the_breaker_would_admit_it() {
    let breaker = breaker(RULES);
    let (tried, result, _) = tries(&breaker, POLICY.tries(10), 5);
    assert_eq!(result, Ok(()));
    assert_eq!(
        tried.len(),
        5,
        "tripped by the third, reopened by the fourth: {tried:?}"
    );
    assert!(tried[3] - tried[2] >= 1_000, "{tried:?}");
    assert!(tried[4] - tried[3] >= 1_000, "{tried:?}");
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn it_gives_up_at_once_when_the_next_try_would_come_too_late() {
    let breaker = breaker(RULES);
    let policy = POLICY.tries(10).within(Duration::from_millis(900));
    let (tried, result, took) = tries(&breaker, policy, 99);
    assert_eq!(tried.len(), 3, "then a second would be needed");
    assert_eq!(result, Err(CallError::Failed(())));
    assert_eq!(took, tried[2], "without waiting in vain");
}

#[test]
fn it_gives_up_at_once_while_forced_open() {
    let breaker = patient();
    breaker.force_open();
    let (tried, result, took) = tries(&breaker, POLICY, 1);
    assert_eq!((tried.len(), took), (0, 0));
    assert!(matches!(result, Err(CallError::Rejected(_))));
}

#[test]
fn a_refused_try_counts() {
    let breaker = patient();
    breaker.trip();
    let (tried, result, _) = tries(&breaker, POLICY.tries(1), 1);
    assert!(tried.is_empty());
    assert!(matches!(result, Err(CallError::Rejected(_))));
}

#[test]
fn no_tries_and_endless_pauses_are_taken_for_the_nearest_thing_that_works() {
    assert_eq!(tries(&patient(), POLICY.tries(0), 1).0, [0]);
    let endless = Retry::new()
        .first_pause(Duration::MAX)
        .longest_pause(Duration::MAX);
    let policy = endless.within(Duration::from_secs(1));
    assert_eq!(tries(&patient(), policy, 9).0, [0]);
}
