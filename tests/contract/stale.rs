// SPDX-License-Identifier: MIT OR Apache-2.0
//! A permit of an earlier epoch changes nothing, whatever it reports; only a demand of the epoch that
//! has just ended by opening moves the deadline.

use atomic_breaker::{Config, Failure, ManualClock, Outcome, Permit, State, Token, Transition};

use super::support::{AnyWord, Tested, breaker, ms, on_both_words, rules};

type Report<W> = fn(Permit<&Tested<'_, W>>) -> Option<Transition>;
type Change<W> = fn(&Tested<'_, W>, &ManualClock);

/// The wait that the demanding report asks for.
const DEMAND_MS: u64 = 1_000;

/// Everything that a permit can report; the demand comes first.
fn reports<W: AnyWord>() -> [Report<W>; 8] {
    [
        |permit| permit.report(Failure::tripping_for(ms(DEMAND_MS))),
        |permit| permit.success(),
        |permit| permit.failure(),
        |permit| permit.report(Failure::with_weight(9)),
        |permit| permit.report(Failure::tripping()),
        |permit| permit.report(Outcome::Ignored),
        |permit| permit.cancel(),
        |permit| {
            drop(permit);
            None
        },
    ]
}

/// Ways through one or more transitions, ending in each state.
fn changes<W: AnyWord>() -> [Change<W>; 13] {
    [
        |breaker, _| {
            breaker.trip();
        },
        |breaker, _| {
            breaker.reset();
        },
        |breaker, _| {
            breaker.force_open();
        },
        |breaker, _| {
            breaker.disable();
        },
        |breaker, _| {
            breaker.disable();
            breaker.enable();
        },
        |breaker, _| {
            breaker.force_open();
            breaker.release();
        },
        |breaker, clock| {
            breaker.trip();
            clock.advance(ms(10));
            let _probe = breaker.acquire().unwrap().into_token();
        },
        |breaker, clock| {
            breaker.trip();
            clock.advance(ms(10));
            breaker.acquire().unwrap().failure();
        },
        |breaker, clock| {
            breaker.trip();
            clock.advance(ms(10));
            breaker.acquire().unwrap().success();
            breaker.acquire().unwrap().failure();
        },
        |breaker, clock| {
            breaker.trip();
            clock.advance(ms(10));
            let _lost = breaker.acquire().unwrap().into_token();
            clock.advance(ms(10_000));
            let _new = breaker.acquire().unwrap().into_token();
        },
        // Closed and clear again, a moment later.
        |breaker, clock| {
            clock.advance(ms(3));
            breaker.reset();
        },
        // Closed again, with a failure that must be neither cleared nor added to.
        |breaker, _| {
            breaker.reset();
            breaker.acquire().unwrap().failure();
        },
        |breaker, clock| {
            breaker.trip();
            clock.advance(ms(10));
            breaker.acquire().unwrap().success();
            breaker.acquire().unwrap().report(Failure::with_weight(1));
        },
    ]
}

fn config() -> Config {
    rules().consecutive_failures(2).open_for(ms(10))
}

/// If no call is timed, reports take shorter paths; and a return has its own time.
fn configs() -> [Config; 3] {
    let measured = config().slow_call(ms(5));
    [config(), measured, measured.gradual_return(100, ms(50))]
}

fn every<W: AnyWord>() -> impl Iterator<Item = (Change<W>, Config)> {
    let with_each = |config| changes::<W>().map(|change| (change, config));
    configs().into_iter().flat_map(with_each)
}

/// Reports a permit whose epoch is over: nothing changes, except for the demand if the breaker opened by one
/// transition: then the deadline moves, and nothing else does.
fn report_late<W: AnyWord>(
    breaker: &Tested<'_, W>,
    permit: Permit<&Tested<'_, W>>,
    (which, report): (usize, Report<W>),
    transitions: u32,
) {
    let (bits, before) = (breaker.to_bits(), breaker.snapshot());
    assert!(!permit.still_counts());
    assert_eq!(report(permit), None, "no transition");
    if which == 0 && transitions == 1 && before.state() == State::Open {
        let after = breaker.snapshot();
        assert_eq!(after.retry_in(), Some(ms(DEMAND_MS)));
        assert!(after.is_demanded() && !before.is_demanded());
        assert_eq!(
            (after.state(), after.epoch(), after.trips()),
            (before.state(), before.epoch(), before.trips())
        );
    } else {
        assert_eq!(breaker.to_bits(), bits);
    }
}

fn a_closed_permit_changes_nothing_after_any_transition<W: AnyWord>() {
    for report in reports::<W>().into_iter().enumerate() {
        for (change, config) in every::<W>() {
            let clock = ManualClock::starting_at(100);
            let breaker = breaker::<W>(config, &clock);
            let permit = breaker.acquire().unwrap();
            change(&breaker, &clock);
            let transitions = breaker.snapshot().epoch().into();
            report_late(&breaker, permit, report, transitions);
        }
    }
}

/// Whatever the state in which it was granted, and as long as that state lasts.
fn a_permit_counts_until_a_transition<W: AnyWord>() {
    for (change, config) in every::<W>() {
        let clock = ManualClock::starting_at(100);
        let breaker = breaker::<W>(config.probes(2), &clock);
        let is_current = |permit: &Permit<&Tested<'_, W>>| {
            assert!(permit.still_counts());
            if let Ok(other) = breaker.acquire() {
                other.report(Outcome::Ignored);
            }
            clock.advance(ms(2));
            permit.still_counts()
        };
        let early = breaker.acquire().unwrap();
        assert!(is_current(&early));
        change(&breaker, &clock);
        assert!(!early.still_counts());
        if let Ok(permit) = breaker.acquire() {
            let learns = breaker.state() != State::Disabled;
            assert_eq!(permit.still_counts(), learns);
            assert!(!learns || is_current(&permit));
        }
    }
}

fn a_probe_changes_nothing_after_any_transition<W: AnyWord>() {
    for report in reports::<W>().into_iter().enumerate() {
        for (change, config) in every::<W>() {
            let clock = ManualClock::starting_at(100);
            let breaker = breaker::<W>(config, &clock);
            breaker.trip();
            clock.advance(ms(10));
            let probe = breaker.acquire().unwrap();
            let epoch = breaker.snapshot().epoch();
            change(&breaker, &clock);
            let transitions = breaker.snapshot().epoch() - epoch;
            report_late(&breaker, probe, report, transitions.into());
        }
    }
}

fn a_permit_of_a_disabled_breaker_changes_nothing<W: AnyWord>() {
    for report in reports::<W>() {
        let clock = ManualClock::starting_at(100);
        let breaker = breaker::<W>(config(), &clock);
        breaker.disable();
        let before = breaker.to_bits();
        let permit = breaker.acquire().unwrap();
        assert!(!permit.still_counts());
        report(permit);
        assert_eq!(breaker.to_bits(), before);

        let permit = breaker.acquire().unwrap();
        breaker.enable();
        let before = breaker.to_bits();
        assert!(!permit.still_counts());
        report(permit);
        assert_eq!(breaker.to_bits(), before);
    }
}

fn of_several_probes_the_first_failure_silences_the_rest<W: AnyWord>() {
    for (which, report) in reports::<W>().into_iter().enumerate() {
        let clock = ManualClock::starting_at(100);
        let breaker = breaker::<W>(config().probes(3), &clock);
        breaker.trip();
        clock.advance(ms(10));
        let [one, other, third] = [(); 3].map(|()| breaker.acquire().unwrap());
        one.failure();
        report_late(&breaker, other, (which, report), 1);
        clock.advance(breaker.snapshot().retry_in().unwrap());
        let _new = breaker.acquire().unwrap().into_token();
        let before = breaker.to_bits();
        report(third);
        assert_eq!(breaker.to_bits(), before, "half-open again");
    }
}

/// Leads from one probe to another, with as many transitions in between as there are epochs.
fn come_back<W: AnyWord>(breaker: &Tested<'_, W>, transitions: u32) {
    let clock = breaker.clock();
    while breaker.state() == State::HalfOpen {
        breaker.acquire().unwrap().success();
    }
    for _ in 0..W::EPOCHS - transitions {
        breaker.reset();
    }
    breaker.trip();
    clock.advance(ms(10));
}

/// The epoch looks the same again, but the probe was admitted at another time.
fn a_probe_from_a_whole_turn_of_epochs_ago_is_known_by_its_time<W: AnyWord>() {
    for (which, report) in reports::<W>().into_iter().enumerate() {
        let clock = ManualClock::starting_at(100);
        let breaker = breaker::<W>(config(), &clock);
        breaker.trip();
        clock.advance(ms(10));
        let (granted, started) = breaker.acquire().unwrap().into_token().into_raw();
        breaker.resume(Token::from_raw(granted, started)).cancel();
        let epoch = breaker.snapshot().epoch();
        come_back(&breaker, 3);
        let _new = breaker.acquire().unwrap().into_token();
        assert_eq!(breaker.snapshot().epoch(), epoch);
        let old = breaker.resume(Token::from_raw(granted, started));
        report_late(&breaker, old, (which, report), W::EPOCHS);
    }
}

/// After a lost round there is one probe at a time, whatever the rules.
fn after_a_lost_round_a_probe_is_known_by_its_time_too<W: AnyWord>() {
    for (which, report) in reports::<W>().into_iter().enumerate() {
        let clock = ManualClock::starting_at(100);
        let lease = ms(20);
        let breaker = breaker::<W>(config().probes(2).probe_lease(lease), &clock);
        let lose = || {
            let _lost = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
            clock.advance(lease);
        };
        breaker.trip();
        clock.advance(ms(10));
        lose();
        let (granted, started) = breaker.acquire().unwrap().into_token().into_raw();
        breaker.resume(Token::from_raw(granted, started)).cancel();
        let epoch = breaker.snapshot().epoch();
        come_back(&breaker, 4);
        lose();
        let _new = breaker.acquire().unwrap().into_token();
        assert_eq!(breaker.snapshot().epoch(), epoch);
        assert_eq!(breaker.snapshot().lost_rounds(), 1);
        let old = breaker.resume(Token::from_raw(granted, started));
        report_late(&breaker, old, (which, report), W::EPOCHS);
    }
}

/// The documented limit: a whole turn is needed, and fewer transitions are not enough.
fn a_closed_permit_is_mistaken_for_a_current_one_only_after_a_whole_turn_of_epochs<W: AnyWord>() {
    let clock = ManualClock::new();
    for transitions in 1..=W::EPOCHS {
        let breaker = breaker::<W>(config(), &clock);
        let permit = breaker.acquire().unwrap();
        for _ in 0..transitions {
            breaker.reset();
        }
        permit.failure();
        let counted = breaker.snapshot().failures() == 1;
        assert_eq!(counted, transitions == W::EPOCHS, "{transitions}");
    }
}

on_both_words!(
    a_probe_from_a_whole_turn_of_epochs_ago_is_known_by_its_time,
    after_a_lost_round_a_probe_is_known_by_its_time_too,
    a_closed_permit_is_mistaken_for_a_current_one_only_after_a_whole_turn_of_epochs,
    of_several_probes_the_first_failure_silences_the_rest,
    a_closed_permit_changes_nothing_after_any_transition,
    a_permit_counts_until_a_transition,
    a_probe_changes_nothing_after_any_transition,
    a_permit_of_a_disabled_breaker_changes_nothing,
);
