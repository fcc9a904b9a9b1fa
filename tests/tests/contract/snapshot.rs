//! B12: the snapshot.

use atomic_breaker::{Breaker, ManualClock, State};

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
    assert_eq!(
        format!("{snapshot:?}"),
        "Snapshot { state: Closed, epoch: 0, failures: 3 }"
    );
}

fn an_open_snapshot_tells_when_it_opened_and_what_is_left<W: AnyWord>() {
    let clock = ManualClock::starting_at(1_000);
    let breaker = breaker::<W>(rules().open_for(ms(62)), &clock);
    breaker.trip();
    clock.advance(ms(20));
    let snapshot = breaker.snapshot();
    assert_eq!(
        (snapshot.state(), snapshot.trips(), snapshot.epoch()),
        (State::Open, 1, 1)
    );
    assert_eq!(snapshot.opened_at_ms(), Some(1_000));
    assert_eq!(snapshot.open_for(), Some(ms(62)));
    assert_eq!(
        (snapshot.retry_in(), snapshot.is_due()),
        (Some(ms(42)), false)
    );
    assert_eq!(
        format!("{snapshot:?}"),
        "Snapshot { state: Open, epoch: 1, trips: 1, opened_at_ms: Some(1000), \
         open_for: Some(62ms), retry_in: Some(42ms) }"
    );
}

fn an_open_breaker_that_is_due_stays_open_until_somebody_calls<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(62)), &clock);
    breaker.trip();
    clock.advance(ms(61));
    assert!(!breaker.snapshot().is_due());
    clock.advance(ms(1));
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.is_due()), (State::Open, true));
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
    assert!(!free.is_due());

    let _second = breaker.acquire().unwrap();
    clock.advance(ms(30));
    let full = breaker.snapshot();
    assert_eq!(
        (full.probes_in_flight(), full.retry_in()),
        (2, Some(ms(70)))
    );
    assert_eq!(
        format!("{full:?}"),
        "Snapshot { state: HalfOpen, epoch: 2, trips: 1, probes_in_flight: 2, successes: 1, \
         retry_in: Some(70ms) }"
    );
    clock.advance(ms(70));
    assert!(breaker.snapshot().is_due(), "the probes are lost");
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(0)));
}

fn held_snapshots_say_nothing_else<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.force_open();
    assert_eq!(breaker.snapshot().retry_in(), None);
    assert_eq!(
        format!("{:?}", breaker.snapshot()),
        "Snapshot { state: ForcedOpen, epoch: 1 }"
    );
    breaker.disable();
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(0)));
    assert_eq!(
        format!("{:?}", breaker.snapshot()),
        "Snapshot { state: Disabled, epoch: 2 }"
    );
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
    let breaker = Breaker::over(W::fresh(), rules().tick_log2_ms(0), NoClock);
    assert_eq!(breaker.state(), State::Closed);
}

on_both_words!(
    a_closed_snapshot_counts_failures,
    an_open_snapshot_tells_when_it_opened_and_what_is_left,
    an_open_breaker_that_is_due_stays_open_until_somebody_calls,
    a_half_open_snapshot_counts_probes_and_successes,
    held_snapshots_say_nothing_else,
    epochs_wrap_where_documented,
    the_state_alone_reads_no_clock,
);
