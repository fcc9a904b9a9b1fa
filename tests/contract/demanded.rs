// SPDX-License-Identifier: MIT OR Apache-2.0
//! Open times that were demanded: a deadline only moves later, unless an operator explicitly moves it earlier.

use std::time::Duration;

use atomic_breaker::{Cause, Config, Control, Failure, ManualClock, State, Transition, Wait};

use super::support::{AnyWord, Diary, Tested, breaker, ms, observed, on_both_words, rules};

const HOUR: Duration = Duration::from_secs(3_600);

/// An hour, or the longest time that the word holds.
pub(crate) fn long<W: AnyWord>() -> Duration {
    HOUR.min(ms(W::LONGEST.into()))
}

pub(crate) fn demand(time: Duration) -> Failure {
    Failure::tripping_for(time)
}

pub(crate) fn config<W: AnyWord>() -> Config {
    rules().max_retry_after(long::<W>())
}

/// The rest of an hour used to be cut to five seconds.
fn a_trip_by_hand_does_not_shorten<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(5_000)), &clock);
    breaker.trip_for(long::<W>());
    let bits = breaker.to_bits();
    assert_eq!(breaker.trip(), None, "nothing moved");
    assert_eq!(breaker.trip_for(ms(5_000)), None);
    assert_eq!(breaker.to_bits(), bits);
    assert_eq!(breaker.snapshot().wait(), Some(Wait::For(long::<W>())));
}

/// This holds for the shortest demand, too: the word has one bit for it, and the resource must not be pinged
/// before the requested time.
fn every_demand_keeps_early_probes_off_until_the_open_time_is_over<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(1).open_for(ms(100));
    let trip: [fn(&Tested<'_, W>, Duration); 3] = [
        |it, time| {
            it.acquire().unwrap().report(demand(time));
        },
        |it, time| {
            it.trip_for(time);
        },
        |it, time| {
            let [one, other] = [(); 2].map(|()| it.acquire().unwrap());
            one.failure();
            other.report(demand(time));
        },
    ];
    for time in [1, 10, 49, 66, 99, 300] {
        for trip in trip {
            let breaker = breaker::<W>(config, &clock);
            trip(&breaker, ms(time));
            assert!(breaker.snapshot().is_demanded(), "{time}");
            assert_eq!(breaker.probe_early(), None, "{time}");
            clock.advance(breaker.snapshot().retry_in().unwrap());
            assert!(breaker.acquire().is_ok(), "{time}");
        }
    }
}

/// A demand of zero trips, but it does not mark the open time as demanded, nor does it lengthen it.
fn a_demand_of_nothing_trips_and_demands_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(9).open_for(ms(100));
    let breaker = breaker::<W>(config, &clock);
    let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
    one.report(demand(Duration::ZERO));
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.wait(), Some(Wait::For(ms(100))));
    assert!(!snapshot.is_demanded());
    let bits = breaker.to_bits();
    other.report(demand(Duration::ZERO));
    assert_eq!(breaker.to_bits(), bits, "nor does a late one");
}

fn a_trip_by_hand_moves_the_deadline_later_in_an_epoch_of_its_own<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(100)), &clock);
    breaker.trip();
    clock.advance(ms(1));
    let moved = breaker.trip().unwrap();
    assert_eq!((moved.from, moved.to), (State::Open, State::Open));
    assert_eq!((moved.cause, moved.trips), (Cause::Manual, 1));
    assert_eq!((moved.epoch, moved.open_for()), (2, Some(ms(100))));
    assert!(!breaker.snapshot().is_demanded());
    breaker.trip_for(ms(200)).unwrap();
    assert!(breaker.snapshot().is_demanded());
}

fn a_trip_by_hand_keeps_what_was_demanded<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(100)), &clock);
    breaker.trip_for(ms(60));
    clock.advance(ms(1));
    assert!(breaker.trip().is_some());
    assert!(breaker.snapshot().is_demanded());
    assert_eq!(breaker.probe_early(), None);
}

