// SPDX-License-Identifier: MIT OR Apache-2.0
//! Demands that arrive after the breaker has opened: a deadline only moves later.

use std::time::Duration;

use atomic_breaker::{Cause, Failure, ManualClock, Wait};

use super::demanded::{config, demand, long};
use super::support::{AnyWord, Diary, breaker, ms, observed, on_both_words, rules};

/// Two responses are under way at once, each with a `Retry-After`.
fn the_later_of_two_demands_in_flight_counts<W: AnyWord>() {
    let longer = long::<W>().min(ms(600_000));
    for demands in [[ms(1_000), longer], [longer, ms(1_000)]] {
        let (clock, diary) = (ManualClock::new(), Diary::default());
        let breaker = observed::<W>(config::<W>().open_for(ms(10)), &clock, &diary);
        let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
        let made = one.report(demand(demands[0])).unwrap();
        assert_eq!(
            (made.cause, made.open_for()),
            (Cause::RetryAfter, Some(demands[0]))
        );
        let epoch = breaker.snapshot().epoch();
        assert_eq!(other.report(demand(demands[1])), None, "no transition");
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.wait(), Some(Wait::For(longer)));
        assert_eq!((snapshot.epoch(), snapshot.trips()), (epoch, 1));
        assert!(snapshot.is_demanded());
        assert_eq!(diary.causes(), [Cause::RetryAfter]);
        assert_eq!(diary.outcomes.borrow().len(), 2, "both were reported");
    }
}

fn a_late_demand_moves_the_deadline_of_any_trip<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(1).open_for(ms(100)), &clock);
    let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
    one.failure();
    assert!(!breaker.snapshot().is_demanded());
    clock.advance(ms(60));
    other.report(demand(ms(90)));
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.wait(), Some(Wait::For(ms(90))), "from now on");
    assert!(snapshot.is_demanded());
    clock.advance(ms(89));
    assert!(breaker.acquire().is_err());
    clock.advance(ms(1));
    assert!(breaker.acquire().is_ok());
}

fn a_late_demand_that_ends_sooner_still_marks_the_time_as_demanded<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(1).open_for(ms(100)), &clock);
    let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
    one.failure();
    other.report(demand(ms(60)));
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.wait(), Some(Wait::For(ms(100))));
    assert!(snapshot.is_demanded());
}

fn a_late_demand_of_a_probe_counts_like_one_of_a_closed_call<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().probes(2).open_for(ms(10)), &clock);
    breaker.trip();
    clock.advance(ms(10));
    let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
    one.failure();
    other.report(demand(ms(1_000)));
    assert_eq!(breaker.snapshot().wait(), Some(Wait::For(ms(1_000))));
}

/// Also where the next epoch is the first one again.
fn a_late_demand_counts_in_each_epoch<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    for _ in 0..W::EPOCHS {
        let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
        one.report(Failure::tripping());
        other.report(demand(ms(1_000)));
        let snapshot = breaker.snapshot();
        let epoch = snapshot.epoch();
        assert_eq!(snapshot.wait(), Some(Wait::For(ms(1_000))), "{epoch}");
        // Three epochs in each turn, so that a turn begins in each of them.
        breaker.reset();
        breaker.reset();
    }
}

/// One trip more is not counted.
fn a_late_demand_counts_at_the_most_trips_in_a_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().probes(2).open_for(ms(10)), &clock);
    for _ in 0..W::MAX_TRIPS {
        breaker.trip();
        breaker.probe_now();
    }
    let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
    one.failure();
    other.report(demand(ms(1_000)));
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.trips(), W::MAX_TRIPS);
    assert_eq!(snapshot.wait(), Some(Wait::For(ms(1_000))));
}

/// The permit is one epoch and a whole turn of epochs older: the trips in a row show it.
fn a_demand_of_an_epoch_that_looks_like_the_one_before_moves_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    let old = breaker.acquire().unwrap();
    for _ in 0..W::EPOCHS / 2 {
        breaker.trip();
        breaker.probe_now();
    }
    breaker.trip();
    assert_eq!(
        u32::from(breaker.snapshot().epoch()),
        1,
        "as just after the permit"
    );
    old.report(demand(ms(1_000)));
    assert_eq!(breaker.snapshot().wait(), Some(Wait::For(ms(10))));
}

/// A demand from an earlier outage has already been waited for.
fn a_demand_of_an_epoch_long_gone_moves_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    let late = breaker.acquire().unwrap();
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().failure();
    let bits = breaker.to_bits();
    late.report(demand(ms(1_000)));
    assert_eq!(breaker.to_bits(), bits);
}

/// As many trips in a row as just after the permit, in an outage of its own.
fn a_demand_from_before_a_reset_moves_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    let late = breaker.acquire().unwrap();
    breaker.trip();
    breaker.reset();
    breaker.trip();
    let bits = breaker.to_bits();
    late.report(demand(ms(1_000)));
    assert_eq!(breaker.to_bits(), bits);
}

fn a_late_demand_is_cut_to_the_limit<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().max_retry_after(ms(2_000)), &clock);
    let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
    one.report(demand(ms(1)));
    clock.advance(ms(4_000));
    other.report(demand(Duration::MAX));
    assert_eq!(breaker.snapshot().wait(), Some(Wait::For(ms(2_000))));
}

fn a_late_demand_gets_its_jitter<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(1)).jitter_percent(100);
    let mut drawn = Vec::new();
    for seed in 0..50 {
        let breaker = breaker::<W>(config.seed(seed), &clock);
        let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
        one.report(Failure::tripping());
        other.report(demand(ms(1_000)));
        let open = breaker.snapshot().retry_in().unwrap();
        assert!(open >= ms(1_000) && open <= ms(2_000), "{open:?}");
        drawn.push(open);
    }
    drawn.sort();
    drawn.dedup();
    assert!(drawn.len() > 40, "{} of 50", drawn.len());
}

on_both_words!(
    the_later_of_two_demands_in_flight_counts,
    a_late_demand_moves_the_deadline_of_any_trip,
    a_late_demand_that_ends_sooner_still_marks_the_time_as_demanded,
    a_late_demand_of_a_probe_counts_like_one_of_a_closed_call,
    a_late_demand_counts_in_each_epoch,
    a_late_demand_counts_at_the_most_trips_in_a_row,
    a_demand_of_an_epoch_that_looks_like_the_one_before_moves_nothing,
    a_demand_of_an_epoch_long_gone_moves_nothing,
    a_demand_from_before_a_reset_moves_nothing,
    a_late_demand_is_cut_to_the_limit,
    a_late_demand_gets_its_jitter,
);
