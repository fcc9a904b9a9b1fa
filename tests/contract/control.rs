// SPDX-License-Identifier: MIT OR Apache-2.0
//! Manual control by commands.

use atomic_breaker::{Breaker, Cause, Clock, Control, ManualClock, State, Transition};

use super::support::{AnyWord, Diary, Tested, breaker, fail, ms, on_both_words, rules};

use State::{Closed, Disabled, ForcedOpen, HalfOpen, Open, Returning};

/// The situations in which a command can find a breaker.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Closed,
    Open,
    /// Open because it was demanded.
    Demanded,
    HalfOpen,
    /// Half-open after a lost round.
    Patient,
    Returning,
    ForcedOpen,
    Disabled,
    DisabledOverForcedOpen,
    ForcedOpenOverDisabled,
}

const PLACES: [(Place, State); 10] = [
    (Place::Closed, Closed),
    (Place::Open, Open),
    (Place::Demanded, Open),
    (Place::HalfOpen, HalfOpen),
    (Place::Patient, HalfOpen),
    (Place::Returning, Returning),
    (Place::ForcedOpen, ForcedOpen),
    (Place::Disabled, Disabled),
    (Place::DisabledOverForcedOpen, Disabled),
    (Place::ForcedOpenOverDisabled, ForcedOpen),
];

type Command = fn(&dyn Control) -> Option<Transition>;
/// The state to which a command leads from each of the places; `None` where it does nothing.
type Row = (&'static str, Command, [Option<State>; 10]);

const fn config() -> atomic_breaker::Config {
    rules().open_for(ms(10)).gradual_return(100, ms(100))
}

/// A breaker in the given place, with a non-zero count if the state has one.
fn found_in<W: AnyWord>(place: Place, clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(config(), clock);
    let probe = || {
        breaker.trip();
        clock.advance(ms(10));
        breaker.acquire().unwrap()
    };
    match place {
        Place::Closed => fail(&breaker, 2),
        Place::Open => {
            breaker.trip();
        }
        Place::Demanded => {
            breaker.trip_for(ms(10));
        }
        Place::HalfOpen => {
            let _probe = probe().into_token();
        }
        Place::Patient => {
            let _lost = probe().into_token();
            clock.advance(ms(10_000));
            let _probe = breaker.acquire().unwrap().into_token();
        }
        Place::Returning => {
            probe().success();
            clock.advance(ms(99));
            fail(&breaker, 2);
        }
        Place::ForcedOpen | Place::DisabledOverForcedOpen => {
            breaker.force_open();
        }
        Place::Disabled | Place::ForcedOpenOverDisabled => {
            breaker.disable();
        }
    }
    match place {
        Place::DisabledOverForcedOpen => breaker.disable(),
        Place::ForcedOpenOverDisabled => breaker.force_open(),
        _ => None,
    };
    clock.advance(ms(1));
    breaker
}

fn table() -> [Row; 9] {
    let trips = [Open, Open, Open, Open, Open, Open].map(Some);
    let all = |held: [Option<State>; 4], unheld: Option<State>| {
        let mut to = [unheld; 10];
        to[6..].copy_from_slice(&held);
        to
    };
    let from_open = |plain, demanded, half_open| {
        let mut to = [None; 10];
        (to[1], to[2]) = (plain, demanded);
        (to[3], to[4]) = (half_open, half_open);
        to
    };
    let tripped = {
        let mut to = [None; 10];
        to[..6].copy_from_slice(&trips);
        to
    };
    let (forced, disabled) = (Some(ForcedOpen), Some(Disabled));
    [
        ("trip", |it| it.trip(), tripped),
        ("trip_for", |it| it.trip_for(ms(20)), tripped),
        (
            "force_open",
            |it| it.force_open(),
            all([None, forced, forced, None], forced),
        ),
        (
            "release",
            |it| it.release(),
            all([Some(HalfOpen), None, disabled, disabled], None),
        ),
        ("reset", |it| it.reset(), [Some(Closed); 10]),
        (
            "disable",
            |it| it.disable(),
            all([disabled, None, None, disabled], disabled),
        ),
        (
            "enable",
            |it| it.enable(),
            all([None, Some(Closed), forced, forced], None),
        ),
        (
            "probe_now",
            |it| it.probe_now(),
            from_open(Some(HalfOpen), Some(HalfOpen), Some(HalfOpen)),
        ),
        (
            "probe_early",
            |it| it.probe_early(),
            from_open(Some(HalfOpen), None, None),
        ),
    ]
}

fn each_command_leads_where_it_should_in_one_epoch_or_does_nothing<W: AnyWord>() {
    for (name, command, targets) in table() {
        for ((place, from), to) in PLACES.into_iter().zip(targets) {
            let clock = ManualClock::new();
            let breaker = found_in::<W>(place, &clock);
            assert_eq!(breaker.state(), from);
            let (bits, epoch) = (breaker.to_bits(), breaker.snapshot().epoch());
            let answer = command(&breaker);
            assert_eq!(answer.map(|made| made.to), to, "{name} from {place:?}");
            if let Some(to) = to {
                assert_eq!(breaker.state(), to, "{name} from {place:?}");
                assert_eq!(breaker.snapshot().epoch(), epoch + 1, "{name}, {place:?}");
            } else {
                assert_eq!(breaker.to_bits(), bits, "{name} from {place:?}");
            }
        }
    }
}

fn each_command_notifies_the_observer_of_what_it_returns<W: AnyWord>() {
    for (name, command, _) in table() {
        for (place, from) in PLACES {
            let clock = ManualClock::starting_at(77);
            let word = W::from(found_in::<W>(place, &clock).to_bits());
            let diary = Diary::default();
            let breaker = Breaker::builder(config(), &clock)
                .word(word)
                .observer(&diary)
                .build();
            let answer = command(&breaker);
            let reported = diary.transitions.take();
            assert_eq!(reported, Vec::from_iter(answer), "{name} from {place:?}");
            if let Some(transition) = answer {
                assert_eq!(transition.from, from, "{name} from {place:?}");
                assert_eq!(transition.to, breaker.state(), "{name} from {place:?}");
                assert_eq!(transition.cause, Cause::Manual);
                assert_eq!(transition.at_ms, clock.now_ms());
                assert_eq!(transition.epoch, breaker.snapshot().epoch());
                assert_eq!(transition.trips, breaker.snapshot().trips());
            }
        }
    }
}

fn a_trip_by_hand_grows_with_trips_but_not_when_open_already<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)).exponential(2, ms(40)), &clock);
    breaker.trip();
    clock.advance(ms(4));
    breaker.trip();
    assert_eq!(breaker.snapshot().trips(), 1);
    assert_eq!(
        breaker.acquire().unwrap_err().retry_in(),
        Some(ms(10)),
        "a whole open time again"
    );
    clock.advance(ms(10));
    let _probe = breaker.acquire().unwrap();
    breaker.trip();
    assert_eq!(breaker.snapshot().trips(), 2);
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(20)));
}

