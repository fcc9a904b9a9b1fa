// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that outlived their clock, because the chip was reset or the process restarted.

use atomic_breaker::word::{AtomicU64, Bits};
use atomic_breaker::{Breaker, Cause, Clock, Config, ManualClock, Rules, SharedClock, State, Wait};

use super::support::{AnyWord, Diary, Observed, fail, ms, on_both_words, rules};

fn config() -> Config {
    rules()
        .open_for(ms(60))
        .probe_lease(ms(500))
        .close_after(2)
        .gradual_return(100, ms(1_000))
}

/// The use of the word by the earlier breaker, whose clock is far from the one after the reset.
type Before<W> = fn(&Observed<'_, W>);

/// The word is taken up after a reset: the clock starts again.
fn restored<W: AnyWord>(
    config: Config,
    before: Before<W>,
    check: impl Fn(&Breaker<&ManualClock, &W, (), &Diary>, Option<Cause>),
) {
    let (word, clock, diary) = (
        W::fresh(),
        ManualClock::starting_at(7_654_321),
        Diary::default(),
    );
    let old = Breaker::builder(config, &clock)
        .word(word)
        .observer(&diary)
        .build();
    before(&old);
    diary.transitions.take();
    let (word, left) = (old.word(), old.snapshot());
    let expected = match left.state() {
        State::Returning => (State::Closed, 0),
        state => (state, left.trips()),
    };

    let clock = ManualClock::starting_at(3);
    let new = Breaker::builder(config, &clock)
        .word(word)
        .observer(&diary)
        .build();
    let bits = new.to_bits();
    let made = new.restore().unwrap();
    let now = new.snapshot();
    assert_eq!(diary.transitions.take(), Vec::from_iter(made));
    assert_eq!((now.state(), now.trips()), expected);
    match made {
        Some(made) => {
            assert_eq!(
                (made.from, made.to, made.cause),
                (left.state(), now.state(), Cause::Restored)
            );
            assert_eq!(
                (made.epoch, made.at_ms, made.trips),
                (now.epoch(), 3, now.trips())
            );
            assert_eq!(
                u32::from(now.epoch()),
                (u32::from(left.epoch()) + 1) % W::EPOCHS
            );
        }
        None => assert_eq!(new.to_bits(), bits),
    }
    assert_eq!(new.check(), Ok(()));
    check(&new, made.map(|made| made.cause));
}

fn trip<W: AnyWord>(breaker: &Observed<'_, W>) {
    breaker.trip();
}

fn half_open<W: AnyWord>(breaker: &Observed<'_, W>) {
    trip(breaker);
    breaker.clock().advance(ms(60));
    breaker.acquire().unwrap().success();
    let _probe = breaker.acquire().unwrap().into_token();
}

fn states_without_a_time_stay_as_they_are<W: AnyWord>() {
    let held: [Before<W>; 7] = [
        |_| {},
        |it| {
            it.reset();
        },
        |it| fail(it, 3),
        |it| {
            it.force_open();
        },
        |it| {
            it.disable();
        },
        |it| {
            it.force_open();
            it.disable();
        },
        |it| {
            it.disable();
            it.force_open();
        },
    ];
    for before in held {
        restored::<W>(config(), before, |_, cause| assert_eq!(cause, None));
    }
    restored::<W>(
        config(),
        |it| fail(it, 3),
        |breaker, _| {
            fail(breaker, 2);
            assert_eq!(breaker.state(), State::Open, "3 before, 2 after");
        },
    );
}

fn half_of_an_open_time_is_left<W: AnyWord>() {
    restored::<W>(config(), trip, |breaker, cause| {
        assert_eq!(cause, Some(Cause::Restored));
        assert_eq!(breaker.snapshot().wait(), Some(Wait::For(ms(30))));
        assert!(!breaker.snapshot().is_demanded());
        breaker.clock().advance(ms(29));
        assert!(breaker.acquire().is_err());
        breaker.clock().advance(ms(1));
        assert!(breaker.acquire().is_ok());
    });
    let almost_over: Before<W> = |it| {
        it.trip();
        it.clock().advance(ms(59));
    };
    restored::<W>(config(), almost_over, |breaker, _| {
        assert_eq!(breaker.snapshot().wait(), Some(Wait::For(ms(30))));
    });
    let demanded: Before<W> = |it| {
        it.trip_for(ms(5_000));
    };
    restored::<W>(config(), demanded, |breaker, _| {
        let snapshot = breaker.snapshot();
        assert!(snapshot.is_demanded() && snapshot.retry_in() >= Some(ms(2_500)));
        assert_eq!(breaker.probe_early(), None);
    });
}

fn probes_in_flight_are_forgotten<W: AnyWord>() {
    restored::<W>(config(), half_open, |breaker, cause| {
        assert_eq!(cause, Some(Cause::Restored));
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.probes_in_flight(), snapshot.successes()), (0, 1));
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Returning, "one before, one after");
    });
    let lost: Before<W> = |it| {
        half_open(it);
        it.clock().advance(ms(500));
        let _probe = it.acquire().unwrap().into_token();
    };
    restored::<W>(config(), lost, |breaker, _| {
        let snapshot = breaker.snapshot();
        assert_eq!(
            (snapshot.lost_rounds(), snapshot.probes_in_flight()),
            (0, 0)
        );
        assert_eq!(snapshot.wait(), None);
    });
}

