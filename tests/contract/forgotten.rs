// SPDX-License-Identifier: MIT OR Apache-2.0
//! The history before an outage is forgotten after it, for any number of transitions in between: in four bits,
//! sixteen of them look like none.

use atomic_breaker::word::{AtomicU64, Bits};
use atomic_breaker::{Breaker, Cause, LastCalls, ManualClock, Ratio, State};

use super::support::{AnyWord, Diary, fail, ms, on_both_words, rules};

type Remembering<'a, W> = Breaker<&'a ManualClock, W, LastCalls<AtomicU64>, &'a Diary>;

/// Trips when half of the last ten calls failed, once five were seen.
fn breaker<'a, W: AnyWord>(clock: &'a ManualClock, diary: &'a Diary) -> Remembering<'a, W> {
    let ratio = Ratio::percent(50).of_last(10).min_calls(5);
    let config = rules().tally_only().failure_ratio(ratio).open_for(ms(0));
    Breaker::builder(config, clock)
        .word(W::fresh())
        .last_calls(LastCalls::over(AtomicU64::new(0)))
        .observer(diary)
        .build()
}

fn lose<W: AnyWord>(breaker: &Remembering<'_, W>, probes: u32) {
    for _ in 0..probes {
        let _lost = breaker.acquire().unwrap().into_token();
        let wait = breaker.snapshot();
        breaker.clock().advance(match wait.wait() {
            Some(atomic_breaker::Wait::AtMost(wait)) => wait,
            other => panic!("{other:?}"),
        });
    }
}

/// After five failures, thirteen lost probes, one success and one failure it used to open, because of the
/// failures before the outage.
fn no_number_of_lost_probes_revives_the_history_before<W: AnyWord>() {
    for lost in 0..70 {
        let (clock, diary) = (ManualClock::new(), Diary::default());
        let breaker = breaker::<W>(&clock, &diary);
        fail(&breaker, 5);
        assert_eq!(breaker.snapshot().entered(), State::Open);
        lose(&breaker, lost);
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Closed, "{lost}");
        let transitions = diary.transitions.take().len() as u32;
        assert_eq!(transitions, lost.max(1) + 2 + u32::from(lost > 0));
        assert_eq!(breaker.tally().seen_and_failed(), (0, 0), "{transitions}");
        fail(&breaker, 1);
        assert_eq!(breaker.state(), State::Closed, "{transitions} transitions");
        assert_eq!(breaker.tally().seen_and_failed(), (1, 1));
    }
}

fn no_number_of_commands_revives_the_history_before<W: AnyWord>() {
    for commands in 0..70 {
        let (clock, diary) = (ManualClock::new(), Diary::default());
        let breaker = breaker::<W>(&clock, &diary);
        fail(&breaker, 4);
        for command in 0..commands {
            if command % 2 == 0 {
                breaker.force_open();
            } else {
                breaker.disable();
            }
        }
        breaker.reset();
        assert_eq!(breaker.tally().seen_and_failed(), (0, 0), "{commands}");
        fail(&breaker, 4);
        assert_eq!(breaker.state(), State::Closed, "{commands}");
        fail(&breaker, 1);
        assert_eq!(breaker.snapshot().entered(), State::Open, "{commands}");
    }
}

/// The same holds while traffic returns gradually, and once it has returned.
fn a_gradual_return_begins_and_ends_with_nothing_remembered<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let ratio = Ratio::percent(50).of_last(10).min_calls(5);
    let config = rules()
        .tally_only()
        .failure_ratio(ratio)
        .open_for(ms(10))
        .gradual_return(100, ms(100));
    let breaker = Breaker::builder(config, &clock)
        .word(W::fresh())
        .last_calls(LastCalls::over(AtomicU64::new(0)))
        .observer(&diary)
        .build();
    fail(&breaker, 5);
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Returning);
    assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    fail(&breaker, 4);
    clock.advance(ms(100));
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.tally().seen_and_failed(), (1, 1));
    let causes = [
        Cause::FailureRatio,
        Cause::OpenTimeOver,
        Cause::ProbesSucceeded,
        Cause::TrafficReturned,
    ];
    assert_eq!(diary.causes(), causes);
}

/// A call that was admitted before an outage and reports after it is not recorded.
fn a_report_from_before_an_outage_is_not_remembered<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let breaker = breaker::<W>(&clock, &diary);
    let late = [(); 5].map(|()| breaker.acquire().unwrap());
    breaker.trip();
    breaker.acquire().unwrap().success();
    fail(&breaker, 1);
    for permit in late {
        permit.failure();
    }
    assert_eq!(breaker.tally().seen_and_failed(), (1, 1));
}

/// A corrupt word is replaced by a closed one that remembers nothing either.
fn healing_forgets<W: AnyWord>() {
    let clock = ManualClock::new();
    let ratio = Ratio::percent(50).of_last(10).min_calls(5);
    let config = rules().tally_only().failure_ratio(ratio);
    let memory = LastCalls::over(AtomicU64::new(0));
    let over = |word| {
        Breaker::builder(config, &clock)
            .word(word)
            .tally(&memory)
            .build()
    };
    fail(&over(W::fresh()), 3);
    assert_eq!(memory.seen_and_failed(), (3, 3));
    let corrupt = over(W::from(W::Bits::from_u64(3)));
    drop(corrupt.acquire().unwrap());
    assert_eq!(memory.seen_and_failed(), (0, 0));
}

on_both_words!(
    no_number_of_lost_probes_revives_the_history_before,
    no_number_of_commands_revives_the_history_before,
    a_gradual_return_begins_and_ends_with_nothing_remembered,
    a_report_from_before_an_outage_is_not_remembered,
    healing_forgets,
);