fn trip_for_demands_and_is_cut_to_what_the_word_holds_alone<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().max_retry_after(ms(10)).open_for(ms(100));
    let breaker = breaker::<W>(config, &clock);
    let made = breaker.trip_for(long::<W>()).unwrap();
    assert_eq!(
        made.open_for(),
        Some(long::<W>()),
        "not a header of a server"
    );
    assert!(breaker.snapshot().is_demanded());
    let longest = ms(W::LONGEST.into());
    let made = breaker.trip_for(Duration::MAX);
    assert_eq!(breaker.snapshot().wait(), Some(Wait::For(longest)));
    assert_eq!(made.is_some(), longest > long::<W>());

    breaker.reset();
    let made = breaker.trip_for(ms(10)).unwrap();
    assert_eq!(
        made.open_for(),
        Some(ms(100)),
        "at least as long as configured"
    );
    assert!(breaker.snapshot().is_demanded());
}

fn trip_for_marks_a_time_that_is_long_enough_without_a_transition<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let breaker = observed::<W>(rules().open_for(ms(100)), &clock, &diary);
    breaker.trip();
    let epoch = breaker.snapshot().epoch();
    assert_eq!(breaker.trip_for(ms(1)), None);
    let snapshot = breaker.snapshot();
    assert!(snapshot.is_demanded());
    assert_eq!(
        (snapshot.epoch(), snapshot.retry_in()),
        (epoch, Some(ms(100)))
    );
    assert_eq!(diary.causes(), [Cause::Manual], "the first trip alone");
    assert_eq!(breaker.trip_for(ms(50)), None);
}

fn trip_for_trips_from_every_state_that_admits_by_rule<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(10)).gradual_return(100, ms(100));
    let breaker = breaker::<W>(config, &clock);
    for (trips, state) in [
        (1, State::Closed),
        (2, State::HalfOpen),
        (3, State::Returning),
    ] {
        assert_eq!(breaker.state(), state);
        let made = breaker.trip_for(ms(70)).unwrap();
        assert_eq!(
            (made.from, made.cause, made.trips),
            (state, Cause::Manual, trips)
        );
        assert_eq!(made.open_for(), Some(ms(70)));
        clock.advance(ms(70));
        let probe = breaker.acquire().unwrap();
        if state == State::HalfOpen {
            probe.success();
        } else {
            let _probe = probe.into_token();
        }
    }
}

/// A task that pings the resource learns that it responds, but not when it wants to be called again.
fn a_prober_does_not_end_a_demanded_open_time<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(config::<W>().open_for(ms(100)), &clock);
    breaker.acquire().unwrap().report(demand(ms(5_000)));
    let bits = breaker.to_bits();
    assert_eq!(breaker.probe_early(), None);
    assert_eq!(breaker.to_bits(), bits);
    clock.advance(ms(5_000));
    assert!(breaker.acquire().is_ok(), "it ends by itself");
}

fn an_operator_ends_a_demanded_open_time_by_an_explicit_command<W: AnyWord>() {
    type End = fn(&dyn Control) -> Option<Transition>;
    let ends: [(&str, End, State); 4] = [
        ("probe_now", |it| it.probe_now(), State::HalfOpen),
        ("reset", |it| it.reset(), State::Closed),
        ("force_open", |it| it.force_open(), State::ForcedOpen),
        ("disable", |it| it.disable(), State::Disabled),
    ];
    for (name, end, state) in ends {
        let clock = ManualClock::new();
        let breaker = breaker::<W>(rules(), &clock);
        breaker.trip_for(long::<W>());
        assert!(end(&breaker).is_some(), "{name}");
        assert_eq!(breaker.state(), state, "{name}");
    }
}

/// The flag belongs to one open time.
fn the_next_open_time_is_not_demanded<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    breaker.trip_for(ms(50));
    clock.advance(ms(50));
    breaker.acquire().unwrap().failure();
    assert_eq!(breaker.state(), State::Open);
    assert!(!breaker.snapshot().is_demanded());
    assert!(breaker.probe_early().is_some());
}

on_both_words!(
    a_trip_by_hand_does_not_shorten,
    every_demand_keeps_early_probes_off_until_the_open_time_is_over,
    a_demand_of_nothing_trips_and_demands_nothing,
    a_trip_by_hand_moves_the_deadline_later_in_an_epoch_of_its_own,
    a_trip_by_hand_keeps_what_was_demanded,
    trip_for_demands_and_is_cut_to_what_the_word_holds_alone,
    trip_for_marks_a_time_that_is_long_enough_without_a_transition,
    trip_for_trips_from_every_state_that_admits_by_rule,
    a_prober_does_not_end_a_demanded_open_time,
    an_operator_ends_a_demanded_open_time_by_an_explicit_command,
    the_next_open_time_is_not_demanded,
);
