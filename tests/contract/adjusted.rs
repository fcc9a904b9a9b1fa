// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules of one breaker that are set while it is in use.

use std::cell::Cell;

use atomic_breaker::word::{AtomicU64, Bits, Word};
use atomic_breaker::{
    Adjust, Adjustable, Breaker, Cause, Config, ConfigError, LastCalls, LaterRules, ManualClock,
    Ratio, Rules, State, TripRule, Wait,
};
use atomic_breaker_std::{AdjustableBreaker, KeptRules, adjustable_breaker};
use tests::words::Counting;

use super::support::{AnyWord, Fine, NoClock, checked, fail, ms, on_both_words, rules};

type Kept<'a, W, T = ()> = AdjustableBreaker<&'a ManualClock, W, T>;
type By<'a, W> = Breaker<
    &'a ManualClock,
    W,
    LastCalls<W>,
    (),
    Adjustable<Restless<<W as Word>::Bits>, <W as Word>::Bits>,
>;

fn adjustable<W: AnyWord>(config: Config, clock: &ManualClock) -> Kept<'_, W> {
    let builder = Breaker::builder(config, clock).word(W::fresh());
    builder.build_adjustable(KeptRules::new())
}

fn rules_that_are_set_apply_from_the_next_event_on<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = adjustable::<W>(rules().consecutive_failures(9).open_for(ms(1_001)), &clock);
    fail(&breaker, 4);
    let permit = breaker.acquire().unwrap();
    let stricter = rules().consecutive_failures(3).open_for(ms(10));
    assert_eq!(breaker.set_config(stricter), Ok(()));
    assert_eq!(*breaker.config(), stricter);
    assert_eq!(
        (breaker.state(), breaker.snapshot().failures()),
        (State::Closed, 4)
    );
    assert_eq!(
        permit.failure().map(|made| made.open_for()),
        Some(Some(ms(10)))
    );

    // A running open time does not change with the rules.
    breaker.set_config(rules().open_for(ms(5_000))).unwrap();
    assert_eq!(breaker.acquire().unwrap_err().wait(), Wait::For(ms(10)));
    clock.advance(ms(10));
    assert!(breaker.acquire().unwrap().failure().is_some());
    assert_eq!(breaker.snapshot().wait(), Some(Wait::For(ms(5_000))));
}

/// Checks the words of an error, and that nothing has changed.
#[track_caller]
fn refused<W: AnyWord>(breaker: &Kept<'_, W, LastCalls<W>>, config: Config, words: &str) {
    let before = *breaker.config();
    let error = breaker.set_config(config).unwrap_err();
    assert!(error.to_string().contains(words), "{error}");
    let checked = breaker.check_config(config).unwrap_err();
    assert_eq!(error, checked);
    assert_eq!(*breaker.config(), before);
}

fn rules_that_do_not_fit_the_word_or_the_tally_change_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().failure_ratio(Ratio::percent(50).of_last(20));
    let breaker = Breaker::builder(config, &clock)
        .word(W::fresh())
        .last_calls(LastCalls::over(W::fresh()))
        .build_adjustable(KeptRules::new());
    refused(&breaker, rules().probes(0), "set at least 1");
    refused(
        &breaker,
        rules().consecutive_failures(70_000),
        "lower the limit",
    );
    refused(&breaker, rules().tally_only(), "never trips");
    let of_60 = Ratio::percent(50).of_last(60);
    refused(
        &breaker,
        rules().failure_ratio(of_60),
        "remembers fewer calls",
    );
    let lately = Ratio::percent(50).within(ms(1_000));
    refused(&breaker, rules().failure_ratio(lately), "SlidingRatio");
    assert_eq!(breaker.check_config(rules()), Ok(()));
    assert_eq!(*breaker.config(), config, "only checked");

    let plain = adjustable::<W>(rules(), &clock);
    let error = plain.set_config(config).unwrap_err();
    assert!(error.to_string().contains("last_calls"), "{error}");
    assert_eq!(*plain.config(), rules());
}

#[test]
fn an_adjustable_breaker_is_checked_when_it_is_built() {
    let clock = ManualClock::new();
    let ratio = rules().failure_ratio(Ratio::percent(50));
    let build = |config| Breaker::builder(config, &clock).try_build_adjustable(KeptRules::new());
    assert!(build(ratio).unwrap_err().to_string().contains("last_calls"));
    assert!(build(rules()).is_ok());
    assert!(build(rules().probes(0)).is_err());
    let panic = std::panic::catch_unwind(|| adjustable_breaker(Config::new().probes(0)));
    assert!(panic.is_err());
}

#[test]
fn rules_that_cannot_be_kept_change_nothing_and_say_what_to_do() {
    let clock = ManualClock::new();
    let full = Restless {
        both: [1, 2].map(|limit| Rules::new(rules().consecutive_failures(limit))),
        left: Cell::new(0),
    };
    let breaker = Breaker::builder(rules(), &clock).build_adjustable(full);
    let error = breaker.set_config(rules()).unwrap_err();
    assert_eq!(error, ConfigError::TOO_MANY_RULES);
    assert!(error.to_string().contains("set rules that were set before"));
}

