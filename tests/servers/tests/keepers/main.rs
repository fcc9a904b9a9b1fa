// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every observer that keeps the last state shows the state in the word: after a quiet month, a step of the clock, a
//! delayed thread, and changes made elsewhere.
#![cfg(target_pointer_width = "64")]

mod last_failure;

use std::cell::Cell;
use std::time::Duration;

use atomic_breaker::{
    AnyBreaker, Breaker, Clock, Config, ManualClock, Observer, OnTransition, State, Transition,
    word::{AtomicU32, AtomicU64, Word},
};
use atomic_breaker_observe::{Metrics, publish};
use atomic_breaker_server::StateWatch;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use metrics_exporter_prometheus::PrometheusBuilder;

/// Keeps a state, and shows it.
trait Keeper: Observer {
    /// The number of rounds: enough to pass the epochs of both kinds of word at which the observer keeps a transition.
    const ROUNDS: u32 = 600;
    /// The number of transitions that are made elsewhere: around those that look like none to one of the words, 16 and
    /// 512.
    fn elsewhere() -> Vec<u32> {
        (0..40).chain(500..530).collect()
    }
    fn new() -> Self;
    fn shown(&self) -> State;
}

impl Keeper for StateWatch {
    fn new() -> Self {
        Self::new()
    }

    fn shown(&self) -> State {
        self.last().map_or(State::Closed, |last| last.to)
    }
}

type OnEmbassy = atomic_breaker_embassy::StateWatch<CriticalSectionRawMutex, 1>;

impl Keeper for OnEmbassy {
    fn new() -> Self {
        Self::new()
    }

    fn shown(&self) -> State {
        self.last().map_or(State::Closed, |last| last.to)
    }
}

/// The state gauge of one breaker.
struct Gauge {
    metrics: Metrics,
    name: String,
}

impl Observer for Gauge {
    fn transition(&self, transition: &Transition) {
        self.metrics.transition(transition);
    }

    fn changed(&self, transition: &Transition, present: atomic_breaker::Present<'_>) {
        self.metrics.changed(transition, present);
    }
}

impl Keeper for Gauge {
    const ROUNDS: u32 = 5;
    /// Each takes a page of all gauges.
    fn elsewhere() -> Vec<u32> {
        vec![0, 1, 2, 14, 15, 16, 17, 31, 32, 510, 511, 512, 513]
    }

    fn new() -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("gauge {number}");
        Self {
            metrics: Metrics::new(&name),
            name,
        }
    }

    fn shown(&self) -> State {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, publish);
        let page = recorder.handle().render();
        let labels = format!("circuit_breaker_name=\"{}\"", self.name);
        let shown = page.lines().find(|line| {
            line.starts_with("circuit_breaker_breakers")
                && line.contains(&labels)
                && line.ends_with("} 1")
        });
        let shown = shown.unwrap_or_else(|| panic!("no state: {page}"));
        let is_shown = |state: &&State| shown.contains(&format!("state=\"{}\"", label(**state)));
        *State::ALL.iter().find(is_shown).unwrap()
    }
}

/// The state as the label names it.
fn label(state: State) -> String {
    state.name().replace([' ', '-'], "_")
}

const DAY: Duration = Duration::from_secs(24 * 3_600);
const SECOND: Duration = Duration::from_secs(1);

/// Makes the next transition of a breaker, a trip or a reset, and returns the state that is shown afterwards.
fn next<K: Keeper>(breaker: &impl AnyBreaker<Observer = impl Observer>, keeper: &K) {
    let breaker = breaker.as_breaker();
    match breaker.state() {
        State::Closed => breaker.trip(),
        _ => breaker.reset(),
    };
    assert_eq!(keeper.shown(), breaker.state());
}

fn after_a_quiet_month<K: Keeper>() {
    let (clock, keeper) = (ManualClock::new(), K::new());
    let breaker = Breaker::builder(Config::new(), &clock)
        .observer(&keeper)
        .build();
    for days in [20, 25, 30, 40, 49, 50, 70] {
        for _ in 0..2 {
            next(&breaker, &keeper);
            clock.advance(DAY * days);
        }
    }
}

