// SPDX-License-Identifier: MIT OR Apache-2.0
//! An observer that panics loses nothing: the word is changed before observers are notified, and a slot that
//! was taken is given back.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use atomic_breaker::word::Bits;
use atomic_breaker::{
    Breaker, Cause, Config, Failure, ManualClock, Observer, Outcome, Permit, Rejected, State,
    Transition,
};

use super::support::{AnyWord, ms, on_both_words, rules};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Notice {
    Transition(Cause),
    Rejected,
    Outcome,
    Cancelled,
}

/// Panics when it is notified of one kind of event.
#[derive(Default)]
struct Fragile(Cell<Option<Notice>>);

impl Fragile {
    fn notify(&self, notice: Notice) {
        if self.0.get() == Some(notice) {
            self.0.set(None);
            // Without the message of the panic hook.
            resume_unwind(Box::new(()));
        }
    }
}

impl Observer for Fragile {
    fn transition(&self, transition: &Transition) {
        self.notify(Notice::Transition(transition.cause));
    }

    fn rejected(&self, _rejected: Rejected) {
        self.notify(Notice::Rejected);
    }

    fn outcome(&self, _outcome: Outcome) {
        self.notify(Notice::Outcome);
    }

    fn cancelled(&self) {
        self.notify(Notice::Cancelled);
    }
}

type Tested<'a, W> = Breaker<&'a ManualClock, W, (), &'a Fragile>;

fn config() -> Config {
    rules()
        .consecutive_failures(2)
        .open_for(ms(10))
        .probe_lease(ms(100))
        .cancel_limit(ms(20))
}

fn with<W: AnyWord>(config: Config, test: impl Fn(&Tested<'_, W>, &dyn Fn(Notice, &dyn Fn()))) {
    let (clock, fragile) = (ManualClock::new(), Fragile::default());
    let breaker = Breaker::builder(config, &clock)
        .word(W::fresh())
        .observer(&fragile)
        .build();
    let panics = |notice, act: &dyn Fn()| {
        fragile.0.set(Some(notice));
        catch_unwind(AssertUnwindSafe(act)).expect_err("it was notified");
        assert_eq!(fragile.0.get(), None);
        assert_eq!(breaker.check(), Ok(()));
    };
    test(&breaker, &panics);
}

fn due<W: AnyWord>(breaker: &Tested<'_, W>) {
    breaker.trip();
    breaker.clock().advance(ms(10));
}

fn half_open<W: AnyWord>(breaker: &Tested<'_, W>) {
    due(breaker);
    drop(breaker.acquire().unwrap());
    assert_eq!(breaker.state(), State::HalfOpen);
}

/// If the observer panicked when it was notified of an admission, the probe's slot used to stay taken.
fn an_admission_that_panics_leaves_no_slot_taken<W: AnyWord>() {
    with::<W>(config(), |breaker, panics| {
        due(breaker);
        panics(Notice::Transition(Cause::OpenTimeOver), &|| {
            drop(breaker.acquire());
        });
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.state(), State::HalfOpen, "the transition stands");
        assert_eq!(snapshot.probes_in_flight(), 0);
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Closed);
    });
}

fn a_new_round_that_panics_leaves_no_slot_taken<W: AnyWord>() {
    with::<W>(config(), |breaker, panics| {
        due(breaker);
        let _lost = breaker.acquire().unwrap().into_token();
        breaker.clock().advance(ms(100));
        panics(Notice::Transition(Cause::ProbeLost), &|| {
            drop(breaker.acquire());
        });
        let snapshot = breaker.snapshot();
        assert_eq!(
            (snapshot.lost_rounds(), snapshot.probes_in_flight()),
            (1, 0)
        );
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Closed);
    });
}

fn the_end_of_a_return_that_panics_stands<W: AnyWord>() {
    with::<W>(config().gradual_return(100, ms(50)), |breaker, panics| {
        due(breaker);
        breaker.acquire().unwrap().success();
        breaker.clock().advance(ms(50));
        panics(Notice::Transition(Cause::TrafficReturned), &|| {
            drop(breaker.acquire());
        });
        assert_eq!(breaker.state(), State::Closed);
        assert!(breaker.acquire().is_ok());
    });
}

fn a_rejection_that_panics_changes_nothing<W: AnyWord>() {
    with::<W>(config(), |breaker, panics| {
        breaker.trip();
        let bits = breaker.to_bits();
        panics(Notice::Rejected, &|| drop(breaker.acquire()));
        assert_eq!(breaker.to_bits(), bits);
        breaker.clock().advance(ms(10));
        let _probe = breaker.acquire().unwrap();
        panics(Notice::Rejected, &|| drop(breaker.acquire()));
        assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    });
}

