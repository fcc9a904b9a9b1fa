// SPDX-License-Identifier: MIT OR Apache-2.0
//! Snapshots, and how they are shown.

use atomic_breaker::{Breaker, ManualClock, State, Wait};

use super::support::{AnyWord, NoClock, breaker, fail, ms, on_both_words, rules};

fn a_closed_snapshot_counts_failures<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    fail(&breaker, 3);
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.failures()), (State::Closed, 3));
    assert_eq!((snapshot.trips(), snapshot.probes_in_flight()), (0, 0));
    assert_eq!((snapshot.opened_at_ms(), snapshot.open_for()), (None, None));
    assert_eq!(
        (snapshot.retry_in(), snapshot.is_due()),
        (Some(ms(0)), false)
    );
}

fn an_open_snapshot_shows_when_it_opened_and_what_is_left<W: AnyWord>() {
    let clock = ManualClock::starting_at(1_000);
    let breaker = breaker::<W>(rules().open_for(ms(60)), &clock);
    breaker.trip();
    clock.advance(ms(20));
    let snapshot = breaker.snapshot();
    assert_eq!(
        (snapshot.state(), snapshot.trips(), snapshot.epoch()),
        (State::Open, 1, 1)
    );
    assert_eq!(snapshot.opened_at_ms(), Some(1_000));
    assert_eq!(snapshot.open_for(), Some(ms(60)));
    assert_eq!(
        (snapshot.retry_in(), snapshot.is_due()),
        (Some(ms(40)), false)
    );
    assert!(!snapshot.is_demanded());
    let shown = format!("{snapshot:?}");
    assert!(
        shown.starts_with("Snapshot { state: Open, epoch: 1, "),
        "{shown}"
    );
}

fn an_open_breaker_is_half_open_as_soon_as_a_probe_is_due<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(62)), &clock);
    breaker.trip();
    clock.advance(ms(61));
    assert!(!breaker.snapshot().is_due());
    assert_eq!(breaker.state(), State::Open);
    clock.advance(ms(1));
    let snapshot = breaker.snapshot();
    assert_eq!(
        (snapshot.state(), snapshot.is_due()),
        (State::HalfOpen, true)
    );
    assert_eq!(breaker.state(), State::HalfOpen);
    // Nothing has happened yet.
    assert_eq!((snapshot.entered(), snapshot.epoch()), (State::Open, 1));
    assert_eq!(snapshot.retry_in(), Some(ms(0)));
    let _probe = breaker.acquire().unwrap();
    assert_eq!(breaker.state(), State::HalfOpen);
}

fn a_half_open_snapshot_counts_probes_and_successes<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules()
        .open_for(ms(10))
        .probes(2)
        .close_after(4)
        .probe_lease(ms(100));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    let _first = breaker.acquire().unwrap();
    let free = breaker.snapshot();
    assert_eq!((free.state(), free.successes()), (State::HalfOpen, 1));
    assert_eq!((free.probes_in_flight(), free.retry_in()), (1, Some(ms(0))));
    assert!(free.is_due(), "the next call takes the free slot");

    let _second = breaker.acquire().unwrap();
    clock.advance(ms(30));
    let full = breaker.snapshot();
    assert!(!full.is_due());
    assert_eq!(
        (full.probes_in_flight(), full.wait()),
        (2, Some(Wait::AtMost(ms(70))))
    );
    assert_eq!((full.epoch(), full.trips()), (2, 1));
    assert_eq!((full.successes(), full.lost_rounds()), (1, 0));
    clock.advance(ms(70));
    assert!(breaker.snapshot().is_due(), "the probes are lost");
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(0)));
    assert_eq!(breaker.snapshot().wait(), None);
}

fn a_half_open_snapshot_counts_lost_rounds<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(0)).probe_lease(ms(100));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    let _lost = breaker.acquire().unwrap().into_token();
    assert_eq!(breaker.snapshot().lost_rounds(), 0);
    clock.advance(ms(100));
    let _probe = breaker.acquire().unwrap().into_token();
    clock.advance(ms(50));
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.epoch(), snapshot.trips()), (3, 1));
    let probes = (snapshot.probes_in_flight(), snapshot.successes());
    assert_eq!((probes, snapshot.lost_rounds()), ((1, 0), 1));
    assert_eq!(snapshot.wait(), Some(Wait::AtMost(ms(150))));
}

fn a_returning_snapshot_shows_the_share_and_what_is_left<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().gradual_return(20, ms(1_000));
    let breaker = breaker::<W>(config, &clock);
    breaker.force_open();
    breaker.release();
    breaker.acquire().unwrap().success();
    clock.advance(ms(250));
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.returning_percent(), Some(40));
    assert_eq!(snapshot.wait(), Some(Wait::AtMost(ms(750))));
    assert_eq!((snapshot.trips(), snapshot.failures()), (1, 0));
    assert!(!snapshot.is_due() && !snapshot.is_demanded());
    assert_eq!((snapshot.opened_at_ms(), snapshot.open_for()), (None, None));
    clock.advance(ms(750));
    let over = breaker.snapshot();
    assert_eq!((over.returning_percent(), over.wait()), (Some(100), None));
}

/// The numbers of one state are not shown for another.
fn each_state_shows_what_it_has_and_nothing_else<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(10)).gradual_return(100, ms(10));
    let breaker = breaker::<W>(config, &clock);
    let check = |state| {
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.state(), state);
        assert_eq!(snapshot.opened_at_ms().is_some(), state == State::Open);
        assert_eq!(snapshot.open_for().is_some(), state == State::Open);
        let is_returning = state == State::Returning;
        assert_eq!(snapshot.returning_percent().is_some(), is_returning);
        assert_eq!((snapshot.successes(), snapshot.probes_in_flight()), (0, 0));
    };
    check(State::Closed);
    breaker.trip();
    check(State::Open);
    breaker.probe_now();
    check(State::HalfOpen);
    breaker.acquire().unwrap().success();
    check(State::Returning);
    breaker.force_open();
    check(State::ForcedOpen);
    breaker.disable();
    check(State::Disabled);
}

fn held_snapshots_say_nothing_else<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.force_open();
    assert_eq!(breaker.snapshot().retry_in(), None);
    assert_eq!(breaker.snapshot().state(), State::ForcedOpen);
    breaker.disable();
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(0)));
    assert_eq!(breaker.snapshot().state(), State::Disabled);
}

fn epochs_wrap_where_documented<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    for epoch in 1..2 * W::EPOCHS {
        breaker.reset();
        assert_eq!(u32::from(breaker.snapshot().epoch()), epoch % W::EPOCHS);
    }
}

fn the_state_alone_reads_no_clock<W: AnyWord>() {
    let breaker = Breaker::over(W::fresh(), rules(), NoClock);
    assert_eq!(breaker.state(), State::Closed);
}

on_both_words!(
    a_closed_snapshot_counts_failures,
    an_open_snapshot_shows_when_it_opened_and_what_is_left,
    an_open_breaker_is_half_open_as_soon_as_a_probe_is_due,
    a_half_open_snapshot_counts_probes_and_successes,
    a_half_open_snapshot_counts_lost_rounds,
    a_returning_snapshot_shows_the_share_and_what_is_left,
    each_state_shows_what_it_has_and_nothing_else,
    held_snapshots_say_nothing_else,
    epochs_wrap_where_documented,
    the_state_alone_reads_no_clock,
);
