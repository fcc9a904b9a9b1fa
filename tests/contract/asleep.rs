// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices that sleep: each boot is short, and its clock starts again.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks, Word};
use atomic_breaker::{Breaker, Cause, Config, ManualClock, Permit, State};

use tests::random::Random;

use super::support::{AnyWord, fail, ms, on_both_words, rules};

/// The way that a device takes up the word.
type Wakes<W> = fn(&Breaker<&ManualClock, &W>);

fn unknown<W: Word>(breaker: &Breaker<&ManualClock, &W>) {
    breaker.restore().unwrap();
}

/// Boots a device, which makes a call each so many milliseconds while it is awake. Returns the calls that were admitted,
/// by the number of the boot.
fn boots<W: Word>(
    word: &W,
    config: Config,
    wakes: Wakes<W>,
    (awake, each): (u64, u64),
    boots: u32,
    end: fn(Permit<&Breaker<&ManualClock, &W>>),
) -> Vec<u32> {
    let mut admitted = Vec::new();
    for boot in 1..=boots {
        // Start-up code takes a while.
        let clock = ManualClock::starting_at(20);
        let breaker = Breaker::over(word, config, &clock);
        wakes(&breaker);
        for _ in 0..=awake / each {
            if let Ok(permit) = breaker.acquire() {
                admitted.push(boot);
                end(permit);
            }
            clock.advance(ms(each));
        }
    }
    admitted
}

/// A device with ticks of 16 ms wakes in the midst of one.
#[test]
fn an_open_time_that_is_over_ends_at_once_and_a_window_goes_on_by_what_was_slept() {
    type Coarse = Ticks<AtomicU32, 4>;
    let word = Coarse::default();
    let config = Config::new()
        .failures_within(2, ms(1_600))
        .open_for(ms(160));
    let before = ManualClock::starting_at(64);
    Breaker::over(&word, config, &before).trip();
    let clock = ManualClock::starting_at(1_003);
    let breaker = Breaker::over(&word, config, &clock);
    breaker.restore_after(ms(1_000)).unwrap();
    assert!(
        breaker.acquire().unwrap().is_probe(),
        "awake for less than a tick"
    );

    breaker.reset();
    breaker.acquire().unwrap().failure();
    let clock = ManualClock::starting_at(5);
    let breaker = Breaker::over(&word, config, &clock);
    breaker.restore_after(ms(320)).unwrap();
    assert_eq!(breaker.snapshot().failures(), 1);
    clock.advance(ms(1_100));
    breaker.acquire().unwrap().failure();
    assert_eq!(breaker.state(), State::Open, "within the window");
}

/// Also where a time that is not cut to a tick would lie ahead of the clock.
fn an_open_time_that_is_over_ends_at_once_whatever_the_clock_reads<W: AnyWord>() {
    let guard = u64::from(W::GUARD);
    for start in [3, W::WRAP / 2 - guard / 4, W::WRAP - guard / 2] {
        let word = tripped::<W>(rules().open_for(ms(60)));
        let clock = ManualClock::starting_at(start as u32);
        let breaker = Breaker::over(&word, rules(), &clock);
        breaker.restore_after(ms(1_000)).unwrap();
        assert!(
            breaker.acquire().is_ok_and(|permit| permit.is_probe()),
            "{start}"
        );
    }
}

fn tripped<W: AnyWord>(config: Config) -> W {
    let word = W::fresh();
    let clock = ManualClock::starting_at(5);
    Breaker::over(&word, config, &clock).trip();
    word
}

fn fails<W: Word>(permit: Permit<&Breaker<&ManualClock, &W>>) {
    permit.failure();
}

fn succeeds<W: Word>(permit: Permit<&Breaker<&ManualClock, &W>>) {
    permit.success();
}

/// A hundred boots of 1.5 s each used to be rejected whenever the open time was 2 s or longer.
fn boots_shorter_than_the_open_time_still_probe<W: AnyWord>() {
    let config = rules().open_for(ms(2_000)).exponential(2, ms(16_000));
    let word = tripped::<W>(config);
    let probed = boots(&word, config, unknown, (1_500, 100), 100, fails);
    // The open time grows to 16 s: halved four times, it is over within 1.5 s.
    assert_eq!(probed[..5], [1, 3, 6, 10, 14]);
    assert_eq!(probed.len(), 26);
    let healed = boots(&word, config, unknown, (1_500, 100), 5, succeeds);
    assert_eq!(healed.first(), Some(&2), "the last trip was two boots ago");
    assert!(healed.len() > 3 * 16, "closed from then on");
}

