// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting while traffic comes back gradually.

use std::task::Waker;

use atomic_breaker_embassy::{
    Breaker, Config, EmbassyClock, Observer, Rejected, Retry, State, Transition,
};
use core::time::Duration;

use super::sim::{RULES, Sim, Times, Watch, watched};

/// 10 % first, all after 20 s.
const GRADUAL: Config = RULES.gradual_return(10, Duration::from_secs(20));

#[test]
fn waiters_come_back_as_gradually_as_the_breaker_lets_them() {
    let watch = Watch::<32>::new();
    let breaker = watched(GRADUAL, &watch);
    let times = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..32 {
        sim.spawn(async {
            breaker.acquire_when_ready().await.success();
            times.mark();
        });
    }
    sim.pass(2_500);
    assert_eq!(breaker.state(), State::Returning);
    let soon = times.len();
    assert!(soon <= 16, "{:?}", times.all());
    sim.pass(20_000);
    assert_eq!(times.len(), 32);
    assert!(times.most_within(100) <= 10, "{:?}", times.all());
}

#[test]
fn ready_sleeps_before_it_lets_a_task_try() {
    let watch = Watch::<1>::new();
    let breaker = watched(GRADUAL, &watch);
    let tries = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Returning);
    sim.spawn(async {
        // The usual loop, which must not spin.
        loop {
            breaker.ready().await;
            tries.mark();
            if breaker
                .call_async(|| std::future::ready(Ok::<_, ()>(())))
                .await
                .is_ok()
            {
                break;
            }
        }
    });
    sim.pass(21_000);
    assert!((1..=42).contains(&tries.len()), "{:?}", tries.all());
}

#[test]
fn waiters_do_not_all_try_in_the_tick_when_traffic_begins_to_return() {
    #[derive(Default)]
    struct Rejections {
        watch: Watch<32>,
        times: Times,
    }
    impl Observer for Rejections {
        fn transition(&self, transition: &Transition) {
            self.watch.transition(transition);
        }
        fn rejected(&self, _: Rejected) {
            self.times.mark();
        }
        fn wake_on_change(&self, waker: &Waker) -> bool {
            self.watch.wake_on_change(waker)
        }
    }
    let breaker = Breaker::builder(GRADUAL, EmbassyClock)
        .observer(Rejections::default())
        .build();
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..32 {
        sim.spawn(async {
            breaker.acquire_when_ready().await.success();
        });
    }
    sim.pass(5_000);
    let tries = &breaker.observer().times;
    assert!(tries.len() > 50, "{:?}", tries.all());
    assert!(tries.most_within(10) <= 12, "{:?}", tries.all());
}

#[test]
fn a_caller_who_never_waited_tries_at_once() {
    let rules = RULES.gradual_return(100, Duration::from_secs(20));
    let watch = Watch::<1>::new();
    let breaker = watched(rules, &watch);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Returning);
    let took = sim.run(async {
        breaker.acquire_when_ready().await.success();
    });
    assert_eq!(took, 0);
}

#[test]
fn a_retry_pauses_as_its_policy_says_while_traffic_returns() {
    let rules = RULES.gradual_return(100, Duration::from_secs(20));
    let watch = Watch::<1>::new();
    let breaker = watched(rules, &watch);
    let tries = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    breaker.acquire().unwrap().success();
    let took = sim.run(async {
        let third_time_lucky = async || {
            tries.mark();
            if tries.len() < 3 { Err(()) } else { Ok(()) }
        };
        assert_eq!(breaker.retry(Retry::new(), third_time_lucky).await, Ok(()));
    });
    assert_eq!(breaker.state(), State::Returning);
    assert!((150..=300).contains(&took), "{took}");
}
