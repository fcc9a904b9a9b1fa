// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that are shared, and rules that are replaced while running, over the same word.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use atomic_breaker::word::{AtomicU32, Bits, NativeWord, TickBits, Ticks};
use atomic_breaker::{
    AsRules, Breaker, Cause, Config, LastCalls, ManualClock, Ratio, Rules, State, TripRule, Wait,
};

use super::support::{AnyWord, Diary, breaker, checked, fail, ms, on_both_words, rules};

#[test]
fn a_thousand_words_share_one_set_of_rules() {
    static RULES: Rules = Rules::new(Config::new().consecutive_failures(3));
    let words: Vec<_> = (0..1_000).map(|_| NativeWord::new(0)).collect();
    let clock = ManualClock::new();
    let of = |tenant: usize| Breaker::from_parts(&words[tenant], &RULES, &clock, (), ());
    for tenant in (0..1_000).step_by(7) {
        fail(&of(tenant), 3);
    }
    for tenant in 0..1_000 {
        assert_eq!(of(tenant).acquire().is_err(), tenant % 7 == 0, "{tenant}");
    }
}

#[test]
fn rules_can_be_kept_anywhere() {
    fn trips_at_two(rules: impl AsRules<u64>) {
        let clock = ManualClock::new();
        let word = NativeWord::new(0);
        let breaker = Breaker::from_parts(&word, rules, &clock, (), ());
        fail(&breaker, 2);
        assert_eq!(breaker.state(), State::Open);
        assert_eq!(breaker.config().trip, TripRule::Consecutive { failures: 2 });
    }
    let rules = Rules::new(Config::new().consecutive_failures(2));
    let reference = &rules;
    trips_at_two(rules);
    trips_at_two(reference);
    trips_at_two(Arc::new(rules));
    trips_at_two(Rc::new(rules));
    trips_at_two(Box::new(rules));
    let dynamic: &dyn AsRules<u64> = &rules;
    trips_at_two(dynamic);
}

#[test]
fn rules_are_checked_for_their_word_when_they_are_made() {
    const PATIENT: Config = Config::new().consecutive_failures(300);
    const WIDE: Rules<u64> = Rules::new(PATIENT);
    assert_eq!(*WIDE.config(), PATIENT);
    let error = Rules::<u32>::try_new(PATIENT).unwrap_err();
    assert!(
        error.to_string().contains("255 in a 32-bit word"),
        "{error}"
    );
    let hours = Config::new().open_for(ms(3 * 3_600_000));
    assert!(Rules::<u32>::try_new(hours).is_err());
    assert!(Rules::<TickBits<10>>::try_new(hours).is_ok());
    let word = Ticks::<_, 10>(AtomicU32::new(0));
    let clock = ManualClock::new();
    let breaker = Breaker::from_parts(&word, Rules::new(hours), &clock, (), ());
    breaker.trip();
    assert!(breaker.snapshot().retry_in() >= Some(ms(3 * 3_600_000)));
}

/// The rules of an operator's console: read for each call, replaced at any time.
#[test]
fn rules_behind_a_lock_are_copied_for_each_call() {
    let clock = ManualClock::new();
    let live = RwLock::new(Rules::new(Config::new().consecutive_failures(9)));
    let breaker = Breaker::new(Config::new(), &clock);
    let call = || {
        let rules = *live.read().unwrap();
        breaker.with_rules(rules).call(|| Err::<(), _>("no"))
    };
    for _ in 0..6 {
        assert!(call().is_err_and(|error| error.rejected().is_none()));
    }
    *live.write().unwrap() = Rules::new(Config::new().consecutive_failures(7));
    assert!(call().is_err_and(|error| error.rejected().is_none()));
    assert_eq!(breaker.state(), State::Open);
    assert!(call().is_err_and(|error| error.rejected().is_some()));
}

/// Rules that an operator switches while calls are under way.
struct Switched<B: Bits> {
    all: Vec<Rules<B>>,
    which: AtomicUsize,
}

impl<B: Bits> Switched<B> {
    fn new(configs: impl IntoIterator<Item = Config>) -> Self {
        Self {
            all: configs.into_iter().map(Rules::new).collect(),
            which: AtomicUsize::new(0),
        }
    }