#[test]
fn breakers_of_any_parts_are_adjusted_through_one_pointer() {
    let clock = ManualClock::new();
    let wide = adjustable::<AtomicU64>(rules(), &clock);
    let narrow = adjustable::<Fine>(rules(), &clock);
    let all: [&dyn Adjust; 2] = [&wide, &narrow];
    let patient = rules().consecutive_failures(300);
    let fits = all.map(|breaker| breaker.check_config(patient).is_ok());
    assert_eq!(fits, [true, false]);
    for breaker in all {
        breaker.set_config(rules().consecutive_failures(1)).unwrap();
        assert_eq!(breaker.config().trip, TripRule::Consecutive { failures: 1 });
        breaker.trip();
    }
    assert_eq!((wide.state(), narrow.state()), (State::Open, State::Open));
}

/// Rules that are replaced by others after they were read a given number of times.
struct Restless<B> {
    both: [Rules<B>; 2],
    left: Cell<u32>,
}

impl<B: Bits> LaterRules<B> for Restless<B> {
    fn current(&self) -> Option<&Rules<B>> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        Some(&self.both[usize::from(left == 0)])
    }

    fn set(&self, _: Rules<B>) -> Result<(), ConfigError> {
        Err(ConfigError::TOO_MANY_RULES)
    }
}

fn restless<W: AnyWord>(both: [Config; 2], looks: u32, clock: &ManualClock) -> By<'_, W> {
    Breaker::builder(rules(), clock)
        .word(W::fresh())
        .last_calls(LastCalls::over(W::fresh()))
        .build_adjustable(Restless {
            both: both.map(checked::<W>),
            left: Cell::new(looks),
        })
}

/// A call and its report read the rules at most this often.
const LOOKS: u32 = 12;

/// Makes one call while one set of rules replaces the other between any two reads.
fn between<W: AnyWord>([one, other]: [Config; 2], call: impl Fn(&By<'_, W>, &ManualClock)) {
    for (both, looks) in (0..LOOKS).flat_map(|looks| [([one, other], looks), ([other, one], looks)])
    {
        let clock = ManualClock::starting_at(1);
        let breaker = restless::<W>(both, looks, &clock);
        call(&breaker, &clock);
    }
}

/// By the first rules a slow call is one failure of many; by the second it is not a failure.
fn a_call_is_not_slow_by_old_rules_and_counted_by_new_ones<W: AnyWord>() {
    let patient = rules().slow_call(ms(10)).consecutive_failures(100);
    let strict = rules().consecutive_failures(1);
    for is_cancelled in [true, false] {
        between::<W>([patient, strict], |breaker, clock| {
            let permit = breaker.acquire().unwrap();
            clock.advance(ms(20));
            if is_cancelled {
                permit.cancel();
            } else {
                permit.success();
            }
            assert_eq!(breaker.state(), State::Closed);
        });
    }
}

/// By the first rules a failure trips, for 10 s; by the second it does not.
fn a_share_of_new_rules_does_not_open_for_the_time_of_old_ones<W: AnyWord>() {
    let all = Ratio::percent(100).of_last(1).min_calls(1);
    let ratio = rules()
        .failure_ratio(all)
        .consecutive_failures(100)
        .open_for(ms(10_000));
    let none = rules().consecutive_failures(100).open_for(ms(1_000));
    between::<W>([ratio, none], |breaker, _| {
        let made = breaker.acquire().unwrap().failure();
        let open_for = made.and_then(|made| made.open_for());
        assert!(
            open_for.is_none_or(|time| time >= ms(10_000)),
            "{open_for:?}"
        );
    });
}

/// While a share alone decides, nothing is counted in a row: what was counted before ends with the next success.
fn failures_in_a_row_end_with_a_success_while_a_share_alone_decides<W: AnyWord>() {
    let clock = ManualClock::new();
    let row = rules().consecutive_failures(4);
    let breaker = Breaker::builder(row, &clock)
        .word(W::fresh())
        .last_calls(LastCalls::over(W::fresh()))
        .build_adjustable(KeptRules::new());
    fail(&breaker, 3);
    let share = Ratio::percent(100).of_last(20).min_calls(20);
    breaker
        .set_config(rules().tally_only().failure_ratio(share))
        .unwrap();
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.snapshot().failures(), 0);
    breaker.set_config(row).unwrap();
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Closed);
    let made = (0..3)
        .filter_map(|_| breaker.acquire().unwrap().failure())
        .last();
    assert_eq!(made.map(|made| made.cause), Some(Cause::FailureLimit));
}

/// Looking up the rules never touches the word, whether they were set or not: two loads, no exchange, no clock.
fn a_closed_call_by_rules_that_were_set_costs_the_word_no_more<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let breaker = Breaker::builder(rules(), NoClock)
        .word(&word)
        .build_adjustable(KeptRules::new());
    for limit in [3, 9] {
        assert_eq!(breaker.call(|| Ok::<_, ()>(1)), Ok(1));
        assert_eq!(word.taken(), (2, 0));
        breaker
            .set_config(rules().consecutive_failures(limit))
            .unwrap();
        assert_eq!(word.taken(), (0, 0));
    }
}

on_both_words!(
    a_closed_call_by_rules_that_were_set_costs_the_word_no_more,
    rules_that_are_set_apply_from_the_next_event_on,
    rules_that_do_not_fit_the_word_or_the_tally_change_nothing,
    a_call_is_not_slow_by_old_rules_and_counted_by_new_ones,
    a_share_of_new_rules_does_not_open_for_the_time_of_old_ones,
    failures_in_a_row_end_with_a_success_while_a_share_alone_decides,
);
