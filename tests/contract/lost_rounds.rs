// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds of probes that do not report within their lease, and the lease that grows with each of them.

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Cause, Config, ManualClock, Permit, State, Wait};

use super::support::{AnyWord, Diary, Tested, breaker, ms, observed, on_both_words, rules};

fn half_open<W: AnyWord>(config: Config, clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(config.open_for(ms(0)), clock);
    breaker.trip();
    breaker
}

fn the_lease_doubles_with_each_round_lost_in_a_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)), &clock);
    let _lost = breaker.acquire().unwrap().into_token();
    for lost in 0..3 + u32::from(W::MAX_LOST_ROUNDS) {
        let counted = lost.min(W::MAX_LOST_ROUNDS.into());
        assert_eq!(u32::from(breaker.snapshot().lost_rounds()), counted);
        let lease = (100_u64 << counted).min(W::LONGEST.into());
        let wait = breaker.acquire().unwrap_err().wait();
        assert_eq!(wait, Wait::AtMost(ms(lease)), "after {lost}");
        clock.advance(ms(lease - 1));
        assert!(breaker.acquire().is_err(), "after {lost}");
        clock.advance(ms(1));
        let _lost = breaker.acquire().unwrap().into_token();
    }
}

fn after_a_lost_round_there_is_one_probe_at_a_time<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().probes(3).close_after(5).probe_lease(ms(100));
    let breaker = half_open::<W>(config, &clock);
    let _lost = [(); 3].map(|()| breaker.acquire().unwrap().into_token());
    clock.advance(ms(100));
    for successes in 0..5 {
        assert_eq!(breaker.snapshot().successes(), successes);
        let probe = breaker.acquire().unwrap();
        assert!(breaker.acquire().is_err(), "the second after {successes}");
        clock.advance(ms(150));
        probe.success();
    }
    assert_eq!(breaker.state(), State::Closed);
}

fn lost_rounds_are_forgotten_when_half_open_ends<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().probes(2).probe_lease(ms(100));
    let breaker = half_open::<W>(config, &clock);
    for end in [Permit::success, Permit::failure] {
        let _lost = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        clock.advance(ms(100));
        let _lost = breaker.acquire().unwrap().into_token();
        clock.advance(ms(200));
        let probe = breaker.acquire().unwrap();
        assert_eq!(breaker.snapshot().lost_rounds(), 2);
        end(probe);
        if breaker.state() == State::HalfOpen {
            end(breaker.acquire().unwrap());
        }
        breaker.trip();
        assert_eq!(breaker.snapshot().lost_rounds(), 0);
        clock.advance(breaker.snapshot().retry_in().unwrap());
        let _probe = breaker.acquire().unwrap().into_token();
        assert_eq!(breaker.snapshot().lost_rounds(), 0);
        let _probe = breaker.acquire().unwrap().into_token();
        let wait = breaker.acquire().unwrap_err().wait();
        assert_eq!(wait, Wait::AtMost(ms(100)), "the lease as configured");
        breaker.trip();
        clock.advance(breaker.snapshot().retry_in().unwrap());
    }
}

fn successes_outlast_lost_rounds_but_no_trip<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().probe_lease(ms(100)).open_for(ms(10)).close_after(4);
    let breaker = half_open::<W>(config, &clock);
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    for lost in 0..6 {
        let _lost = breaker.acquire().unwrap().into_token();
        clock.advance(ms(100 << lost.min(4)));
        assert_eq!(breaker.snapshot().successes(), 1);
    }
    let probe = breaker.acquire().unwrap();
    assert_eq!(
        (
            breaker.snapshot().successes(),
            breaker.snapshot().lost_rounds()
        ),
        (1, 4)
    );
    probe.success();
    assert_eq!(breaker.snapshot().successes(), 2);
    breaker.acquire().unwrap().failure();
    clock.advance(breaker.snapshot().retry_in().unwrap());
    for successes in 0..4 {
        assert_eq!(
            breaker.snapshot().successes(),
            successes,
            "a trip forgets them"
        );
        breaker.acquire().unwrap().success();
    }
    assert_eq!(breaker.state(), State::Closed);
}