    fn switch(&self, to: usize) {
        self.which.store(to, Ordering::Relaxed);
    }
}

impl<B: Bits> AsRules<B> for Switched<B> {
    fn as_rules(&self) -> &Rules<B> {
        &self.all[self.which.load(Ordering::Relaxed)]
    }
}

fn switched<'a, W: AnyWord>(
    rules: &'a Switched<W::Bits>,
    clock: &'a ManualClock,
) -> Breaker<&'a ManualClock, W, (), (), &'a Switched<W::Bits>> {
    Breaker::from_parts(W::fresh(), rules, clock, (), ())
}

fn new_rules_apply_from_the_next_event_on<W: AnyWord>() {
    let clock = ManualClock::new();
    let limits = Switched::new([9, 3].map(|limit| rules().consecutive_failures(limit)));
    let breaker = switched::<W>(&limits, &clock);
    fail(&breaker, 4);
    limits.switch(1);
    assert_eq!(breaker.state(), State::Closed, "nothing has happened yet");
    assert!(breaker.acquire().is_ok());
    assert_eq!(breaker.snapshot().failures(), 4);
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

fn a_permit_of_the_old_rules_reports_under_the_new_ones<W: AnyWord>() {
    let clock = ManualClock::new();
    let limits = Switched::new([9, 1].map(|limit| rules().consecutive_failures(limit)));
    let breaker = switched::<W>(&limits, &clock);
    let permit = breaker.acquire().unwrap();
    limits.switch(1);
    let made = permit.failure().map(|made| made.cause);
    assert_eq!(made, Some(Cause::FailureLimit));
}

fn a_running_open_time_stays<W: AnyWord>() {
    let clock = ManualClock::new();
    let times = Switched::new([1_001, 10, 9_000].map(|time| rules().open_for(ms(time))));
    let breaker = switched::<W>(&times, &clock);
    breaker.trip();
    for which in [1, 2] {
        times.switch(which);
        let left = breaker.acquire().unwrap_err().wait();
        assert_eq!(left, Wait::For(ms(1_001)));
    }
    clock.advance(ms(1_001));
    breaker.acquire().unwrap().failure();
    assert_eq!(
        breaker.snapshot().wait(),
        Some(Wait::For(ms(9_000))),
        "the next"
    );
}

fn slow_calls_are_measured_from_the_next_call_on<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let both = Switched::new([rules(), rules().slow_call(ms(10))]);
    let breaker = switched::<W>(&both, &clock);
    let unmeasured = breaker.acquire().unwrap();
    both.switch(1);
    let measured = breaker.acquire().unwrap();
    clock.advance(ms(50));
    unmeasured.success();
    assert_eq!(breaker.snapshot().failures(), 0);
    measured.success();
    assert_eq!(breaker.snapshot().failures(), 1);
    let measured = breaker.acquire().unwrap();
    both.switch(0);
    clock.advance(ms(50));
    measured.cancel();
    assert_eq!(breaker.snapshot().failures(), 1, "not any more");
}

/// Failures in a row have no time: to a window that takes over they happened when the clock read 0.
fn failures_of_a_window_count_on_in_a_row_but_not_the_other_way_round<W: AnyWord>() {
    let clock = ManualClock::starting_at(1_000);
    let row = rules().consecutive_failures(4);
    let window = rules().failures_within(4, ms(100));
    for (one, other, more) in [(row, window, 4), (window, row, 2)] {
        let both = Switched::new([one, other]);
        let breaker = switched::<W>(&both, &clock);
        fail(&breaker, 2);
        both.switch(1);
        assert_eq!((breaker.check(), breaker.state()), (Ok(()), State::Closed));
        assert!(breaker.snapshot().failures() <= 2);
        for _ in 0..more {
            assert_eq!(breaker.state(), State::Closed);
            fail(&breaker, 1);
            assert_eq!(breaker.check(), Ok(()));
        }
        assert_eq!(breaker.state(), State::Open);
        both.switch(0);
        breaker.reset();
        fail(&breaker, 1);
        both.switch(1);
        breaker.acquire().unwrap().success();
        fail(&breaker, 1);
        assert_eq!(breaker.check(), Ok(()));
    }
}

