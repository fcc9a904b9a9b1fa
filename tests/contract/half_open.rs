// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes; probes that are lost or dropped.

use atomic_breaker::{Config, Failure, ManualClock, Outcome, State, Wait};

use super::support::{AnyWord, Tested, breaker, ms, on_both_words, rules};

fn half_open<W: AnyWord>(config: Config, clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(config.open_for(ms(10)), clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker
}

fn no_more_probes_are_in_flight_than_allowed<W: AnyWord>() {
    for probes in [1, 2, W::MAX_PROBES] {
        let clock = ManualClock::new();
        let breaker = half_open::<W>(rules().probes(probes), &clock);
        let permits: Vec<_> = (0..probes).map(|_| breaker.acquire().unwrap()).collect();
        assert!(permits.iter().all(atomic_breaker::Permit::is_probe));
        let rejected = breaker.acquire().unwrap_err();
        assert_eq!(rejected.state(), State::HalfOpen);
        assert_eq!(u32::from(breaker.snapshot().probes_in_flight()), probes);
        for permit in permits {
            assert_eq!(breaker.state(), State::HalfOpen);
            permit.success();
        }
        assert_eq!(breaker.state(), State::Closed, "all {probes} succeeded");
    }
}

fn a_word_with_a_free_slot_can_be_retired<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probes(2), &clock);
    let first = breaker.acquire().unwrap();
    let second = breaker.acquire().unwrap();
    assert!(!breaker.retire(), "both slots are taken");
    second.cancel();
    assert!(breaker.snapshot().is_due() && breaker.retire());
    assert_eq!(first.failure(), None, "the slot has a new owner");
    assert_eq!(breaker.state(), State::Closed);
}

fn no_more_probes_are_admitted_than_still_needed<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probes(3).close_after(4), &clock);
    breaker.acquire().unwrap().success();
    breaker.acquire().unwrap().success();
    let _two = (breaker.acquire().unwrap(), breaker.acquire().unwrap());
    assert!(
        breaker.acquire().is_err(),
        "two successes of four, two in flight"
    );
}

fn so_many_successes_in_a_row_close<W: AnyWord>() {
    for close_after in [1, 3, W::MAX_PROBES] {
        let clock = ManualClock::new();
        let breaker = half_open::<W>(rules().close_after(close_after), &clock);
        for successes in 0..close_after {
            let snapshot = breaker.snapshot();
            assert_eq!(u32::from(snapshot.successes()), successes);
            breaker.acquire().unwrap().success();
        }
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(breaker.snapshot().failures(), 0);
    }
}

fn a_failure_reopens_and_the_open_time_starts_again<W: AnyWord>() {
    for outcome in [Failure::new(), Failure::with_weight(0), Failure::tripping()] {
        let clock = ManualClock::new();
        let breaker = half_open::<W>(rules().probes(2), &clock);
        breaker.acquire().unwrap().success();
        clock.advance(ms(7));
        breaker.acquire().unwrap().report(outcome);
        assert_eq!(breaker.state(), State::Open);
        assert_eq!(breaker.acquire().unwrap_err().retry_in(), Some(ms(10)));
        clock.advance(ms(10));
        breaker.acquire().unwrap().success();
        assert_eq!(
            breaker.state(),
            State::HalfOpen,
            "successes before do not count"
        );
    }
}

fn dropped_and_ignored_probes_give_their_slots_back_at_once<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules(), &clock);
    for _ in 0..40 {
        drop(breaker.acquire().unwrap());
        breaker.acquire().unwrap().report(Outcome::Ignored);
        breaker.acquire().unwrap().cancel();
    }
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    assert_eq!(breaker.snapshot().successes(), 0);
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

fn a_lost_probe_is_replaced_at_exactly_the_end_of_its_lease<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)), &clock);
    let lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(99));
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(rejected.wait(), Wait::AtMost(ms(1)));
    assert_eq!(rejected.state(), State::HalfOpen);
    clock.advance(ms(1));
    let new = breaker.acquire().unwrap();
    assert!(new.is_probe());
    assert!(breaker.acquire().is_err(), "one slot still");

    breaker.resume(lost).failure();
    assert_eq!(
        breaker.state(),
        State::HalfOpen,
        "the lost one counts no more"
    );
    new.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn the_longest_lease_ends<W: AnyWord>() {
    let clock = ManualClock::new();
    let lease = u64::from(W::LONGEST);
    let breaker = half_open::<W>(rules().probe_lease(ms(lease)), &clock);
    let _lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(lease - 1));
    assert!(breaker.acquire().is_err());
    clock.advance(ms(1));
    assert!(breaker.acquire().is_ok());
}

fn in_sparse_traffic_a_fresh_probe_is_not_taken_away<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probes(2).probe_lease(ms(100)), &clock);
    let _old = breaker.acquire().unwrap().into_token();
    clock.advance(ms(1_000));
    let fresh = breaker.acquire().unwrap();
    clock.advance(ms(50));
    assert!(breaker.acquire().is_err(), "the fresh one is 50 ms old");
    fresh.success();
    assert_eq!(breaker.snapshot().successes(), 1);
}

fn a_slow_probe_whose_slot_was_not_taken_still_counts<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)), &clock);
    let probe = breaker.acquire().unwrap();
    clock.advance(ms(5_000));
    probe.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn a_take_over_begins_a_new_round<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().probes(2).close_after(3).probe_lease(ms(100));
    let breaker = half_open::<W>(config, &clock);
    breaker.acquire().unwrap().success();
    let late = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
    let epoch = breaker.snapshot().epoch();
    clock.advance(ms(100));
    let _new = breaker.acquire().unwrap();
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.epoch(), epoch + 1);
    assert_eq!((snapshot.probes_in_flight(), snapshot.successes()), (1, 1));
    let mut late = late.into_iter();
    breaker.resume(late.next().unwrap()).failure();
    assert_eq!(breaker.snapshot(), snapshot);
    breaker.resume(late.next().unwrap()).success();
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.probes_in_flight(), snapshot.successes()), (1, 2));
}

fn probes_lost_again_and_again_never_wedge<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)), &clock);
    for _ in 0..1_000 {
        let _lost = breaker.acquire().unwrap().into_token();
        let rejected = breaker.acquire().unwrap_err();
        let Wait::AtMost(wait) = rejected.wait() else {
            panic!("{rejected:?}")
        };
        assert!(wait <= ms(W::LONGEST.into()), "{wait:?}");
        clock.advance(wait);
    }
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

on_both_words!(
    no_more_probes_are_in_flight_than_allowed,
    a_word_with_a_free_slot_can_be_retired,
    no_more_probes_are_admitted_than_still_needed,
    so_many_successes_in_a_row_close,
    a_failure_reopens_and_the_open_time_starts_again,
    dropped_and_ignored_probes_give_their_slots_back_at_once,
    a_lost_probe_is_replaced_at_exactly_the_end_of_its_lease,
    the_longest_lease_ends,
    in_sparse_traffic_a_fresh_probe_is_not_taken_away,
    a_slow_probe_whose_slot_was_not_taken_still_counts,
    a_take_over_begins_a_new_round,
    probes_lost_again_and_again_never_wedge,
);