fn after_a_step_back_of_the_clock<K: Keeper>() {
    let (clock, keeper) = (ManualClock::starting_at(100_000), K::new());
    let breaker = Breaker::builder(Config::new(), &clock)
        .observer(&keeper)
        .build();
    for back in [1, 2, 60] {
        for _ in 0..2 {
            next(&breaker, &keeper);
            clock.step_back(SECOND * back);
        }
    }
}

/// A thread is delayed before it notifies: another caller makes a transition and notifies meanwhile.
fn after_a_late_notice<K: Keeper, W: Word + Default>() {
    for held_up in [Duration::ZERO, SECOND * 2, DAY * 30] {
        let (clock, keeper, word) = (ManualClock::new(), K::new(), W::default());
        let other = Breaker::builder(Config::new(), &clock)
            .word(&word)
            .observer(&keeper)
            .build();
        let is_held_up = Cell::new(true);
        let while_held_up = OnTransition(|_: &Transition| {
            if is_held_up.replace(false) {
                clock.advance(held_up);
                other.reset();
            }
        });
        let breaker = Breaker::builder(Config::new(), &clock)
            .word(&word)
            .observer((while_held_up, &keeper))
            .build();
        for _ in 0..K::ROUNDS {
            is_held_up.set(true);
            breaker.trip();
            assert_eq!(
                (breaker.state(), keeper.shown()),
                (State::Closed, State::Closed)
            );
        }
    }
}

/// A clock that delays its n-th reader while others go on.
struct HeldUp<'a, F> {
    clock: &'a ManualClock,
    readings: Cell<u32>,
    meanwhile: F,
}

impl<F: Fn()> Clock for HeldUp<'_, F> {
    fn now_ms(&self) -> u32 {
        self.readings.set(self.readings.get().wrapping_sub(1));
        if self.readings.get() == 0 {
            (self.meanwhile)();
        }
        self.clock.now_ms()
    }
}

/// A thread is delayed when it reads the clock, before or after its exchange.
fn after_a_late_reading<K: Keeper>() {
    for reading in 1..3 {
        let (clock, keeper, word) = (ManualClock::new(), K::new(), AtomicU64::new(0));
        let other = Breaker::builder(Config::new(), &clock)
            .word(&word)
            .observer(&keeper)
            .build();
        let held_up = HeldUp {
            clock: &clock,
            readings: Cell::new(reading),
            meanwhile: || {
                other.release();
                clock.advance(SECOND * 2);
            },
        };
        let breaker = Breaker::builder(Config::new(), held_up)
            .word(&word)
            .observer(&keeper)
            .build();
        breaker.force_open();
        assert_eq!(
            keeper.shown(),
            breaker.state(),
            "held up in reading {reading}"
        );
    }
}

/// Another breaker over the same word makes this many transitions, and this one makes the last.
fn after_changes_elsewhere<K: Keeper, W: Word + Default>() {
    for elsewhere in K::elsewhere() {
        let (clock, keeper, word) = (ManualClock::new(), K::new(), W::default());
        let here = Breaker::builder(Config::new(), &clock)
            .word(&word)
            .observer(&keeper)
            .build();
        let of_others = Breaker::over(&word, Config::new(), &clock);
        next(&here, &keeper);
        for _ in 0..elsewhere {
            of_others.reset();
        }
        next(&here, &keeper);
        of_others.force_open();
        next(&here, &keeper);
    }
}

macro_rules! keepers {
    ($($keeper:ident: $kept:ty),*) => {$(
        mod $keeper {
            use super::*;

            #[test]
            fn shows_the_word_after_a_quiet_month() {
                after_a_quiet_month::<$kept>();
            }

            #[test]
            fn shows_the_word_after_a_step_back_of_the_clock() {
                after_a_step_back_of_the_clock::<$kept>();
            }

            #[test]
            fn shows_the_word_after_a_thread_was_held_up() {
                after_a_late_notice::<$kept, AtomicU32>();
                after_a_late_notice::<$kept, AtomicU64>();
                after_a_late_reading::<$kept>();
            }

            #[test]
            fn shows_the_word_after_changes_elsewhere() {
                after_changes_elsewhere::<$kept, AtomicU32>();
                after_changes_elsewhere::<$kept, AtomicU64>();
            }
        }
    )*};
}

keepers! {
    watch_on_tokio: StateWatch,
    watch_on_embassy: OnEmbassy,
    gauge: Gauge
}
