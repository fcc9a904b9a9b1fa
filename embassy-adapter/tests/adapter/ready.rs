// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeping until the breaker can admit a call.

use std::cell::Cell;
use std::sync::Arc;

use atomic_breaker_embassy::{Breaker, Permit, State};

use super::sim::{RULES, Sim, Times, Watch, breaker, now, watched};

#[test]
fn a_closed_breaker_is_ready_at_once() {
    let breaker = breaker(RULES);
    assert_eq!(Sim::new().run(breaker.ready()), 0);
}

#[test]
fn a_sleeper_wakes_when_the_time_is_over_and_not_before() {
    let breaker = breaker(RULES);
    let done = Cell::new(0);
    let mut sim = Sim::new();
    breaker.trip();
    let wakes = sim.spawn(async {
        breaker.ready().await;
        done.set(now());
    });
    sim.pass(999);
    assert_eq!((wakes.get(), done.get()), (0, 0), "not once in between");
    sim.pass(200);
    assert!((1_000..=1_125).contains(&done.get()), "{}", done.get());
    assert!(wakes.get() <= 1, "{}", wakes.get());
}

#[test]
fn a_watched_breaker_is_checked_every_ten_seconds_and_another_every_second() {
    let watch = Watch::<1>::new();
    let rules = RULES.open_for(core::time::Duration::from_secs(100));
    let (heard, unheard) = (watched(rules, &watch), breaker(rules));
    let mut sim = Sim::new();
    heard.trip();
    unheard.trip();
    let heard = sim.spawn(async { heard.ready().await });
    let unheard = sim.spawn(async { unheard.ready().await });
    sim.pass(60_500);
    assert_eq!((heard.get(), unheard.get()), (6, 60));
}

#[test]
fn sleepers_pass_one_probe_at_a_time() {
    let watch = Watch::<4>::new();
    let breaker = watched(RULES, &watch);
    let (inside, most, done) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..4 {
        sim.spawn(async {
            let permit = breaker.acquire_when_ready().await;
            inside.set(inside.get() + 1);
            most.set(most.get().max(inside.get()));
            let was_probe = permit.is_probe();
            embassy_time::Timer::after_millis(300).await;
            if was_probe {
                assert_eq!(inside.get(), 1, "no other call beside the probe");
            }
            inside.set(inside.get() - 1);
            permit.success();
            done.set(done.get() + 1);
        });
    }
    sim.pass(1_200);
    assert_eq!((inside.get(), breaker.state()), (1, State::HalfOpen));
    sim.pass(2_000);
    assert_eq!((done.get(), breaker.state()), (4, State::Closed));
    assert!(most.get() > 1, "closed, they may meet");
}

#[test]
fn with_a_watch_a_sleeper_wakes_when_the_breaker_closes_early() {
    let watch = Watch::<1>::new();
    let breaker = watched(RULES, &watch);
    let done = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        breaker.ready().await;
        done.mark();
    });
    sim.pass(300);
    breaker.reset();
    sim.pass(60);
    let done = done.all();
    assert!((300..=338).contains(&done[0]), "{done:?}");
}

#[test]
fn without_a_watch_a_breaker_that_closes_early_is_noticed_within_a_second() {
    let breaker = breaker(RULES.open_for(core::time::Duration::from_secs(600)));
    let done = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        breaker.ready().await;
        done.mark();
    });
    sim.pass(60_300);
    breaker.reset();
    sim.pass(2_000);
    let done = done.all();
    assert!((60_300..=62_000).contains(&done[0]), "{done:?}");
}

#[test]
fn sleepers_beyond_the_places_of_a_watch_poll_by_themselves() {
    let watch = Watch::<1>::new();
    let breaker = watched(RULES.open_for(core::time::Duration::from_secs(600)), &watch);
    let done = Times::default();
    let mut sim = Sim::new();
    breaker.trip();
    let mut sleeper = || {
        sim.spawn(async {
            breaker.ready().await;
            done.mark();
        })
    };
    let (heard, unheard) = (sleeper(), sleeper());
    sim.pass(8_100);
    assert_eq!((heard.get(), unheard.get()), (0, 8));
    breaker.reset();
    sim.pass(1);
    assert_eq!((heard.get(), unheard.get()), (1, 8));
    sim.pass(2_000);
    assert_eq!(done.len(), 2);
}

#[test]
fn sleepers_leave_the_receivers_of_a_watch_to_the_application() {
    let watch = Watch::<8>::new();
    let breaker = watched(RULES, &watch);
    let mut sim = Sim::new();
    breaker.force_open();
    for _ in 0..16 {
        sim.spawn(async { breaker.ready().await });
    }
    assert!(watch.subscribe().is_some());
}

#[test]
fn a_sleeper_checks_a_forced_open_breaker_every_ten_seconds() {
    let watch = Watch::<1>::new();
    let breaker = watched(RULES, &watch);
    let done = Cell::new(false);
    let mut sim = Sim::new();
    breaker.force_open();
    let wakes = sim.spawn(async {
        breaker.ready().await;
        done.set(true);
    });
    sim.pass(60_500);
    assert_eq!((wakes.get(), done.get()), (6, false));
    breaker.release();
    sim.pass(1_001);
    assert!(done.get());
}

#[test]
fn without_a_watch_it_checks_a_forced_open_breaker_once_a_second() {
    let breaker = breaker(RULES);
    let done = Cell::new(false);
    let mut sim = Sim::new();
    breaker.force_open();
    let wakes = sim.spawn(async {
        breaker.ready().await;
        done.set(true);
    });
    sim.pass(10_500);
    assert_eq!((wakes.get(), done.get()), (10, false));
    breaker.release();
    sim.pass(2_000);
    assert!(done.get());
}

#[test]
fn a_dropped_wait_leaves_nothing_behind() {
    let watch = Watch::<4>::new();
    let breaker = watched(RULES, &watch);
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..100 {
        sim.spawn(async {
            let _permit = breaker.acquire_when_ready().await;
        });
        sim.drop_last();
    }
    sim.pass(1_000);
    assert!(breaker.acquire().is_ok_and(|permit| permit.is_probe()));
}

#[test]
fn an_acquired_permit_can_be_owned() {
    #[derive(Clone)]
    struct Handle(Arc<Breaker>);
    impl atomic_breaker_embassy::AnyBreaker for Handle {
        type Clock = atomic_breaker_embassy::EmbassyClock;
        type Word = atomic_breaker_embassy::word::NativeWord;
        type Tally = ();
        type Observer = ();
        type Rules = atomic_breaker_embassy::Rules;
        fn as_breaker(&self) -> &Breaker {
            &self.0
        }
    }
    let breaker = Handle(Arc::new(breaker(RULES)));
    let permit = Cell::new(None::<Permit<Handle>>);
    let mut sim = Sim::new();
    breaker.0.trip();
    sim.run(async { permit.set(Some(Permit::acquire_when_ready(breaker.clone()).await)) });
    drop(sim);
    let watcher = breaker.0.clone();
    drop(breaker);
    permit.take().unwrap().success();
    assert_eq!(watcher.state(), State::Closed);
}
