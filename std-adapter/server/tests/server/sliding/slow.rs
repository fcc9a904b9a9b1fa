// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slow calls with a share of their own.

use std::cell::RefCell;
use std::thread;

use atomic_breaker_server::{
    Breaker, Cause, Config, ConfigError, LastCalls, ManualClock, OnTransition, Ratio, Resource,
    SlidingRatio, State, StdClock, Tally, Transition, Verdict, tally::Call, word::NativeWord,
};

use super::watched::{Part, tally, uses};
use super::{Sliding, ms, ratio};

/// Half of ten failed, or four of five took 100 ms.
fn rules() -> Config {
    Config::new()
        .consecutive_failures(4)
        .failure_ratio(ratio(50, 10_000, 10).slow_percent(80))
        .slow_call(ms(100))
        .open_for(ms(1_000))
}

type Guarded<'a, O> = Breaker<&'a ManualClock, NativeWord, Sliding<'a>, O>;

fn breaker<F: Fn(&Transition)>(clock: &ManualClock, notify: F) -> Guarded<'_, OnTransition<F>> {
    Breaker::builder(rules(), clock)
        .tally(Sliding::by(clock))
        .on_transition(notify)
        .build()
}

/// Calls: `.` succeeds, `x` fails, `s` succeeds too late, `f` fails late, `d` is dropped late.
fn play<O: atomic_breaker_server::Observer>(
    breaker: &Guarded<'_, O>,
    clock: &ManualClock,
    calls: &str,
) {
    for call in calls.chars() {
        let permit = breaker.acquire().unwrap();
        if "sfd".contains(call) {
            clock.advance(ms(100));
        }
        match call {
            '.' | 's' => drop(permit.success()),
            'x' | 'f' => drop(permit.failure()),
            _ => drop(permit),
        }
    }
}

#[test]
fn slow_calls_trip_by_their_own_share_alone() {
    let clock = ManualClock::starting_at(1);
    let causes = RefCell::new(Vec::new());
    let breaker = breaker(&clock, |made| causes.borrow_mut().push(made.cause));
    // Neither a row nor half of them, although three of four are slow.
    play(&breaker, &clock, ".sss.sss.sss");
    assert_eq!(
        (breaker.state(), breaker.tally().slow()),
        (State::Closed, 9)
    );
    assert_eq!(breaker.tally().seen_and_failed(), (12, 0));
    play(&breaker, &clock, "ss");
    assert_eq!(breaker.state(), State::Closed, "11 of 14");
    play(&breaker, &clock, "s");
    assert_eq!(breaker.state(), State::Open, "12 of 15");
    assert_eq!(*causes.borrow(), [Cause::SlowRatio]);
}