fn a_return_that_the_new_rules_do_not_know_ends_with_the_next_call<W: AnyWord>() {
    let clock = ManualClock::new();
    let both = Switched::new([rules().gradual_return(1, ms(1_000)), rules()]);
    let breaker = switched::<W>(&both, &clock);
    breaker.force_open();
    breaker.release();
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Returning);
    both.switch(1);
    assert_eq!(breaker.state(), State::Returning, "no call was made");
    assert_eq!(breaker.snapshot().wait(), None, "a call would pass");
    assert_eq!(breaker.snapshot().returning_percent(), Some(100));
    assert!(breaker.acquire().is_ok());
    assert_eq!(breaker.state(), State::Closed);
}

fn a_shorter_return_ends_sooner<W: AnyWord>() {
    let clock = ManualClock::new();
    let both = Switched::new([1_000, 10].map(|over| rules().gradual_return(1, ms(over))));
    let breaker = switched::<W>(&both, &clock);
    breaker.force_open();
    breaker.release();
    breaker.acquire().unwrap().success();
    clock.advance(ms(10));
    assert!(breaker.snapshot().wait().is_some());
    both.switch(1);
    assert_eq!(breaker.snapshot().wait(), None);
    assert!(breaker.acquire().is_ok());
    assert_eq!(breaker.state(), State::Closed);
}

fn the_same_breaker_under_other_rules_is_a_view<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let ratio = Ratio::percent(100).of_last(4).min_calls(2);
    let own = Breaker::builder(rules().consecutive_failures(9), &clock)
        .word(W::fresh())
        .last_calls(LastCalls::over(W::fresh()))
        .observer(&diary)
        .build();
    let strict = checked::<W>(rules().consecutive_failures(9).failure_ratio(ratio));
    let view = own.with_rules(&strict);
    let token = view.acquire().unwrap().into_token();
    own.resume(token).failure();
    assert_eq!(view.snapshot().failures(), 1);
    assert_eq!(
        own.tally().seen_and_failed(),
        (0, 0),
        "its rules have no ratio"
    );
    fail(&view, 2);
    assert_eq!(view.tally().seen_and_failed(), (2, 2));
    assert_eq!(own.state(), State::Open);
    assert_eq!(diary.causes(), [Cause::FailureRatio]);
}

#[test]
#[should_panic(expected = "a failure_ratio needs memory for the last calls")]
fn a_view_by_a_ratio_needs_memory_too() {
    let clock = ManualClock::new();
    let plain = Breaker::new(Config::new(), &clock);
    let ratio = Rules::new(Config::new().failure_ratio(Ratio::percent(50)));
    let _ = plain.with_rules(&ratio);
}

/// Other rules over the same word keep the trips in a row.
fn growth_of_new_rules_goes_on_from_the_trips_in_a_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let growing = rules().open_for(ms(10)).exponential(2, ms(80));
    let breaker = breaker::<W>(growing, &clock);
    breaker.trip();
    for expected in [20, 40] {
        clock.advance(breaker.snapshot().retry_in().unwrap());
        breaker.acquire().unwrap().failure();
        assert_eq!(breaker.snapshot().retry_in(), Some(ms(expected)));
    }
    let steps = checked::<W>(rules().open_for(ms(10)).linear(ms(5), ms(30)));
    let view = breaker.with_rules(&steps);
    clock.advance(view.snapshot().retry_in().unwrap());
    view.acquire().unwrap().failure();
    assert_eq!(view.snapshot().trips(), 4);
    assert_eq!(view.snapshot().retry_in(), Some(ms(25)), "10 + 3 · 5");
}

on_both_words!(
    new_rules_apply_from_the_next_event_on,
    a_permit_of_the_old_rules_reports_under_the_new_ones,
    a_running_open_time_stays,
    slow_calls_are_measured_from_the_next_call_on,
    failures_of_a_window_count_on_in_a_row_but_not_the_other_way_round,
    a_return_that_the_new_rules_do_not_know_ends_with_the_next_call,
    a_shorter_return_ends_sooner,
    the_same_breaker_under_other_rules_is_a_view,
    growth_of_new_rules_goes_on_from_the_trips_in_a_row,
);