/// The number of the boot in which a call right after `restore` is admitted.
fn boot_that_probes_at_once<W: Word>(word: &W, open_for: Duration) -> u32 {
    let config = Config::new().open_for(open_for).probe_lease(ms(1_000));
    let clock = ManualClock::starting_at(5);
    Breaker::over(word, config, &clock).trip();
    let probed = boots(word, config, unknown, (0, 1), 40, succeeds);
    *probed.first().expect("never")
}

#[test]
fn a_call_right_after_the_restore_is_admitted_within_the_stated_boots() {
    let wide = |open_for| boot_that_probes_at_once(&AtomicU64::new(0), open_for);
    let narrow = |open_for| boot_that_probes_at_once(&AtomicU32::new(0), open_for);
    let default = Duration::from_millis(Config::new().open_for_ms.into());
    assert_eq!([wide(default), narrow(default)], [13, 7]);
    let longest = |layout_ms: u32| Duration::from_millis(layout_ms.into());
    assert_eq!(wide(longest(1 << 31)), 32);
    assert_eq!(narrow(longest(64 << 14)), 15);
    for open_for in (1..5_000).map(ms) {
        let ticks = open_for.as_millis().div_ceil(64) as u32;
        // Stored rounded up, perhaps to the next power of two.
        let boots = narrow(open_for);
        assert!(
            (1 + ticks.ilog2()..=2 + ticks.ilog2()).contains(&boots),
            "{ticks}: {boots}"
        );
    }
}

fn a_boot_loop_does_not_probe_in_each_boot<W: AnyWord>() {
    let word = tripped::<W>(rules());
    let probed = boots(&word, rules(), unknown, (100, 1), 100, fails);
    assert_eq!(probed[..3], [6, 12, 18], "5 s / 2^6 is less than 100 ms");
    assert_eq!(probed.len(), 16);
}

/// A device that wakes for one call: the successes of several boots close the breaker.
fn successes_of_several_boots_close<W: AnyWord>() {
    let config = rules().open_for(ms(10)).close_after(3);
    let word = tripped::<W>(config);
    let probed = boots(&word, config, unknown, (0, 1), 9, succeeds);
    assert_eq!(probed, [4, 5, 6, 7, 8, 9]);
    assert_eq!(
        Breaker::over(&word, config, ManualClock::new()).state(),
        State::Closed
    );
}

fn a_time_asleep_counts<W: AnyWord>() {
    let config = rules().open_for(ms(60));
    // The least that the word can tell.
    let least = u64::from(60 / W::STORED_STEPS).max(1);
    let times = [
        // As if nothing were known.
        (0, 30),
        (1, 60 - least),
        (8, 52),
        (20, 40),
        (59, 1),
        (60, 0),
        (61, 0),
        (1 << 40, 0),
    ];
    for (asleep, left) in times {
        let word = tripped::<W>(config);
        let clock = ManualClock::starting_at(7);
        let breaker = Breaker::over(&word, config, &clock);
        let made = breaker.restore_after(ms(asleep)).unwrap().unwrap();
        assert_eq!(
            (made.from, made.to, made.cause),
            (State::Open, State::Open, Cause::Restored)
        );
        assert_eq!(breaker.snapshot().retry_in(), Some(ms(left)), "{asleep}");
        assert_eq!(breaker.acquire().is_ok(), left == 0, "{asleep}");
    }
}

/// The boots until a call right after `restore_after` is admitted, each after so many milliseconds of sleep.
fn boots_until_served<W: Word>(word: &W, open_for: u64, asleep: u64) -> u64 {
    let config = Config::new().open_for(ms(open_for));
    let origin = ManualClock::starting_at(777);
    Breaker::over(word, config, &origin).trip();
    for boot in 1.. {
        let clock = ManualClock::starting_at((boot * 37 % 500) as u32);
        let breaker = Breaker::over(word, config, &clock);
        breaker.restore_after(ms(asleep)).unwrap();
        if breaker.acquire().is_ok() {
            return boot;
        }
    }
    unreachable!()
}

/// The word counts at least half of each sleep and its rounding, and no more than the sleep, unless that is less than
/// the word can tell.
#[test]
fn time_asleep_adds_up_over_the_boots_and_never_opens_early() {
    let mut random = Random::stream(0xA51E);
    for _ in 0..2_000 {
        let open_for = 1 + random.below(60_000);
        let asleep = open_for.div_ceil(1_024) + random.below(open_for);
        let boots = boots_until_served(&AtomicU64::new(0), open_for, asleep);
        assert!(
            boots * asleep >= open_for,
            "early: {open_for}, {asleep}: {boots}"
        );
        let late = boots.saturating_sub(1) * asleep;
        assert!(
            late <= 2 * (open_for + asleep),
            "late: {open_for}, {asleep}: {boots}"
        );

        // Ticks of 64 ms.
        let asleep = (open_for / 8).next_multiple_of(64) + 64 + random.below(open_for);
        let boots = boots_until_served(&AtomicU32::new(0), open_for, asleep);
        assert!(
            boots * asleep >= open_for,
            "early: {open_for}, {asleep}: {boots}"
        );
        let late = boots.saturating_sub(1) * asleep;
        assert!(
            late <= 2 * (open_for + asleep),
            "late: {open_for}, {asleep}: {boots}"
        );
    }
    // Ten minutes, woken each minute; the 64-bit word rounds up what is left, by less than 0.1 %.
    let of_minutes = |word: &AtomicU64| boots_until_served(word, 600_000, 60_000);
    assert_eq!(of_minutes(&AtomicU64::new(0)), 11);
}

