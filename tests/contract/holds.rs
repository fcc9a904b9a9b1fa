// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds that an operator sets: forced open, disabled, and both.

use atomic_breaker::{Control, ManualClock, State, Transition};

use super::support::{AnyWord, breaker, fail, ms, on_both_words, rules};

use State::{Closed, Disabled, ForcedOpen, HalfOpen};

fn forced_open_rejects_until_released_and_says_so<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.force_open();
    for _ in 0..20 {
        clock.advance(ms(10_000));
        let rejected = breaker.acquire().unwrap_err();
        assert_eq!((rejected.state(), rejected.retry_in()), (ForcedOpen, None));
    }
}

fn a_released_breaker_finds_out_by_a_probe<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.force_open();
    breaker.release();
    let probe = breaker.acquire().unwrap();
    assert!(probe.is_probe());
    assert!(breaker.acquire().is_err());
    probe.success();
    assert_eq!(breaker.state(), Closed);
}

fn a_disabled_breaker_passes_everything_and_learns_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(1), &clock);
    breaker.disable();
    fail(&breaker, 100);
    assert_eq!(breaker.state(), Disabled);
    breaker.enable();
    assert_eq!(breaker.state(), Closed);
    assert_eq!(breaker.snapshot().failures(), 0);
}

/// Two operators: one keeps all calls off the device, the other one trusts no breaker. Each hold ends with its
/// own command, in either order.
fn forced_open_and_disabled_do_not_erase_each_other<W: AnyWord>() {
    type Step = fn(&dyn Control) -> Option<Transition>;
    let (force_open, release): (Step, Step) = (|it| it.force_open(), |it| it.release());
    let (disable, enable): (Step, Step) = (|it| it.disable(), |it| it.enable());
    let histories: [&[(Step, State)]; 4] = [
        &[
            (force_open, ForcedOpen),
            (disable, Disabled),
            (release, Disabled),
            (enable, Closed),
        ],
        &[
            (force_open, ForcedOpen),
            (disable, Disabled),
            (enable, ForcedOpen),
            (release, HalfOpen),
        ],
        &[
            (disable, Disabled),
            (force_open, ForcedOpen),
            (release, Disabled),
            (enable, Closed),
        ],
        &[
            (disable, Disabled),
            (force_open, ForcedOpen),
            (enable, ForcedOpen),
            (release, HalfOpen),
        ],
    ];
    for history in histories {
        let clock = ManualClock::new();
        let breaker = breaker::<W>(rules(), &clock);
        for (step, state) in history {
            step(&breaker);
            assert_eq!(breaker.state(), *state);
            assert_eq!(breaker.check(), Ok(()));
            assert_eq!(breaker.acquire().is_ok(), *state != ForcedOpen);
        }
    }
}

fn the_later_of_both_can_be_taken_again_from_the_earlier<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.force_open();
    for _ in 0..2 * W::EPOCHS {
        assert_eq!(breaker.disable().map(|made| made.to), Some(Disabled));
        assert_eq!(breaker.force_open().map(|made| made.to), Some(ForcedOpen));
    }
    breaker.reset();
    assert_eq!(breaker.state(), Closed, "one reset ends both");
}

on_both_words!(
    forced_open_rejects_until_released_and_says_so,
    a_released_breaker_finds_out_by_a_probe,
    a_disabled_breaker_passes_everything_and_learns_nothing,
    forced_open_and_disabled_do_not_erase_each_other,
    the_later_of_both_can_be_taken_again_from_the_earlier,
);