fn a_probe_now_goes_on_counting_trips<W: AnyWord>() {
    let clock = ManualClock::new();
    for probe in [Breaker::probe_now, Breaker::probe_early] {
        let breaker = breaker::<W>(rules().open_for(ms(10)).exponential(2, ms(40)), &clock);
        breaker.trip();
        probe(&breaker);
        assert_eq!(breaker.snapshot().trips(), 1);
        breaker.acquire().unwrap().failure();
        assert_eq!(breaker.snapshot().retry_in(), Some(ms(20)));
        probe(&breaker);
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), Returning);
        assert_eq!(breaker.snapshot().trips(), 2);
    }
}

fn a_reset_clears_the_count_and_the_growth<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)).exponential(2, ms(40)), &clock);
    fail(&breaker, 3);
    breaker.reset();
    assert_eq!(breaker.snapshot().failures(), 0);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().failure();
    breaker.reset();
    breaker.trip();
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(10)));
}

/// If probes hang, an operator who knows better need not wait for the lease.
fn a_probe_now_while_half_open_begins_a_new_round<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)).probe_lease(ms(100)), &clock);
    breaker.trip();
    clock.advance(ms(10));
    let lost = breaker.acquire().unwrap();
    clock.advance(ms(100));
    let hangs = breaker.acquire().unwrap();
    assert_eq!(breaker.snapshot().lost_rounds(), 1);
    assert!(breaker.acquire().is_err());

    let made = breaker.probe_now().unwrap();
    assert_eq!(
        (made.from, made.to, made.cause),
        (HalfOpen, HalfOpen, Cause::Manual)
    );
    assert_eq!(made.trips, 1, "should the probe fail, the open time grows");
    assert_eq!(breaker.snapshot().lost_rounds(), 0);
    assert_eq!(
        (lost.failure(), hangs.failure()),
        (None, None),
        "presumed lost"
    );
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), Closed);
}

on_both_words!(
    a_probe_now_while_half_open_begins_a_new_round,
    each_command_leads_where_it_should_in_one_epoch_or_does_nothing,
    each_command_notifies_the_observer_of_what_it_returns,
    a_probe_now_goes_on_counting_trips,
    a_trip_by_hand_grows_with_trips_but_not_when_open_already,
    a_reset_clears_the_count_and_the_growth,
);
