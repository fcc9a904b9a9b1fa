// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries.

use std::cell::{Cell, RefCell};
use std::future::ready;

use atomic_breaker_embassy::{
    Breaker, CallError, Failure, Mutating, Outcome, Rejected, Retry, Wait,
};
use core::time::Duration;
use embassy_time::{Instant, Timer};

use super::sim::{RULES, Sim, breaker, now};

/// Retries an operation that fails until the given try; returns when it was tried, the result, and
/// when that came.
pub(crate) fn tries(
    breaker: &Breaker,
    policy: Retry,
    works_from: usize,
) -> (Vec<u64>, Result<(), CallError<()>>, u64) {
    tries_after(breaker, |_| (), policy, works_from)
}

/// [`tries`] with a breaker that was prepared first.
pub(crate) fn tries_after(
    breaker: &Breaker,
    prepare: impl FnOnce(&Breaker),
    policy: Retry,
    works_from: usize,
) -> (Vec<u64>, Result<(), CallError<()>>, u64) {
    let (tried, result) = (RefCell::new(Vec::new()), Cell::new(Ok(())));
    let mut sim = Sim::new();
    prepare(breaker);
    let took = sim.run(async {
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
    drop(sim);
    (tried.take(), result.get(), took)
}

pub(crate) const POLICY: Retry = Retry::new()
    .tries(4)
    .first_pause(Duration::from_millis(100))
    .longest_pause(Duration::from_millis(300));

pub(crate) fn tripped(breaker: &Breaker) {
    breaker.trip();
}

/// A breaker that does not trip by itself.
pub(crate) fn patient() -> Breaker {
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

/// A device that has something else to do meanwhile, such as to keep the reading.
#[test]
fn by_default_it_returns_as_soon_as_the_breaker_rejects() {
    let (tried, result, took) = tries_after(&patient(), tripped, Retry::new(), 1);
    assert_eq!((tried.len(), took), (0, 0));
    let rejected = result.unwrap_err().rejected().copied();
    let open = Some(Wait::For(Duration::from_secs(1)));
    assert_eq!(rejected.map(Rejected::wait), open);
    // Its third try trips the breaker, and is the last one.
    let (tried, result, took) = tries(&breaker(RULES), Retry::new().tries(10), 99);
    assert_eq!((tried.len(), took), (3, tried[2]), "{tried:?}");
    assert_eq!(result, Err(CallError::Failed(())));
}

/// Ten minutes of an outage in which a sensor is read each second: no caller is held for longer than its pauses.
#[test]
fn through_an_outage_no_caller_is_held() {
    let breaker = breaker(RULES);
    let (held, worked) = (Cell::new(0), Cell::new(0));
    let mut sim = Sim::new();
    sim.spawn(async {
        for _ in 0..660 {
            let begin = now();
            let works = begin >= 600_000;
            let send = || ready(if works { Ok(()) } else { Err(()) });
            let result = breaker.retry(Retry::new(), send).await;
            held.set(held.get().max(now() - begin));
            worked.set(worked.get() + u32::from(result.is_ok()));
            Timer::after_millis(1_000).await;
        }
    });
    sim.pass(700_000);
    drop(sim);
    assert!(held.get() <= 300, "{}", held.get());
    assert!(worked.get() >= 58, "{}", worked.get());
}

#[test]
fn zero_tries_and_endless_times_become_the_nearest_values_that_work() {
    assert_eq!(tries(&patient(), POLICY.tries(0), 1).0, [0]);
    let endless = Retry::new()
        .first_pause(Duration::MAX)
        .longest_pause(Duration::MAX);
    let policy = endless.within(Duration::from_secs(1));
    assert_eq!(tries(&patient(), policy, 9).0, [0]);
    assert_eq!(
        tries(&patient(), POLICY.within(Duration::MAX), 9).0.len(),
        4
    );
}

#[test]
fn only_failures_are_tried_again() {
    let breaker = patient();
    let classify = |result: &Result<u16, u16>| match result {
        Ok(503) => Failure::new().into(),
        Ok(_) => Outcome::Success,
        Err(404) => Outcome::Ignored,
        Err(_) => Failure::new().into(),
    };
    for (answers, last, tries) in [
        (vec![Err(500), Err(404), Ok(200)], Err(404), 2),
        (vec![Ok(503), Ok(200)], Ok(200), 2),
        (vec![Err(500), Err(500), Ok(503)], Ok(503), 3),
    ] {
        let answers = RefCell::new(answers.into_iter());
        let (tried, result) = (Cell::new(0), Cell::new(Ok(0)));
        Sim::new().run(async {
            let ask = async || {
                tried.set(tried.get() + 1);
                answers.borrow_mut().next().unwrap()
            };
            let answer = breaker.retry_with(classify, Retry::new(), ask).await;
            result.set(answer.map_err(|error| error.failed().unwrap()));
        });
        assert_eq!((result.get(), tried.get()), (last, tries));
    }
}

#[test]
fn a_device_that_is_borrowed_mutably_can_be_tried_again() {
    struct Device(u32);
    impl Device {
        async fn read(&mut self) -> Result<u32, ()> {
            Timer::after_millis(1).await;
            self.0 += 1;
            if self.0 == 3 { Ok(self.0) } else { Err(()) }
        }
    }
    let breaker = patient();
    let mut device = Device(0);
    let mut other = Device(0);
    Sim::new().run(async {
        let read = breaker.retry(Retry::new(), Mutating(async || device.read().await));
        assert_eq!(read.await, Ok(3));
        let moved = breaker.retry(Retry::new(), Mutating(async move || other.read().await));
        assert_eq!(moved.await, Ok(3));
    });
}

#[test]
fn a_panic_counts_as_a_failure() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let breaker = patient();
    let run = || {
        Sim::new().run(async {
            let panics = || async { panic!("a bug") };
            let _: Result<(), CallError<()>> = breaker.retry(Retry::new(), panics).await;
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert_eq!(breaker.snapshot().failures(), 1);
}

/// Tries that take longer than the limit, without a pause between them.
#[test]
fn without_a_pause_no_try_begins_after_the_limit() {
    let policy = Retry::new()
        .tries(5)
        .first_pause(Duration::ZERO)
        .within(Duration::from_secs(1));
    let breaker = patient();
    let tried = RefCell::new(Vec::new());
    Sim::new().run(async {
        let operation = || async {
            tried.borrow_mut().push(now());
            Timer::after_millis(400).await;
            Err::<(), _>(())
        };
        assert!(breaker.retry(policy, operation).await.is_err());
    });
    assert_eq!(tried.take(), [0, 400, 800]);
}