fn a_window_of_failures_begins_again<W: AnyWord>() {
    let window = config().failures_within(4, ms(100));
    restored::<W>(
        window,
        |it| fail(it, 3),
        |breaker, cause| {
            assert_eq!(cause, Some(Cause::Restored));
            assert_eq!(breaker.snapshot().failures(), 3);
            breaker.clock().advance(ms(99));
            fail(breaker, 1);
            assert_eq!(breaker.state(), State::Open);
        },
    );
    restored::<W>(
        window,
        |it| fail(it, 3),
        |breaker, _| {
            breaker.clock().advance(ms(100));
            fail(breaker, 1);
            assert_eq!(breaker.snapshot().failures(), 1);
        },
    );
}

fn a_gradual_return_is_over<W: AnyWord>() {
    let before: Before<W> = |it| {
        trip(it);
        it.clock().advance(ms(60));
        it.acquire().unwrap().success();
        it.acquire().unwrap().success();
        it.clock().advance(ms(100));
        fail(it, 2);
        assert_eq!(it.state(), State::Returning);
    };
    for config in [config(), config().failures_within(4, ms(100))] {
        restored::<W>(config, before, |breaker, cause| {
            assert_eq!(cause, Some(Cause::Restored));
            assert_eq!(breaker.snapshot().failures(), 0);
        });
    }
}

fn a_probe_from_before_is_stale<W: AnyWord>() {
    let clock = ManualClock::starting_at(9_999);
    let breaker = Breaker::over(W::fresh(), config(), &clock);
    breaker.trip();
    clock.advance(ms(60));
    let probe = breaker.acquire().unwrap();
    breaker.restore().unwrap();
    let bits = breaker.to_bits();
    assert_eq!(probe.failure(), None);
    assert_eq!(breaker.to_bits(), bits);
}

/// Nothing is started again, so the epoch stays the same.
fn a_closed_breaker_goes_on_with_permits_from_before<W: AnyWord>() {
    let clock = ManualClock::starting_at(9_999);
    let breaker = Breaker::over(W::fresh(), config().consecutive_failures(2), &clock);
    let [one, other] = [(); 2].map(|()| breaker.acquire().unwrap());
    one.failure();
    assert_eq!(breaker.restore(), Ok(None));
    assert_eq!(other.failure().unwrap().to, State::Open);
}

fn a_corrupt_word_is_reported_and_closed<W: AnyWord>() {
    for corrupt in [1_u64, 3, 3 | 5 << W::LOAD] {
        let (clock, diary) = (ManualClock::new(), Diary::default());
        let breaker = Breaker::builder(config(), &clock)
            .word(W::from(W::Bits::from_u64(corrupt)))
            .observer(&diary)
            .build();
        let error = breaker.restore().unwrap_err();
        assert_eq!(error.bits(), corrupt);
        assert_eq!((breaker.state(), breaker.check()), (State::Closed, Ok(())));
        assert_eq!(diary.causes(), [Cause::CorruptWord]);
        assert_eq!(breaker.restore(), Ok(None), "nothing is left to do");
    }
}

/// The word of another process, whose clock has another origin: it used to admit a probe at once.
fn bits_from_before_a_restart_admit_no_call_early<W: AnyWord>() {
    let before = ManualClock::starting_at(1_000);
    let bits = {
        let breaker = Breaker::over(W::fresh(), config(), &before);
        breaker.trip();
        breaker.to_bits()
    };
    for origin in [0, 500, 5_000, 1 << 20, u32::MAX] {
        let clock = ManualClock::starting_at(origin);
        let after = Breaker::over(W::from(bits), config(), &clock);
        after.restore().unwrap();
        assert_eq!(after.snapshot().wait(), Some(Wait::For(ms(30))), "{origin}");
        clock.advance(ms(29));
        assert!(after.acquire().is_err(), "{origin}");
        clock.advance(ms(1));
        assert!(after.acquire().is_ok(), "{origin}");
    }
}

on_both_words!(
    states_without_a_time_stay_as_they_are,
    half_of_an_open_time_is_left,
    probes_in_flight_are_forgotten,
    a_window_of_failures_begins_again,
    a_gradual_return_is_over,
    a_probe_from_before_is_stale,
    a_closed_breaker_goes_on_with_permits_from_before,
    a_corrupt_word_is_reported_and_closed,
    bits_from_before_a_restart_admit_no_call_early,
);

/// Programs that share a word have to share a clock, and the type system enforces it.
#[test]
fn a_shared_word_takes_a_clock_that_all_read_alike() {
    #[derive(Clone, Copy)]
    struct BootTime;
    impl Clock for BootTime {
        fn now_ms(&self) -> u32 {
            123_456
        }
    }
    impl SharedClock for BootTime {}

    let word = AtomicU64::new(0);
    let here = Breaker::shared(&word, Config::new(), BootTime);
    let there = Breaker::shared(&word, Config::new(), &BootTime);
    here.trip();
    assert_eq!(there.snapshot(), here.snapshot());
    let builder = Breaker::builder(Config::new().probes(0), BootTime);
    let error = builder.shared_word(&word).try_build().unwrap_err();
    assert!(error.to_string().contains("0 probes"), "{error}");
    let _: Rules<u64> = Rules::new(Config::new());
}
