//! Sleeping until the breaker can admit a call.

use std::cell::{Cell, RefCell};

use atomic_breaker_embassy::{
    Breaker, BreakerExt, Changes, EmbassyClock, Observer, State, StateWatch, Watching,
    word::NativeWord,
};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Instant;

use super::sim::{RULES, Sim, breaker};

type Watch<const N: usize> = StateWatch<CriticalSectionRawMutex, N>;
type Watched<'a, const N: usize> = Breaker<NativeWord, (), &'a Watch<N>>;

fn watched<const N: usize>(watch: &Watch<N>) -> Watched<'_, N> {
    Breaker::from_parts(NativeWord::new(0), RULES, EmbassyClock, (), watch)
}

fn now() -> u64 {
    Instant::now().as_millis()
}

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
    assert!(wakes.get() <= 2, "{}", wakes.get());
}

#[test]
fn sleepers_come_back_spread_over_an_eighth_of_the_time() {
    let breaker = breaker(RULES);
    let times = RefCell::new(Vec::new());
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..6 {
        sim.spawn(async {
            breaker.ready().await;
            times.borrow_mut().push(now());
        });
    }
    sim.pass(1_200);
    let mut times = times.take();
    assert_eq!(times.len(), 6);
    assert!(times.iter().all(|time| (1_000..=1_125).contains(time)));
    times.dedup();
    assert_eq!(times.len(), 6, "no two in the same millisecond: {times:?}");
}

#[test]
fn sleepers_get_through_one_probe_at_a_time() {
    let watch = Watch::<4>::new();
    let breaker = watched(&watch);
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
                assert_eq!(inside.get(), 1, "nobody beside the probe");
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
    let breaker = watched(&watch);
    let done = Cell::new(0);
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        breaker.ready().await;
        done.set(now());
    });
    sim.pass(300);
    breaker.reset();
    sim.pass(126);
    assert!((300..=425).contains(&done.get()), "{}", done.get());
}

#[test]
fn without_a_watch_a_sleeper_sleeps_to_the_end() {
    let breaker = breaker(RULES);
    let done = Cell::new(0);
    let mut sim = Sim::new();
    breaker.trip();
    sim.spawn(async {
        breaker.ready().await;
        done.set(now());
    });
    sim.pass(300);
    breaker.reset();
    sim.pass(699);
    assert_eq!(done.get(), 0);
    sim.pass(130);
    assert!(done.get() >= 1_000);
}

#[test]
fn more_sleepers_than_receivers_fall_back_to_the_time() {
    let watch = Watch::<1>::new();
    let breaker = watched(&watch);
    let done = Cell::new(0);
    let mut sim = Sim::new();
    breaker.trip();
    for _ in 0..2 {
        sim.spawn(async {
            breaker.ready().await;
            done.set(done.get() + 1);
        });
    }
    breaker.reset();
    sim.pass(130);
    assert_eq!(done.get(), 1);
    sim.pass(1_000);
    assert_eq!(done.get(), 2);
}

#[test]
fn after_a_long_sleep_the_spread_is_a_second_at_most() {
    let watch = Watch::<6>::new();
    let breaker = watched(&watch);
    let done = Cell::new(0);
    let mut sim = Sim::new();
    breaker.force_open();
    for _ in 0..6 {
        sim.spawn(async {
            breaker.ready().await;
            done.set(done.get() + 1);
        });
    }
    sim.pass(60_000);
    breaker.reset();
    sim.pass(300);
    assert!((1..=3).contains(&done.get()), "{}", done.get());
    sim.pass(701);
    assert_eq!(done.get(), 6);
}

#[test]
fn forced_open_is_slept_through_until_the_watch_tells_of_its_end() {
    let watch = Watch::<1>::new();
    let breaker = watched(&watch);
    let done = Cell::new(false);
    let mut sim = Sim::new();
    breaker.force_open();
    let wakes = sim.spawn(async {
        breaker.ready().await;
        done.set(true);
    });
    sim.pass(60_000);
    assert_eq!((wakes.get(), done.get()), (0, false));
    breaker.release();
    sim.pass(1_001);
    assert!(done.get());
}

#[test]
fn forced_open_is_looked_at_once_a_second_without_a_watch() {
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
    sim.pass(1_200);
    assert!(done.get());
}

/// Closes the breaker in the very moment in which somebody begins to listen.
struct Meddler<'a> {
    watch: Watch<1>,
    other: Breaker<&'a NativeWord>,
}

impl Observer for Meddler<'_> {}

impl Changes for Meddler<'_> {
    type Listener<'b>
        = Watching<'b, CriticalSectionRawMutex, 1>
    where
        Self: 'b;

    fn listen(&self) -> Self::Listener<'_> {
        self.other.reset();
        self.watch.listen()
    }
}

#[test]
fn a_change_just_before_the_sleep_is_not_missed() {
    let word = NativeWord::new(0);
    let meddler = Meddler {
        watch: Watch::new(),
        other: Breaker::over(&word, RULES, EmbassyClock),
    };
    let breaker: Breaker<&NativeWord, (), _> =
        Breaker::from_parts(&word, RULES, EmbassyClock, (), meddler);
    let mut sim = Sim::new();
    breaker.trip();
    assert_eq!(sim.run(breaker.ready()), 0);
}
