// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries.

use std::cell::{Cell, RefCell};
use std::future::ready;

use atomic_breaker_embassy::{
    Breaker, CallError, Config, Failure, Mutating, Outcome, Rejected, Retry, State, Wait,
};
use core::time::Duration;
use embassy_time::{Instant, Timer};

use super::sim::{RULES, Sim, Times, Watch, breaker, now, watched};

/// Retries an operation that fails until the given try; returns when it was tried, the result, and
/// when that came.
fn tries(
    breaker: &Breaker,
    policy: Retry,
    works_from: usize,
) -> (Vec<u64>, Result<(), CallError<()>>, u64) {
    tries_after(breaker, |_| (), policy, works_from)
}

/// [`tries`] with a breaker that was prepared first.
fn tries_after(
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

const POLICY: Retry = Retry::new()
    .tries(4)
    .first_pause(Duration::from_millis(100))
    .longest_pause(Duration::from_millis(300));

fn tripped(breaker: &Breaker) {
    breaker.trip();
}

/// A breaker that does not trip by itself.
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
fn a_rejected_call_is_not_a_try() {
    let (tried, result, _) = tries_after(&patient(), tripped, POLICY.tries(1), 1);
    assert_eq!((tried.len(), result), (1, Ok(())));
    assert!(tried[0] >= 1_000, "{tried:?}");
}

#[test]
fn without_time_a_rejected_call_is_not_waited_for() {
    let at_once = POLICY.within(Duration::ZERO);
    let (tried, result, took) = tries_after(&patient(), tripped, at_once, 1);
    assert_eq!((tried.len(), took), (0, 0));
    let rejected = result.unwrap_err().rejected().copied();
    let open = Some(Wait::For(Duration::from_secs(1)));
    assert_eq!(rejected.map(Rejected::wait), open);
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

/// Returns when each of four tasks succeeded in sending through a radio that is back after that time.
fn four_tasks(rules: Config, back_at: u64, is_watched: bool) -> Times {
    let watch = Watch::<4>::new();
    let (with, without) = (watched(rules, &watch), breaker(rules));
    let done = Times::default();
    let mut sim = Sim::new();
    for _ in 0..4 {
        sim.spawn(async {
            let send = || async {
                Timer::after_millis(60).await;
                if now() >= back_at {
                    Ok(())
                } else {
                    Err("no answer")
                }
            };
            let result = if is_watched {
                with.retry(Retry::new(), send).await
            } else {
                without.retry(Retry::new(), send).await
            };
            assert_eq!(result, Ok(()));
            done.mark();
        });
    }
    sim.pass(30_000);
    drop(sim);
    done
}

#[test]
fn it_does_not_give_up_beside_a_probe_when_the_radio_is_back_at_two_seconds() {
    for is_watched in [false, true] {
        let done = four_tasks(RULES, 2_050, is_watched);
        assert_eq!(done.len(), 4);
        let done = done.all();
        assert!(done[0] >= 2_050 && done[3] <= 3_200, "{done:?}");
    }
}

#[test]
fn callers_rejected_together_do_not_return_in_one_tick() {
    let breaker = breaker(RULES.open_for(Duration::from_secs(8)));
    let tried = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..32 {
        sim.spawn(async {
            let send = || {
                tried.mark();
                ready(Ok::<_, ()>(()))
            };
            assert_eq!(breaker.retry(Retry::new(), send).await, Ok(()));
        });
    }
    sim.pass(10_000);
    assert_eq!(tried.len(), 32);
    // One draw each, over an eighth of the time open.
    assert!(*tried.all().last().unwrap() <= 9_000, "{:?}", tried.all());
    // Other tests draw in between.
    assert!(tried.most_within(1) <= 3, "{:?}", tried.all());
    assert!(tried.most_within(100) <= 13, "{:?}", tried.all());
}

#[test]
fn it_notices_a_breaker_that_closes_early() {
    let watch = Watch::<4>::new();
    let rules = RULES.open_for(Duration::from_secs(20));
    let (heard, unheard) = (watched(rules, &watch), breaker(rules));
    let (soon, later) = (Times::default(), Times::default());
    let mut sim = Sim::new();
    heard.trip();
    unheard.trip();
    sim.spawn(async {
        let _ = heard.retry(Retry::new(), || ready(Ok::<_, ()>(()))).await;
        soon.mark();
    });
    sim.spawn(async {
        let _ = unheard.retry(Retry::new(), || ready(Ok::<_, ()>(()))).await;
        later.mark();
    });
    sim.pass(4_100);
    heard.reset();
    unheard.reset();
    sim.pass(520);
    assert_eq!(soon.len(), 1, "an eighth of 4.1 s at most");
    sim.pass(1_500);
    assert_eq!(later.len(), 1, "by a look every second");
}

#[test]
fn the_last_error_tells_more_than_the_rejections_after_it() {
    let breaker = breaker(RULES.consecutive_failures(1));
    let (tried, result, took) = tries(&breaker, POLICY.within(Duration::from_millis(800)), 9);
    assert_eq!((tried.len(), took), (1, 0));
    assert_eq!(result, Err(CallError::Failed(())));
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

#[test]
fn it_gives_up_beside_a_hanging_probe_when_the_time_is_over() {
    let breaker = patient();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    let _hangs = breaker.acquire().unwrap();
    let took = sim.run(async {
        let policy = Retry::new().within(Duration::from_millis(500));
        let result = breaker.retry(policy, || ready(Ok::<_, ()>(()))).await;
        assert!(matches!(result, Err(CallError::Rejected(_))));
    });
    assert_eq!(took, 500);
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