#[test]
fn too_few_calls_do_not_trip_however_slow_they_are() {
    let clock = ManualClock::starting_at(1);
    let breaker = breaker(&clock, |_| {});
    play(&breaker, &clock, "sssssssss");
    assert_eq!(breaker.state(), State::Closed, "nine");
    play(&breaker, &clock, "s");
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn failures_trip_by_theirs_as_before_and_slow_ones_count_in_both() {
    let clock = ManualClock::starting_at(1);
    let causes = RefCell::new(Vec::new());
    let breaker = breaker(&clock, |made| causes.borrow_mut().push(made.cause));
    play(&breaker, &clock, "f.f.f.f.f");
    assert_eq!(breaker.tally().seen_and_failed(), (9, 5));
    assert_eq!(
        (breaker.state(), breaker.tally().slow()),
        (State::Closed, 5)
    );
    play(&breaker, &clock, "x");
    assert_eq!(breaker.state(), State::Open);
    clock.advance(ms(1_000));
    play(&breaker, &clock, ".");
    // Two of ten failed, and eight were slow, among them both.
    play(&breaker, &clock, ".sfs.sfss");
    assert_eq!(breaker.state(), State::Closed);
    play(&breaker, &clock, "s");
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(causes.borrow()[0], Cause::FailureRatio);
    assert_eq!(causes.borrow().last(), Some(&Cause::SlowRatio));
}

#[test]
fn a_row_of_failures_is_ended_by_a_slow_success_and_not_by_a_slow_drop() {
    let clock = ManualClock::starting_at(1);
    let breaker = breaker(&clock, |_| {});
    play(&breaker, &clock, "xxxsxxx");
    assert_eq!(breaker.snapshot().failures(), 3);
    play(&breaker, &clock, "d");
    assert_eq!(
        (breaker.snapshot().failures(), breaker.state()),
        (3, State::Closed)
    );
    play(&breaker, &clock, "x");
    assert_eq!(breaker.state(), State::Open);
}

/// A resource that hangs, and whose callers leave.
#[test]
fn calls_that_are_dropped_late_are_slow() {
    let clock = ManualClock::starting_at(1);
    let breaker = breaker(&clock, |_| {});
    play(&breaker, &clock, "ddddddddd");
    assert_eq!(
        (breaker.state(), breaker.tally().slow()),
        (State::Closed, 9)
    );
    play(&breaker, &clock, "d");
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_slow_probe_has_failed() {
    let clock = ManualClock::starting_at(1);
    let causes = RefCell::new(Vec::new());
    let breaker = breaker(&clock, |made| causes.borrow_mut().push(made.cause));
    for call in ["s", "d", "f"] {
        breaker.trip();
        clock.advance(ms(1_000));
        play(&breaker, &clock, call);
        assert_eq!(breaker.state(), State::Open, "{call}");
        clock.advance(ms(1_000));
        play(&breaker, &clock, ".");
        assert_eq!(breaker.state(), State::Closed);
    }
    assert!(causes.borrow().contains(&Cause::ProbeFailed));
}

#[test]
fn nothing_slow_before_a_trip_counts_after_it() {
    let clock = ManualClock::starting_at(1);
    let breaker = breaker(&clock, |_| {});
    for round in 0..600 {
        play(&breaker, &clock, "ssssssssss");
        assert_eq!(breaker.state(), State::Open, "{round}");
        clock.advance(ms(1_000));
        play(&breaker, &clock, ".");
        assert_eq!(
            (breaker.tally().slow(), breaker.state()),
            (0, State::Closed)
        );
    }
}

/// A permit from before the trip changes nothing.
#[test]
fn a_slow_call_that_ends_in_another_epoch_counts_nowhere() {
    let clock = ManualClock::starting_at(1);
    let breaker = breaker(&clock, |_| {});
    let [late, dropped] = [(); 2].map(|()| breaker.acquire().unwrap());
    breaker.trip();
    clock.advance(ms(1_000));
    play(&breaker, &clock, ".");
    late.success();
    drop(dropped);
    assert_eq!(
        (breaker.tally().seen_and_failed(), breaker.tally().slow()),
        ((0, 0), 0)
    );
}

/// Its words say so, as those of a failure would.
#[test]
fn a_resource_says_that_it_opened_because_calls_were_slow() {
    use atomic_breaker_server::{AnyPermit, Guard, Outcome};
    let clock = ManualClock::starting_at(1);
    let breaker = Breaker::builder(rules(), &clock)
        .tally(Sliding::by(&clock))
        .build();
    let resource = Resource::new(breaker);
    for _ in 0..10 {
        let permit = resource.acquire().unwrap();
        clock.advance(ms(150));
        permit.report(Outcome::Success);
    }
    let rejection = resource.acquire().unwrap_err();
    assert!(rejection.to_string().contains("too slow"), "{rejection}");
}

/// One that a classifier has measured.
#[test]
fn a_failure_that_is_only_slow_counts_as_slow() {
    use atomic_breaker_server::Failure;
    let clock = ManualClock::starting_at(1);
    let breaker = breaker(&clock, |_| {});
    for _ in 0..9 {
        breaker.acquire().unwrap().report(Failure::slow());
    }
    assert_eq!(breaker.tally().seen_and_failed(), (9, 0));
    assert_eq!(
        (breaker.state(), breaker.tally().slow()),
        (State::Closed, 9)
    );
}

#[test]
fn without_a_share_of_their_own_slow_calls_are_failures() {
    let clock = ManualClock::starting_at(1);
    let config = rules().failure_ratio(ratio(50, 10_000, 10));
    let breaker = Breaker::builder(config, &clock)
        .tally(Sliding::by(&clock))
        .build();
    for _ in 0..4 {
        let permit = breaker.acquire().unwrap();
        clock.advance(ms(100));
        permit.success();
    }
    assert_eq!((breaker.state(), breaker.tally().slow()), (State::Open, 0));
}

#[test]
fn rules_and_memories_that_do_not_fit_say_what_to_do() {
    let share = ratio(50, 10_000, 10).slow_percent(80);
    let of_calls = Ratio::percent(50).of_last(20).slow_percent(80);
    let sliding = |config| {
        let built = Breaker::builder(config, StdClock).tally(SlidingRatio::<_, 1>::by(StdClock));
        built.try_build().map(drop)
    };
    let message = |built: Result<(), ConfigError>| built.unwrap_err().to_string();
    let slow = Config::new().slow_call(ms(100));
    assert!(sliding(slow.failure_ratio(share)).is_ok());
    let unmeasured = message(sliding(Config::new().failure_ratio(share)));
    assert!(unmeasured.contains("set slow_call"), "{unmeasured}");
    for percent in [0, 101, u32::MAX] {
        let wrong = message(sliding(slow.failure_ratio(share.slow_percent(percent))));
        assert!(wrong.contains("between 1 and 100"), "{wrong}");
    }
    let last = Breaker::builder(slow.failure_ratio(of_calls), StdClock)
        .last_calls(LastCalls::new())
        .try_build();
    let last = message(last.map(drop));
    assert!(last.contains("SlidingRatio"), "{last}");
}

/// As far as the calls of one slice go, and where several threads share a shard.
#[test]
fn no_slow_call_of_any_thread_is_lost() {
    const CALLS: u64 = 20_000;
    let clock = ManualClock::starting_at(123_400);
    let sliding = SlidingRatio::<_, 2>::by(&clock);
    let rule = ratio(100, 800_000, u32::MAX).slow_percent(100);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for call in 0..CALLS {
                    let made = Call::success(3);
                    let made = if call % 2 == 0 { made.slow() } else { made };
                    assert_eq!(sliding.record(made, Some(rule)), Verdict::Keep);
                    if call % 100 == 0 {
                        clock.advance(ms(1));
                    }
                }
            });
        }
    });
    assert_eq!(sliding.seen_and_failed(), (4 * CALLS, 0));
    assert_eq!(sliding.slow(), 2 * CALLS);
}

#[test]
fn a_healthy_call_and_a_failure_read_no_word_of_slow_calls() {
    let tally = tally::<1>(123_430);
    let rule = ratio(50, 800, 100).slow_percent(80);
    let _ = tally.record(Call::success(0), Some(rule));
    for call in [Call::success(0), Call::failure(0, 1)] {
        let uses = uses(|| {
            let _ = tally.record(call, Some(rule));
        });
        assert!(uses.iter().all(|it| it.part != Part::Slow), "{uses:?}");
    }
    let uses = uses(|| {
        let _ = tally.record(Call::success(0).slow(), Some(rule));
    });
    assert!(uses.iter().any(|it| it.part == Part::Slow));
}