/// A 32-bit word counts a time asleep of less than one part in eight as that much: late by less than half, and early only
/// where the time asleep is shorter still.
#[test]
fn a_short_time_asleep_cannot_stall_in_a_word_that_rounds() {
    fn woken_each_second(breaker: &Breaker<&ManualClock, &Ticks<AtomicU32, 10>>) {
        breaker.restore_after(Duration::from_secs(1)).unwrap();
    }
    fn woken_at_once(breaker: &Breaker<&ManualClock, &Ticks<AtomicU32, 16>>) {
        breaker.restore_after(ms(1)).unwrap();
    }
    let config = Config::new().open_for(Duration::from_secs(60));
    let word = Ticks::<_, 10>(AtomicU32::new(0));
    Breaker::over(&word, config, &ManualClock::new()).trip();
    let probed = boots(&word, config, woken_each_second, (0, 1), 100, fails);
    assert_eq!(probed[0], 28);
    let config = Config::new().open_for(Duration::from_secs(12 * 86_400));
    let word = Ticks::<_, 16>(AtomicU32::new(0));
    Breaker::over(&word, config, &ManualClock::new()).trip();
    let probed = boots(&word, config, woken_at_once, (0, 1), 200, fails);
    assert_eq!(probed[0], 85);
}

fn a_window_of_failures_is_over_if_the_sleep_was_longer<W: AnyWord>() {
    let config = rules().failures_within(4, ms(100));
    for (asleep, left, failures) in [(99, 1, 3), (100, 0, 0), (1_000, 0, 0), (0, 100, 3)] {
        let word = W::fresh();
        let clock = ManualClock::starting_at(70);
        fail(&Breaker::over(&word, config, &clock), 3);
        let clock = ManualClock::starting_at(3);
        let breaker = Breaker::over(&word, config, &clock);
        let made = breaker.restore_after(ms(asleep)).unwrap().unwrap();
        assert_eq!((made.to, made.cause), (State::Closed, Cause::Restored));
        assert_eq!(breaker.snapshot().failures(), failures, "{asleep}");
        clock.advance(ms(left));
        fail(&breaker, 1);
        assert_eq!(
            breaker.snapshot().failures(),
            1,
            "over after {asleep} and {left}"
        );
    }
}

fn a_clock_that_ran_on_keeps_every_time<W: AnyWord>() {
    let config = rules()
        .failures_within(4, ms(100))
        .open_for(ms(60))
        .probes(2)
        .close_after(3)
        .gradual_return(100, ms(1_000));
    let (word, clock) = (W::fresh(), ManualClock::starting_at(1_000));
    let boot = || Breaker::over(&word, config, &clock);
    let same = || {
        let (before, bits) = (boot().snapshot(), boot().to_bits());
        assert_eq!(boot().restore_running(), Ok(None));
        assert_eq!((boot().snapshot(), boot().to_bits()), (before, bits));
    };
    same();
    fail(&boot(), 3);
    clock.advance(ms(99));
    same();
    fail(&boot(), 1);
    clock.advance(ms(59));
    same();
    assert!(boot().acquire().is_err());
    clock.advance(ms(1));
    boot().acquire().unwrap().success();
    let _lost = [(); 2].map(|()| boot().acquire().unwrap().into_token());
    assert!(boot().acquire().is_err());
    let made = boot().restore_running().unwrap().unwrap();
    assert_eq!((made.to, made.cause), (State::HalfOpen, Cause::Restored));
    let snapshot = boot().snapshot();
    assert_eq!((snapshot.probes_in_flight(), snapshot.successes()), (0, 1));
    for _ in 0..2 {
        boot().acquire().unwrap().success();
    }
    clock.advance(ms(999));
    assert_eq!(boot().state(), State::Returning);
    same();
    boot().force_open();
    same();
}

on_both_words!(
    an_open_time_that_is_over_ends_at_once_whatever_the_clock_reads,
    boots_shorter_than_the_open_time_still_probe,
    a_boot_loop_does_not_probe_in_each_boot,
    successes_of_several_boots_close,
    a_time_asleep_counts,
    a_window_of_failures_is_over_if_the_sleep_was_longer,
    a_clock_that_ran_on_keeps_every_time,
);