fn an_outcome_that_panics_was_counted<W: AnyWord>() {
    with::<W>(config(), |breaker, panics| {
        panics(Notice::Outcome, &|| {
            let _ = breaker.acquire().unwrap().failure();
        });
        assert_eq!(breaker.snapshot().failures(), 1);
        panics(Notice::Outcome, &|| {
            let _ = breaker.acquire().unwrap().success();
        });
        assert_eq!(breaker.snapshot().failures(), 0);
        let heavy = Failure::with_weight(2);
        panics(Notice::Outcome, &|| {
            let _ = breaker.acquire().unwrap().report(heavy);
        });
        assert_eq!(breaker.state(), State::Open);
    });
}

fn an_outcome_of_a_probe_that_panics_leaves_no_slot_taken<W: AnyWord>() {
    type End<W> = for<'a, 'b> fn(Permit<&'a Tested<'b, W>>);
    let ends: [(End<W>, State); 4] = [
        (
            |it| {
                it.success();
            },
            State::Closed,
        ),
        (
            |it| {
                it.failure();
            },
            State::Open,
        ),
        (
            |it| {
                it.report(Failure::tripping());
            },
            State::Open,
        ),
        (
            |it| {
                it.report(Outcome::Ignored);
            },
            State::HalfOpen,
        ),
    ];
    for (end, state) in ends {
        with::<W>(config(), |breaker, panics| {
            half_open(breaker);
            panics(Notice::Outcome, &|| end(breaker.acquire().unwrap()));
            let snapshot = breaker.snapshot();
            assert_eq!((snapshot.state(), snapshot.probes_in_flight()), (state, 0));
        });
    }
}

fn a_transition_of_a_report_that_panics_stands<W: AnyWord>() {
    with::<W>(config(), |breaker, panics| {
        breaker.acquire().unwrap().failure();
        panics(Notice::Transition(Cause::FailureLimit), &|| {
            let _ = breaker.acquire().unwrap().failure();
        });
        assert_eq!(breaker.state(), State::Open);
        breaker.clock().advance(ms(10));
        drop(breaker.acquire().unwrap());
        panics(Notice::Transition(Cause::ProbesSucceeded), &|| {
            let _ = breaker.acquire().unwrap().success();
        });
        assert_eq!(breaker.state(), State::Closed);
    });
}

fn a_drop_that_panics_leaves_no_slot_taken<W: AnyWord>() {
    with::<W>(config(), |breaker, panics| {
        panics(Notice::Cancelled, &|| drop(breaker.acquire()));
        half_open(breaker);
        panics(Notice::Cancelled, &|| drop(breaker.acquire()));
        assert_eq!(breaker.snapshot().probes_in_flight(), 0);
        let late = || {
            let probe = breaker.acquire().unwrap();
            breaker.clock().advance(ms(20));
            drop(probe);
        };
        panics(Notice::Transition(Cause::ProbeCancelled), &late);
        assert_eq!(breaker.state(), State::Open);
    });
}

/// If the observer panics in a guarded call, the call is counted once.
fn a_call_around_a_panicking_observer_is_counted_once<W: AnyWord>() {
    with::<W>(config(), |breaker, panics| {
        panics(Notice::Outcome, &|| {
            let _ = breaker.call(|| Err::<(), ()>(()));
        });
        assert_eq!(breaker.snapshot().failures(), 1);
        half_open(breaker);
        panics(Notice::Outcome, &|| {
            let _ = breaker.call(|| Ok::<(), ()>(()));
        });
        assert_eq!(breaker.state(), State::Closed);
    });
}

fn a_command_that_panics_stands<W: AnyWord>() {
    with::<W>(config(), |breaker, panics| {
        panics(Notice::Transition(Cause::Manual), &|| {
            let _ = breaker.trip();
        });
        assert_eq!(breaker.state(), State::Open);
        panics(Notice::Transition(Cause::Manual), &|| {
            let _ = breaker.force_open();
        });
        assert_eq!(breaker.state(), State::ForcedOpen);
    });
}

fn a_healing_that_panics_stands<W: AnyWord>() {
    let (clock, fragile) = (ManualClock::new(), Fragile::default());
    let breaker = Breaker::builder(config(), &clock)
        .word(W::from(W::Bits::from_u64(1)))
        .observer(&fragile)
        .build();
    fragile.0.set(Some(Notice::Transition(Cause::CorruptWord)));
    catch_unwind(AssertUnwindSafe(|| drop(breaker.acquire()))).unwrap_err();
    assert_eq!((breaker.check(), breaker.state()), (Ok(()), State::Closed));
    assert!(breaker.acquire().is_ok());
}

on_both_words!(
    an_admission_that_panics_leaves_no_slot_taken,
    a_new_round_that_panics_leaves_no_slot_taken,
    the_end_of_a_return_that_panics_stands,
    a_rejection_that_panics_changes_nothing,
    an_outcome_that_panics_was_counted,
    an_outcome_of_a_probe_that_panics_leaves_no_slot_taken,
    a_transition_of_a_report_that_panics_stands,
    a_drop_that_panics_leaves_no_slot_taken,
    a_call_around_a_panicking_observer_is_counted_once,
    a_command_that_panics_stands,
    a_healing_that_panics_stands,
);
