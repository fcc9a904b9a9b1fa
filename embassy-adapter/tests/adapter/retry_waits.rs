// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries that wait for the breaker.

use std::future::ready;

use atomic_breaker_embassy::{CallError, Config, Rejected, Retry, State, Wait};
use core::time::Duration;
use embassy_time::Timer;

use super::retry::{POLICY, patient, tries, tries_after, tripped};
use super::sim::{RULES, Sim, Times, Watch, breaker, now, watched};

/// Waits for the breaker for as long as its time allows.
const PATIENT: Retry = POLICY.wait_for_breaker(Duration::MAX);

#[test]
fn a_rejected_call_is_not_a_try() {
    let (tried, result, _) = tries_after(&patient(), tripped, PATIENT.tries(1), 1);
    assert_eq!((tried.len(), result), (1, Ok(())));
    assert!(tried[0] >= 1_000, "{tried:?}");
}

#[test]
fn without_time_a_rejected_call_is_not_waited_for() {
    let at_once = PATIENT.within(Duration::ZERO);
    let (tried, result, took) = tries_after(&patient(), tripped, at_once, 1);
    assert_eq!((tried.len(), took), (0, 0));
    let rejected = result.unwrap_err().rejected().copied();
    let open = Some(Wait::For(Duration::from_secs(1)));
    assert_eq!(rejected.map(Rejected::wait), open);
}

#[test]
fn it_gives_up_at_once_while_forced_open() {
    let breaker = patient();
    breaker.force_open();
    let (tried, result, took) = tries(&breaker, PATIENT, 1);
    assert_eq!((tried.len(), took), (0, 0));
    assert!(matches!(result, Err(CallError::Rejected(_))));
}

#[test]
fn it_never_tries_before_the_breaker_would_admit_it() {
    let breaker = breaker(RULES);
    let (tried, result, _) = tries(&breaker, PATIENT.tries(10), 5);
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
    let policy = PATIENT.tries(10).within(Duration::from_millis(900));
    let (tried, result, took) = tries(&breaker, policy, 99);
    assert_eq!(tried.len(), 3, "then a second would be needed");
    assert_eq!(result, Err(CallError::Failed(())));
    assert_eq!(took, tried[2], "without waiting in vain");
}

#[test]
fn the_last_error_tells_more_than_the_rejections_after_it() {
    let breaker = breaker(RULES.consecutive_failures(1));
    let (tried, result, took) = tries(&breaker, PATIENT.within(Duration::from_millis(800)), 9);
    assert_eq!((tried.len(), took), (1, 0));
    assert_eq!(result, Err(CallError::Failed(())));
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
                with.retry(PATIENT, send).await
            } else {
                without.retry(PATIENT, send).await
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
            assert_eq!(breaker.retry(PATIENT, send).await, Ok(()));
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
        let _ = heard.retry(PATIENT, || ready(Ok::<_, ()>(()))).await;
        soon.mark();
    });
    sim.spawn(async {
        let _ = unheard.retry(PATIENT, || ready(Ok::<_, ()>(()))).await;
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
fn it_gives_up_beside_a_hanging_probe_when_the_time_is_over() {
    let breaker = patient();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    let _hangs = breaker.acquire().unwrap();
    let took = sim.run(async {
        let policy = PATIENT.within(Duration::from_millis(500));
        let result = breaker.retry(policy, || ready(Ok::<_, ()>(()))).await;
        assert!(matches!(result, Err(CallError::Rejected(_))));
    });
    assert_eq!(took, 500);
}
