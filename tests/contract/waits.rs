// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting by a timer that skips its sleeps, to the millisecond; and what can be awaited.

use std::cell::RefCell;
use std::future::{Ready, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use atomic_breaker::wait::{Awaited, Timer, WithTimer, admitted};
use atomic_breaker::word::NativeWord;
use atomic_breaker::{Breaker, Clock, Config, ManualClock, Snapshot, State};

use super::support::{AnyWord, breaker, fail, ms, on_both_words, rules};

/// A timer whose sleeps are over at once: they advance the clock.
pub(super) struct Skips<'a> {
    clock: &'a ManualClock,
    pub(super) asked: RefCell<Vec<u64>>,
    /// The act of the others after so many sleeps.
    others: &'a dyn Fn(usize),
}

impl<'a> Skips<'a> {
    pub(super) fn new(clock: &'a ManualClock, others: &'a dyn Fn(usize)) -> Self {
        Self {
            clock,
            asked: RefCell::default(),
            others,
        }
    }
}

impl Timer for Skips<'_> {
    type Sleep = Ready<()>;

    fn now_ms(&self) -> u64 {
        self.clock.now_ms().into()
    }

    fn sleep(&self, time: u64) -> Ready<()> {
        self.asked.borrow_mut().push(time);
        let asked = self.asked.borrow().len();
        assert!(asked < 1_000, "it never ends");
        self.clock.advance(ms(time));
        (self.others)(asked);
        ready(())
    }
}

/// Runs a future whose sleeps are skipped.
pub(super) fn run<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("no sleep lasts"),
    }
}

pub(super) type Waiting<'a> = Breaker<WithTimer<&'a ManualClock, &'a Skips<'a>>, &'a NativeWord>;

pub(super) fn waiting<'a>(word: &'a NativeWord, timer: &'a Skips<'a>) -> Waiting<'a> {
    waiting_by(
        rules().consecutive_failures(9).open_for(ms(800)),
        word,
        timer,
    )
}

pub(super) fn waiting_by<'a>(
    rules: Config,
    word: &'a NativeWord,
    timer: &'a Skips<'a>,
) -> Waiting<'a> {
    let clock = timer.clock;
    Breaker::over(word, rules, WithTimer { clock, timer })
}

/// Its own share was in the sleep already: another one would keep it away for up to a quarter of the time.
#[test]
fn a_waiter_is_spread_once_if_the_breaker_has_closed_by_its_time() {
    for _ in 0..32 {
        let (clock, word) = (ManualClock::new(), NativeWord::new(0));
        let other = Breaker::over(&word, rules(), &clock);
        let probes = |_| {
            if let Ok(permit) = other.acquire() {
                permit.success();
            }
        };
        let timer = Skips::new(&clock, &probes);
        let breaker = waiting(&word, &timer);
        breaker.trip();
        run(breaker.ready());
        assert_eq!(breaker.state(), State::Closed);
        let asked = timer.asked.take();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!((800..=900).contains(&asked[0]), "{asked:?}");
    }
}

#[test]
fn a_waiter_does_not_try_early_if_traffic_begins_to_return_anew() {
    let (clock, word) = (ManualClock::new(), NativeWord::new(0));
    let rules = rules().gradual_return(10, ms(8_000));
    let other = Breaker::over(&word, rules, &clock);
    let returns = || {
        other.trip();
        other.probe_now();
        other.acquire().unwrap().success();
        assert_eq!(other.state(), State::Returning);
    };
    let once_more = |asked| {
        if asked == 1 {
            returns();
        }
    };
    let timer = Skips::new(&clock, &once_more);
    let (clock, timer) = (&clock, &timer);
    let breaker = Breaker::over(&word, rules, WithTimer { clock, timer });
    returns();
    run(breaker.ready());
    let asked = timer.asked.take();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let is_half_to_whole = |time: &u64| (500..=1_000).contains(time);
    assert!(asked.iter().all(is_half_to_whole), "{asked:?}");
}

/// A caller's own way to a breaker, which says no more than it must.
struct Way<'a>(&'a Breaker<&'a ManualClock>);

impl Awaited for Way<'_> {
    type Epoch = u16;

    fn epoch(&self) -> u16 {
        self.0.snapshot().epoch()
    }

    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }
}

#[test]
fn a_way_of_its_own_to_a_breaker_is_looked_at_each_second() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new(), &clock);
    let releases = |asked| {
        if asked == 3 {
            breaker.release();
        }
    };
    let timer = Skips::new(&clock, &releases);
    breaker.force_open();
    let way = Way(&breaker);
    assert_eq!(way.entropy(), 0, "programs differ only if they say so");
    let admit = || breaker.acquire().ok().map(drop);
    run(admitted(&way, &timer, admit));
    let asked = timer.asked.take();
    // The last one is its share of a second, after everyone else was away as long.
    assert_eq!(asked[..3], [1_000; 3], "{asked:?}");
    assert!(asked.len() <= 4, "{asked:?}");
}

#[test]
fn the_entropy_of_a_breaker_that_is_awaited_is_that_of_its_clock() {
    struct Device;

    impl Clock for Device {
        fn now_ms(&self) -> u32 {
            0
        }

        fn entropy(&self) -> u32 {
            77
        }
    }

    assert_eq!(Awaited::entropy(&Breaker::new(Config::new(), Device)), 77);
}

fn the_epoch_of_a_breaker_that_is_awaited_changes_with_its_transitions_alone<W: AnyWord>() {
    let clock = ManualClock::starting_at(700);
    let rules = rules()
        .failures_within(9, ms(50))
        .open_for(ms(10))
        .probes(2);
    let breaker = breaker::<W>(rules.close_after(2), &clock);
    let epoch = || Awaited::epoch(&breaker);
    let closed = epoch();
    fail(&breaker, 3);
    assert!(epoch() == closed, "failures and a window");
    breaker.trip();
    let open = epoch();
    assert!(open != closed);
    clock.advance(ms(10));
    let [one, _other] = [(); 2].map(|()| breaker.acquire().unwrap());
    let half_open = epoch();
    assert!(half_open != open);
    one.success();
    assert!(epoch() == half_open, "slots and successes");
    breaker.reset();
    assert!(epoch() != half_open && epoch() != closed);
    let fresh = epoch();
    breaker.force_open();
    breaker.release();
    assert!(epoch() != fresh, "only the epoch differs");
}

on_both_words!(the_epoch_of_a_breaker_that_is_awaited_changes_with_its_transitions_alone);