fn a_lost_round_keeps_the_trips_in_a_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules()
        .probe_lease(ms(100))
        .open_for(ms(10))
        .exponential(2, ms(80));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().failure();
    clock.advance(ms(20));
    let _lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(100));
    let probe = breaker.acquire().unwrap();
    assert_eq!(breaker.snapshot().trips(), 2);
    probe.failure();
    assert_eq!(
        breaker.snapshot().retry_in(),
        Some(ms(40)),
        "the third trip"
    );
}

/// The lease used to be rounded up to a tick and doubled then: after four rounds up to 14 ticks late.
#[test]
fn a_doubled_lease_is_at_most_two_ticks_late() {
    for lease in [65, 70, 100, 129, 1_000, 30_000] {
        let clock = ManualClock::starting_at(1);
        let config = Config::new().open_for(ms(0)).probe_lease(ms(lease));
        let breaker = Breaker::over(AtomicU32::new(0), config, &clock);
        breaker.trip();
        clock.advance(ms(64));
        for lost in 0..6_u32 {
            let _lost = breaker.acquire().unwrap().into_token();
            let wait = breaker.snapshot().wait();
            let Some(Wait::AtMost(wait)) = wait else {
                panic!("{wait:?}")
            };
            let exact = ms(lease << lost.min(4));
            assert!(
                (exact..=exact + ms(128)).contains(&wait),
                "{lease}, {lost}: {wait:?}"
            );
            clock.advance(wait);
        }
    }
}

/// A released breaker has not tripped; its first lost round counts as a trip.
fn a_lost_round_after_a_release_counts_as_the_first_trip<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().probe_lease(ms(100)), &clock);
    breaker.force_open();
    breaker.release();
    assert_eq!(breaker.snapshot().trips(), 0);
    let _lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(100));
    let probe = breaker.acquire().unwrap();
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.trips(), snapshot.lost_rounds()), (1, 1));
    assert_eq!(snapshot.state(), State::HalfOpen);
    assert_eq!(breaker.check(), Ok(()));
    probe.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn a_probe_given_back_after_a_lost_round_frees_its_slot_at_once<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)).close_after(2), &clock);
    let _lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(100));
    for _ in 0..3 {
        drop(breaker.acquire().unwrap());
        assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    }
    let _probe = breaker.acquire().unwrap().into_token();
    let snapshot = breaker.snapshot();
    assert_eq!(
        (snapshot.lost_rounds(), snapshot.probes_in_flight()),
        (1, 1)
    );
    assert_eq!(
        snapshot.wait(),
        Some(Wait::AtMost(ms(200))),
        "still doubled"
    );
}

fn each_lost_round_is_reported<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let breaker = observed::<W>(rules().open_for(ms(0)).probe_lease(ms(100)), &clock, &diary);
    breaker.trip();
    let _lost = breaker.acquire().unwrap().into_token();
    for lost in 0..3 {
        diary.transitions.take();
        clock.advance(ms(100 << lost));
        let _lost = breaker.acquire().unwrap().into_token();
        let reported = diary.transitions.borrow();
        assert_eq!(reported.len(), 1);
        let (from, to, cause) = (reported[0].from, reported[0].to, reported[0].cause);
        assert_eq!((from, to), (State::HalfOpen, State::HalfOpen));
        assert_eq!((cause, reported[0].trips), (Cause::ProbeLost, 1));
    }
}

on_both_words!(
    the_lease_doubles_with_each_round_lost_in_a_row,
    after_a_lost_round_there_is_one_probe_at_a_time,
    lost_rounds_are_forgotten_when_half_open_ends,
    successes_outlast_lost_rounds_but_no_trip,
    a_lost_round_keeps_the_trips_in_a_row,
    a_lost_round_after_a_release_counts_as_the_first_trip,
    a_probe_given_back_after_a_lost_round_frees_its_slot_at_once,
    each_lost_round_is_reported,
);
