// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes made through another breaker over the same word, of which observers here are not notified.

use std::cell::Cell;
use std::future::ready;
use std::task::Waker;

use atomic_breaker_embassy::word::NativeWord;
use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Observer, Prober, Retry, Transition};
use core::time::Duration;

use super::sim::{RULES, Sim, Times, Watch, now};

type Here<'a> = Breaker<EmbassyClock, &'a NativeWord, (), &'a Watch<4>>;
type There<'a> = Breaker<EmbassyClock, &'a NativeWord>;

fn two<'a>(word: &'a NativeWord, watch: &'a Watch<4>, rules: Config) -> (Here<'a>, There<'a>) {
    let here = Breaker::builder(rules, EmbassyClock)
        .word(word)
        .observer(watch)
        .build();
    (here, Breaker::over(word, rules, EmbassyClock))
}

#[test]
fn a_release_elsewhere_is_noticed_within_ten_seconds() {
    let (word, watch) = (NativeWord::new(0), Watch::new());
    let (here, there) = two(&word, &watch, RULES);
    let done = Times::default();
    let mut sim = Sim::new();
    here.force_open();
    sim.spawn(async {
        here.ready().await;
        done.mark();
    });
    sim.pass(3_000_000);
    assert_eq!(done.len(), 0);
    there.release();
    sim.pass(11_001);
    assert_eq!(done.len(), 1, "a look, and the spread");
}

#[test]
fn a_reset_elsewhere_ends_a_long_open_time_within_ten_seconds() {
    let (word, watch) = (NativeWord::new(0), Watch::new());
    let (here, there) = two(&word, &watch, RULES);
    let (slept, tried) = (Times::default(), Times::default());
    let mut sim = Sim::new();
    here.trip_for(Duration::from_secs(3_600));
    sim.spawn(async {
        here.ready().await;
        slept.mark();
    });
    sim.spawn(async {
        let patient = Retry::new()
            .within(Duration::MAX)
            .wait_for_breaker(Duration::MAX);
        let answer = here.retry(patient, || ready(Ok::<_, ()>(()))).await;
        assert_eq!(answer, Ok(()));
        tried.mark();
    });
    sim.pass(100_000);
    there.reset();
    sim.pass(11_001);
    assert_eq!((slept.len(), tried.len()), (1, 1));
}

#[test]
fn a_trip_elsewhere_is_pinged_within_ten_seconds() {
    let (word, watch) = (NativeWord::new(0), Watch::new());
    let (here, there) = two(&word, &watch, RULES.open_for(Duration::from_secs(600)));
    let pings = Times::default();
    let mut sim = Sim::new();
    sim.spawn(async {
        let ping = || {
            pings.mark();
            ready(Ok::<_, ()>(()))
        };
        here.run_prober(Prober::every(Duration::from_millis(100)), ping)
            .await;
    });
    sim.pass(3_000_000);
    there.trip();
    sim.pass(10_200);
    assert_eq!(pings.len(), 1);
    assert!(here.acquire().is_ok_and(|permit| !permit.is_probe()));
}

#[test]
fn the_checks_of_many_sleepers_do_not_end_in_one_rush() {
    let (word, watch) = (NativeWord::new(0), Watch::new());
    let (here, there) = two(&word, &watch, RULES);
    let done = Times::default();
    let mut sim = Sim::new();
    here.force_open();
    for _ in 0..32 {
        sim.spawn(async {
            here.ready().await;
            done.mark();
        });
    }
    sim.pass(60_000);
    there.reset();
    sim.pass(12_000);
    assert_eq!(done.len(), 32);
    assert!(done.most_within(100) <= 8, "{:?}", done.all());
}

/// Closes the breaker at the very moment when a task begins to listen.
struct Meddler<'a> {
    watch: Watch<4>,
    other: There<'a>,
    meddles: Cell<bool>,
}

impl Observer for Meddler<'_> {
    fn transition(&self, transition: &Transition) {
        self.watch.transition(transition);
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        if self.meddles.take() {
            self.other.reset();
        }
        self.watch.wake_on_change(waker)
    }
}

#[test]
fn a_change_just_before_the_sleep_is_not_missed() {
    let word = NativeWord::new(0);
    let meddler = Meddler {
        watch: Watch::new(),
        other: Breaker::over(&word, RULES, EmbassyClock),
        meddles: Cell::new(true),
    };
    let breaker = Breaker::builder(RULES, EmbassyClock)
        .word(&word)
        .observer(meddler)
        .build();
    let mut sim = Sim::new();
    breaker.force_open();
    assert_eq!(sim.run(async { breaker.ready().await }), 0);
    assert_eq!(now(), 0);
}
