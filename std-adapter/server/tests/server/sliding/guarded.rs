// SPDX-License-Identifier: MIT OR Apache-2.0
//! In a breaker, as users have it.

use atomic_breaker_server::{
    Breaker, Cause, Config, LastCalls, ManualClock, Ratio, SlidingRatio, State, StdClock, Tally,
    Transition,
    word::{AtomicU32, AtomicU64, NativeWord},
};
use std::cell::RefCell;
use std::sync::Arc;

use super::{Sliding, ms, ratio};

fn succeed<C, W, T, O>(breaker: &Breaker<C, W, T, O>, calls: u32)
where
    C: atomic_breaker_server::Clock,
    W: atomic_breaker_server::word::Word,
    T: Tally,
    O: atomic_breaker_server::Observer,
{
    for _ in 0..calls {
        breaker.acquire().unwrap().success();
    }
}

fn half() -> Config {
    Config::new()
        .consecutive_failures(5)
        .failure_ratio(ratio(50, 10_000, 20))
        .open_for(ms(1_000))
}

#[test]
fn five_in_a_row_or_half_of_twenty_within_ten_seconds() {
    let clock = ManualClock::new();
    let causes = RefCell::new(Vec::new());
    let note = |made: &Transition| causes.borrow_mut().push(made.cause);
    let breaker = Breaker::builder(half(), &clock)
        .tally(Sliding::by(&clock))
        .on_transition(note)
        .build();
    for _ in 0..5 {
        breaker.acquire().unwrap().failure();
    }
    assert_eq!(*causes.borrow(), [Cause::FailureLimit]);
    breaker.reset();
    for _ in 0..10 {
        assert_eq!(breaker.state(), State::Closed);
        succeed(&breaker, 1);
        breaker.acquire().unwrap().failure();
    }
    assert_eq!(breaker.state(), State::Open, "10 of 20");
    assert_eq!(causes.borrow()[2], Cause::FailureRatio);
}

/// Spread over more than the time they are fewer, whatever their number.
#[test]
fn failures_that_are_rare_in_time_never_trip() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(half(), &clock)
        .tally(Sliding::by(&clock))
        .build();
    for _ in 0..1_000 {
        succeed(&breaker, 1);
        breaker.acquire().unwrap().failure();
        clock.advance(ms(1_200));
    }
    assert_eq!(breaker.state(), State::Closed);
    assert!(breaker.tally().seen_and_failed().0 < 20);
}

#[test]
fn slow_calls_count_as_failures() {
    let clock = ManualClock::starting_at(1);
    let config = Config::new()
        .tally_only()
        .failure_ratio(ratio(50, 10_000, 4))
        .slow_call(ms(100));
    let breaker = Breaker::builder(config, &clock)
        .tally(Sliding::by(&clock))
        .build();
    succeed(&breaker, 2);
    for failed in 1..=2 {
        let permit = breaker.acquire().unwrap();
        clock.advance(ms(100));
        permit.success();
        let counted = (2 + failed, failed);
        assert_eq!(breaker.tally().seen_and_failed(), counted);
    }
    assert_eq!(breaker.state(), State::Open);
}

/// On the word of 32 bits, too, whose epochs have four bits only.
#[test]
fn nothing_learned_before_a_trip_counts_after_it() {
    let clock = ManualClock::new();
    let config = half()
        .tally_only()
        .failure_ratio(ratio(50, 10_000, 4))
        .open_for(ms(10));
    let narrow = Breaker::builder(config, &clock)
        .word(AtomicU32::new(0))
        .tally(Sliding::by(&clock))
        .build();
    for failed_probes in 0..40 {
        for failure in 0..4 {
            assert_eq!(narrow.state(), State::Closed, "{failed_probes}: {failure}");
            narrow.acquire().unwrap().failure();
        }
        assert_eq!(narrow.state(), State::Open, "{failed_probes}");
        for _ in 0..failed_probes {
            clock.advance(ms(64 * 2));
            narrow.acquire().unwrap().failure();
        }
        clock.advance(ms(64 * 2));
        narrow.acquire().unwrap().success();
        assert_eq!(narrow.tally().seen_and_failed(), (0, 0));
    }
}

#[test]
fn a_late_report_of_an_earlier_epoch_is_not_counted() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(half(), &clock)
        .tally(Sliding::by(&clock))
        .build();
    let late = [(); 30].map(|()| breaker.acquire().unwrap());
    breaker.reset();
    succeed(&breaker, 1);
    for permit in late {
        permit.failure();
    }
    assert_eq!(breaker.tally().seen_and_failed(), (1, 0));
}

#[test]
fn rules_are_replaced_while_running() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(half(), &clock)
        .word(AtomicU64::new(0))
        .tally(Sliding::by(&clock))
        .build();
    succeed(&breaker, 30);
    let rules = |config| atomic_breaker_server::Rules::<u64>::new(config);
    let stricter = rules(half().failure_ratio(ratio(10, 10_000, 20)));
    for failed in 1..=4 {
        let now = breaker.with_rules(&stricter);
        assert_eq!(now.state(), State::Closed, "{failed}");
        now.acquire().unwrap().failure();
    }
    assert_eq!(breaker.state(), State::Open, "4 of 34");
    breaker.reset();
    succeed(&breaker, 5);
    let longer = rules(half().failure_ratio(ratio(10, 60_000, 20)));
    let now = breaker.with_rules(&longer);
    now.acquire().unwrap().failure();
    assert_eq!(breaker.tally().seen_and_failed(), (1, 1), "started again");
    let calls = rules(half().failure_ratio(Ratio::percent(50).of_last(20)));
    let tally = breaker.tally();
    let fault = Breaker::try_from_parts(breaker.word(), &calls, breaker.clock(), tally, ()).err();
    let error = fault.unwrap().to_string();
    assert!(error.contains("within"), "{error}");
}

#[test]
fn what_the_tally_cannot_remember_is_rejected() {
    let config = Config::new().failure_ratio(Ratio::percent(50).of_last(20));
    let error = Breaker::builder(config, StdClock)
        .tally(SlidingRatio::new(StdClock))
        .try_build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tally remembers times, not calls: set the time of the failure_ratio (within) instead of \
         of_last, or build the breaker with last_calls"
    );
    let error = Breaker::builder(half(), StdClock)
        .last_calls(LastCalls::new())
        .try_build()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("SlidingRatio of atomic-breaker-server")
    );
}

/// In a `static`, behind pointers, or only where the rules ask for it.
#[test]
fn it_can_be_used_wherever_a_tally_can() {
    static KEPT: Breaker<StdClock, NativeWord, SlidingRatio> = Breaker::builder(
        Config::new().failure_ratio(Ratio::percent(50).within(ms(10_000))),
        StdClock,
    )
    .const_tally(SlidingRatio::new(StdClock))
    .build();
    succeed(&KEPT, 3);
    assert_eq!(KEPT.tally().seen_and_failed(), (3, 0));
    assert_eq!(
        format!("{:?}", KEPT.tally()),
        "SlidingRatio { seen: 3, failed: 0, .. }"
    );

    let shared = Arc::new(SlidingRatio::<StdClock, 1>::default());
    let tallies: [Box<dyn Tally>; 3] = [
        Box::new(Arc::clone(&shared)),
        Box::new(Some(Arc::clone(&shared))),
        Box::new(Box::new(Arc::clone(&shared))),
    ];
    for tally in tallies {
        let breaker = Breaker::builder(half(), StdClock).tally(tally).build();
        succeed(&breaker, 1);
    }
    assert_eq!(shared.seen_and_failed(), (3, 0));
}
