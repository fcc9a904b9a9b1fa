// SPDX-License-Identifier: MIT OR Apache-2.0
//! The present state of the word, compared with an earlier snapshot or transition.

use std::cell::RefCell;

use atomic_breaker::word::Bits;
use atomic_breaker::{Breaker, Cause, ManualClock, Observer, Present, State, Transition};

use super::support::{AnyWord, breaker, on_both_words, rules};

fn transitions_since_counts_all_of_them_modulo_the_epochs<W: AnyWord>() {
    let clock = ManualClock::new();
    let word = W::fresh();
    let here = Breaker::over(&word, rules(), &clock);
    let elsewhere = Breaker::over(&word, rules(), &clock);

    let tripped = here.trip().unwrap();
    for since in 0..2 * W::EPOCHS {
        assert_eq!(
            u32::from(here.transitions_since(&tripped)),
            since % W::EPOCHS
        );
        elsewhere.reset().unwrap();
    }
}

fn a_quiet_wrap_of_the_clock_and_a_step_back_change_no_order<W: AnyWord>() {
    let clock = ManualClock::starting_at(10_000);
    let breaker = breaker::<W>(rules(), &clock);
    let first = breaker.trip().unwrap();
    // 24.9 to 49.7 days later a comparison of the times says "before".
    clock.set_ms(10_000_u32.wrapping_add(3 << 30));
    let second = breaker.reset().unwrap();
    clock.set_ms(10_000_u32.wrapping_add(3 << 30).wrapping_sub(2_000));
    let third = breaker.trip().unwrap();
    let since = [first, second, third].map(|made| breaker.transitions_since(&made));
    assert_eq!(since, [2, 1, 0]);
}

fn a_corrupt_word_counts_as_healed<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = Breaker::over(W::from(W::Bits::from_u64(1)), rules(), &clock);
    let made = Transition::new(State::Closed, State::Open, Cause::Manual);
    assert_eq!(breaker.transitions_since(&made), 1);
    let healed = breaker.trip().unwrap();
    assert_eq!(healed.epoch, 2);
    assert_eq!(breaker.transitions_since(&healed), 0);
}

/// Prints what it would answer, for a log.
fn what_is_printed_of_the_present_is_its_state_and_epoch<W: AnyWord>() {
    struct Printed(RefCell<Vec<String>>);

    impl Observer for Printed {
        fn changed(&self, _made: &Transition, present: Present<'_>) {
            self.0.borrow_mut().push(format!("{present:?}"));
        }
    }

    let clock = ManualClock::new();
    let breaker = Breaker::builder(rules(), &clock)
        .word(W::fresh())
        .observer(Printed(RefCell::default()))
        .build();
    breaker.trip();
    breaker.reset();
    let printed = breaker.observer().0.borrow();
    let expected = [
        "Present { state: Open, epoch: 1 }",
        "Present { state: Closed, epoch: 2 }",
    ];
    assert_eq!(*printed, expected);
}

/// Two callers may report two transitions in either order.
fn of_two_transitions_the_nearer_one_is_the_later<W: AnyWord>() {
    #[derive(Default)]
    struct Judged(RefCell<Vec<Transition>>);

    impl Observer for Judged {
        fn changed(&self, made: &Transition, present: Present<'_>) {
            assert_eq!((present.state(), present.epoch()), (made.to, made.epoch));
            assert!(present.is_nearer(made, made));
            let before = &mut *self.0.borrow_mut();
            for earlier in &*before {
                assert!(present.is_nearer(made, earlier), "{made:?} {earlier:?}");
                assert!(!present.is_nearer(earlier, made), "{earlier:?} {made:?}");
                // Of the same number, but to another state: from before all epochs came by.
                let mut wrapped = *made;
                wrapped.to = earlier.from;
                let is_other = wrapped.to != made.to;
                assert_eq!(present.is_nearer(&wrapped, earlier), !is_other);
            }
            before.push(*made);
        }
    }

    let clock = ManualClock::new();
    let breaker = Breaker::builder(rules(), &clock)
        .word(W::fresh())
        .observer(Judged::default())
        .build();
    breaker.trip();
    breaker.reset();
    breaker.trip();
    breaker.force_open();
    assert_eq!(breaker.observer().0.borrow().len(), 4);
}

fn what_is_printed_of_a_breaker_is_a_snapshot_and_its_rules<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.trip();
    let (printed, shown) = (format!("{breaker:?}"), breaker.snapshot());
    let (snapshot, config) = (format!("{shown:?}"), format!("{:?}", breaker.config()));
    assert!(
        printed.contains(&snapshot) && printed.contains(&config),
        "{printed}"
    );
}

on_both_words!(
    of_two_transitions_the_nearer_one_is_the_later,
    what_is_printed_of_a_breaker_is_a_snapshot_and_its_rules,
    transitions_since_counts_all_of_them_modulo_the_epochs,
    a_quiet_wrap_of_the_clock_and_a_step_back_change_no_order,
    a_corrupt_word_counts_as_healed,
    what_is_printed_of_the_present_is_its_state_and_epoch,
);
