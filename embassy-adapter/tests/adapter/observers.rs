// SPDX-License-Identifier: MIT OR Apache-2.0
//! The observers that are notified, and their events.

use std::cell::Cell;
use std::task::Waker;

use atomic_breaker_embassy::word::{AtomicU32, AtomicU64};
use atomic_breaker_embassy::{
    Breaker, Cause, Config, EmbassyClock, EventLog, Observer, Present, State, Transition,
};
use core::time::Duration;

use super::sim::{RULES, Sim, Watch, now, watched};

/// Returns whether a sleeper wakes at once when a breaker with that observer closes.
fn hears(observer: impl Observer) -> bool {
    let breaker = Breaker::builder(RULES.open_for(Duration::from_secs(60)), EmbassyClock)
        .observer(observer)
        .build();
    let done = Cell::new(0);
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        breaker.ready().await;
        done.set(now());
    });
    sim.pass(100);
    breaker.reset();
    sim.pass(20);
    done.get() > 0
}

#[test]
fn a_watch_is_notified_in_either_place_of_a_pair_and_behind_every_pointer() {
    let (watch, log) = (Watch::<2>::new(), EventLog::<4>::new());
    assert!(hears(&watch));
    assert!(hears((&watch, &log)));
    assert!(hears((&log, &watch)));
    assert!(hears(((&log, Some(&watch)), ())));
    assert!(!hears((&log, ())));
    assert!(!hears(None::<&Watch<2>>));
}

/// An observer of one's own that knows a watch, and forwards only the transitions themselves.
struct Forwarding<'a>(&'a Watch<2>);

impl Observer for Forwarding<'_> {
    fn transition(&self, transition: &Transition) {
        self.0.transition(transition);
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.0.wake_on_change(waker)
    }
}

#[test]
fn a_watch_that_is_handed_transitions_alone_shows_the_last_one_and_wakes() {
    let watch = Watch::<2>::new();
    assert!(hears(Forwarding(&watch)));
    assert_eq!(watch.last().map(|last| last.to), Some(State::Closed));
}

#[test]
fn what_is_printed_of_a_watch_is_its_last_transition() {
    let _time = Sim::new();
    let watch = Watch::<1>::new();
    assert_eq!(format!("{watch:?}"), "StateWatch { last: None, .. }");
    let tripped = watched(RULES, &watch).trip();
    assert_eq!(
        format!("{watch:?}"),
        format!("StateWatch {{ last: {tripped:?}, .. }}")
    );
}

/// A transition of that epoch.
fn reported(epoch: u16) -> Transition {
    let mut transition = Transition::new(State::Closed, State::Open, Cause::Manual);
    transition.epoch = epoch;
    transition
}

/// An observer whose report is interrupted by a reset of the breaker.
struct Interrupted<'a, W: atomic_breaker_embassy::word::Word> {
    watch: Watch<1>,
    other: Breaker<EmbassyClock, &'a W>,
    is_late: Cell<bool>,
}

impl<W: atomic_breaker_embassy::word::Word> Observer for Interrupted<'_, W> {
    fn changed(&self, transition: &Transition, present: Present<'_>) {
        if self.is_late.take() {
            let newer = self.other.reset().unwrap();
            self.watch.changed(&newer, self.other.present());
        }
        self.watch.changed(transition, present);
    }
}

#[test]
fn a_watch_shows_the_state_of_the_word_when_an_interrupt_comes_before_the_report() {
    fn shows<W: atomic_breaker_embassy::word::Word>(word: &W) {
        let breaker = Breaker::builder(Config::new(), EmbassyClock)
            .word(word)
            .observer(Interrupted {
                watch: Watch::new(),
                other: Breaker::over(word, Config::new(), EmbassyClock),
                is_late: Cell::new(false),
            })
            .build();
        let observer = breaker.observer();
        for _ in 0..1_100 {
            observer.is_late.set(true);
            breaker.trip();
            assert_eq!(breaker.state(), State::Closed);
            assert_eq!(
                observer.watch.last().map(|last| last.to),
                Some(State::Closed)
            );
        }
    }
    let _time = Sim::new();
    shows(&AtomicU32::new(0));
    shows(&AtomicU64::new(0));
}

#[test]
fn a_late_report_does_not_keep_a_sleeper_from_waking() {
    let watch = Watch::<2>::new();
    let breaker = watched(RULES.open_for(Duration::from_secs(60)), &watch);
    let done = Cell::new(false);
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        breaker.ready().await;
        done.set(true);
    });
    sim.pass(100);
    // A report of something that the sleeper has already seen.
    watch.changed(&reported(1), breaker.present());
    sim.pass(100);
    breaker.reset();
    sim.pass(30);
    assert!(done.get());
}
