// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions as C calls them, from Rust: what `tests/c` shows through a C compiler, here in short, so that Miri can
//! follow the pointers: `cargo +nightly miri test -p atomic-breaker-c --test interface`.

#![allow(
    clippy::borrow_as_ptr,
    reason = "shorter, and nothing else holds a reference"
)]

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Retained};
use atomic_breaker::{Clock, Config};
use atomic_breaker_c::at::At;
use atomic_breaker_c::by_rules::{narrow, wide};
use atomic_breaker_c::types::{CRules, CSettings, CToken, NO_RULES};

const DEFAULTS: CSettings = CSettings {
    failures: 2,
    window_ms: 0,
    lasting_ms: 0,
    open_ms: 1_000,
    growth_percent: 200,
    growth_step_ms: 0,
    max_open_ms: 4_000,
    jitter_percent: 10,
    seed: 7,
    max_retry_after_ms: 10_000,
    probes: 1,
    close_after: 0,
    probe_lease_ms: 3_000,
    cancel_limit_ms: 250,
    slow_call_ms: 500,
    return_first_percent: 0,
    return_over_ms: 0,
};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// For both words.
macro_rules! both {
    ($($name:ident |$f:ident, $word:ident, $bits:ident| { $($body:tt)* })+) => {$(
        mod $name {
            use super::*;

            #[test]
            fn narrow() {
                use super::narrow as $f;
                type $word = AtomicU32;
                type $bits = u32;
                unsafe { $($body)* }
            }

            #[test]
            fn wide() {
                use super::wide as $f;
                type $word = AtomicU64;
                type $bits = u64;
                unsafe { $($body)* }
            }
        }
    )+};
}

both! {
    a_breaker_goes_round_its_life_cycle |f, Word, Bits| {
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        assert!(f::rules_init(rules.as_mut_ptr(), &DEFAULTS).is_null());
        let kept = Retained::<Word>::over(Word::new(0));
        let (word, rules) = (&raw const *kept.word(), rules.as_ptr());
        assert!(!f::restore(&raw const kept, rules, 0));

        for now_ms in [10, 20] {
            let mut permit = f::acquire(word, rules, now_ms);
            assert!(permit.admitted);
            assert_eq!(f::trips(&permit.token), 0);
            assert!(f::renew(word, rules, &mut permit.token, now_ms));
            assert_eq!(f::report(word, rules, &mut permit.token, false, now_ms + 1), now_ms == 20);
            assert!(!f::report(word, rules, &mut permit.token, false, now_ms + 1));
        }
        assert_eq!(f::state(word, rules, 21), 1);
        assert!(f::restore(&raw const kept, rules, 0));
        let rejected = f::acquire(word, rules, 0);
        assert!(!rejected.admitted && (500..=700).contains(&rejected.wait_ms));
        assert!(f::restore_running(&raw const kept, rules, 10) && !f::acquire(word, rules, 10).admitted);
        assert!(f::restore_after(&raw const kept, rules, 100, 0));
        let rejected = f::acquire(word, rules, 0);
        assert!(!rejected.admitted && (400..=600).contains(&rejected.wait_ms));
        let mut probe = f::acquire(word, rules, rejected.wait_ms);
        assert!(probe.admitted && f::state(word, rules, rejected.wait_ms) == 2);
        assert_eq!(f::trips(&probe.token), 1);
        assert!(f::report(word, rules, &mut probe.token, true, rejected.wait_ms + 1));
        assert_eq!(f::trips(&probe.token), 0, "reported");
        assert_eq!((f::state(word, rules, 700), f::snapshot(word, rules, 700).trips), (3, 1), "and every call passes");
        let mut last = f::acquire(word, rules, rejected.wait_ms + 1_100);
        assert!(last.admitted && !f::report(word, rules, &mut last.token, true, rejected.wait_ms + 1_100));
        assert_eq!((f::state(word, rules, 2_000), f::snapshot(word, rules, 2_000).trips), (0, 0), "as long as it was open");
    }

    commands_and_other_reports_change_the_state |f, Word, Bits| {
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        assert!(f::rules_init(rules.as_mut_ptr(), &DEFAULTS).is_null());
        let (own, rules) = (Word::new(0), rules.as_ptr());
        let word = &raw const own;
        assert!(f::force_open(word, rules, 0) && f::release(word, rules, 0));
        assert!(f::disable(word, rules, 0) && f::enable(word, rules, 0));
        assert!(f::trip(word, rules, 0, 0) && f::probe_now(word, rules, 0) && f::reset(word, rules, 0));
        let mut permit = f::acquire(word, rules, 0);
        assert!(!f::ignore(word, rules, &mut permit.token, 0));
        let mut permit = f::acquire(word, rules, 0);
        assert!(!f::cancel(word, rules, &mut permit.token, 0));
        let mut permit = f::acquire(word, rules, 0);
        assert!(f::report_failures(word, rules, &mut permit.token, 2, 0));
        assert!(f::reset(word, rules, 0));
        let mut permit = f::acquire(word, rules, 0);
        assert!(f::report_down(word, rules, &mut permit.token, 5_000, 0));
        assert!(f::snapshot(word, rules, 0).wait_ms >= 5_000);
    }

    a_pause_that_is_asked_for_counts_as_one_failure |f, Word, Bits| {
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        assert!(f::rules_init(rules.as_mut_ptr(), &DEFAULTS).is_null());
        let (own, rules) = (Word::new(0), rules.as_ptr());
        let word = &raw const own;
        let mut permit = f::acquire(word, rules, 0);
        assert!(!f::report_retry_after(word, rules, &mut permit.token, 5_000, 0), "one of two");
        assert_eq!((f::state(word, rules, 0), f::snapshot(word, rules, 0).failures), (0, 1));
        let mut permit = f::acquire(word, rules, 0);
        assert!(f::report_retry_after(word, rules, &mut permit.token, 5_000, 0));
        assert!(f::snapshot(word, rules, 0).wait_ms >= 5_000);
        assert!(f::reset(word, rules, 0));
        for reported in [false, true] {
            let mut permit = f::acquire(word, rules, 0);
            assert_eq!(f::report_retry_after(word, rules, &mut permit.token, 0, 0), reported);
        }
        assert!(f::snapshot(word, rules, 0).wait_ms < 5_000, "0 is an ordinary failure");
    }

    a_row_trips_once_it_has_lasted |f, Word, Bits| {
        let lasting = CSettings { failures: 3, lasting_ms: 128, ..DEFAULTS };
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        assert!(f::rules_init(rules.as_mut_ptr(), &lasting).is_null());
        let (own, rules) = (Word::new(0), rules.as_ptr());
        let word = &raw const own;
        for now_ms in [64, 64, 64, 64, 128] {
            let mut permit = f::acquire(word, rules, now_ms);
            assert!(!f::report(word, rules, &mut permit.token, false, now_ms));
        }
        assert_eq!(f::snapshot(word, rules, 128).failures, 3);
        let mut permit = f::acquire(word, rules, 192);
        assert!(f::report(word, rules, &mut permit.token, false, 192));
        assert_eq!(f::state(word, rules, 192), 1);
    }

    every_state_has_the_number_of_the_header |f, Word, Bits| {
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        let returning = CSettings { return_first_percent: 50, return_over_ms: 1_000, ..DEFAULTS };
        assert!(f::rules_init(rules.as_mut_ptr(), &returning).is_null());
        let (own, rules) = (Word::new(0), rules.as_ptr());
        let word = &raw const own;
        assert_eq!(f::state(word, rules, 0), 0);
        assert!(f::trip(word, rules, 0, 0));
        assert_eq!((f::state(word, rules, 0), f::snapshot(word, rules, 0).state), (1, 1));
        assert!(f::probe_now(word, rules, 0));
        let mut probe = f::acquire(word, rules, 0);
        assert_eq!((f::state(word, rules, 0), f::snapshot(word, rules, 0).state), (2, 2));
        assert!(f::report(word, rules, &mut probe.token, true, 0));
        assert_eq!((f::state(word, rules, 0), f::snapshot(word, rules, 0).state), (3, 3));
        assert!(f::force_open(word, rules, 0));
        assert_eq!((f::state(word, rules, 0), f::snapshot(word, rules, 0).state), (4, 4));
        assert!(f::disable(word, rules, 0));
        assert_eq!((f::state(word, rules, 0), f::snapshot(word, rules, 0).state), (5, 5));
    }

    a_permit_that_does_not_count_any_more_is_not_renewed |f, Word, Bits| {
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        assert!(f::rules_init(rules.as_mut_ptr(), &DEFAULTS).is_null());
        let (own, rules) = (Word::new(0), rules.as_ptr());
        let word = &raw const own;
        let mut late = f::acquire(word, rules, 0);
        assert!(f::renew(word, rules, &mut late.token, 0));
        assert!(f::reset(word, rules, 0));
        assert!(!f::renew(word, rules, &mut late.token, 0), "from before the reset");
        assert!(!f::renew(word, rules, &mut CToken::default(), 0) && !f::renew(word, rules, ptr::null_mut(), 0));
    }

    memory_that_was_lost_is_told_by_each_way_to_take_it_up |f, Word, Bits| {
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        assert!(f::rules_init(rules.as_mut_ptr(), &DEFAULTS).is_null());
        let rules = rules.as_ptr();
        let lost = || Retained::<Word>::over(Word::new(0));
        let (one, after, running) = (lost(), lost(), lost());
        assert!(!f::restore(&raw const one, rules, 0) && f::restore(&raw const one, rules, 0));
        assert!(!f::restore_after(&raw const after, rules, 5, 0) && f::restore_after(&raw const after, rules, 5, 0));
        assert!(!f::restore_running(&raw const running, rules, 0) && f::restore_running(&raw const running, rules, 0));
    }

    what_is_missing_rejects_every_call |f, Word, Bits| {
        let forgotten = MaybeUninit::<CRules<Bits>>::zeroed();
        let own = Word::new(0);
        let word = &raw const own;
        for (word, rules) in [(word, ptr::null()), (ptr::null(), forgotten.as_ptr()), (word, forgotten.as_ptr())] {
            assert_eq!(f::acquire(word, rules, 0).wait_ms, NO_RULES);
            assert!(!f::report(word, rules, &mut CToken::default(), true, 0));
            assert!(!f::report(word, rules, ptr::null_mut(), true, 0));
        }
        // What memory often holds: a small number.
        for small in 0..=256 {
            let mut forgotten = MaybeUninit::<CRules<Bits>>::zeroed();
            forgotten.as_mut_ptr().cast::<u32>().write(small);
            assert_eq!(f::acquire(word, forgotten.as_ptr(), 0).wait_ms, NO_RULES, "{small}");
        }
        assert_eq!(f::state(ptr::null(), ptr::null(), 0), 0);
        assert!(!f::restore(ptr::null(), ptr::null(), 0) && !f::restore_after(ptr::null(), ptr::null(), 9, 0));
        assert!(!f::restore_running(ptr::null(), ptr::null(), 0));
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        let none = f::rules_init(rules.as_mut_ptr(), ptr::null());
        assert_eq!(CStr::from_ptr(none), c"rules and settings: not NULL");
        assert!(!f::rules_init(ptr::null_mut(), &DEFAULTS).is_null());
        let wrong = CSettings { probes: 0, ..DEFAULTS };
        let message = CStr::from_ptr(f::rules_init(rules.as_mut_ptr(), &wrong));
        let most = if size_of::<Bits>() == 8 { c"probes: 1 to 255" } else { c"probes: 1 to 15" };
        assert_eq!(message, most);
    }
}

#[test]
fn rules_for_one_word_are_none_for_the_other() {
    let mut rules = MaybeUninit::<CRules<u64>>::zeroed();
    let word = AtomicU32::new(0);
    unsafe {
        assert!(wide::rules_init(rules.as_mut_ptr(), &DEFAULTS).is_null());
        let permit = narrow::acquire(&raw const word, rules.as_ptr().cast(), 0);
        assert!(!permit.admitted && permit.wait_ms == NO_RULES);
    }
}

/// On a machine where only that of 64 bits must be at a multiple of eight.
#[test]
fn a_word_of_64_bits_that_lies_wrong_rejects_every_call() {
    let mut rules = MaybeUninit::<CRules<u64>>::zeroed();
    let words = [AtomicU64::new(0), AtomicU64::new(0)];
    unsafe {
        assert!(wide::rules_init(rules.as_mut_ptr(), &DEFAULTS).is_null());
        let askew = (&raw const words).cast::<AtomicU64>().byte_add(4);
        let permit = wide::acquire(askew, rules.as_ptr(), 0);
        assert!(!permit.admitted && permit.wait_ms == NO_RULES);
        assert_eq!(wide::state(askew, rules.as_ptr(), 0), 0);
    }
}

#[test]
fn settings_are_those_of_the_builder() {
    let plain = CSettings {
        growth_percent: 0,
        max_open_ms: 0,
        ..DEFAULTS
    };
    let ours = |settings: &CSettings| settings.config().map_err(|_| "growth");
    let expected = Config::new()
        .consecutive_failures(2)
        .open_for(ms(1_000))
        .jitter_percent(10)
        .seed(7)
        .max_retry_after(ms(10_000))
        .probes(1)
        .probe_lease(ms(3_000))
        .cancel_limit(ms(250))
        .slow_call(ms(500));
    assert_eq!(ours(&plain), Ok(expected));
    assert_eq!(
        ours(&DEFAULTS),
        Ok(expected.exponential_percent(200, ms(4_000)))
    );
    let linear = CSettings {
        growth_step_ms: 300,
        max_open_ms: 4_000,
        ..plain
    };
    assert_eq!(ours(&linear), Ok(expected.linear(ms(300), ms(4_000))));
    for (growth_percent, growth_step_ms, max_open_ms) in
        [(0, 0, 9), (200, 300, 4_000), (200, 300, 0)]
    {
        let both = CSettings {
            growth_percent,
            growth_step_ms,
            max_open_ms,
            ..plain
        };
        assert_eq!(ours(&both), Err("growth"), "{both:?}");
    }
    let lasting = CSettings {
        lasting_ms: 250,
        ..plain
    };
    assert_eq!(ours(&lasting), Ok(expected.lasting(ms(250))));
    let returning = CSettings {
        return_first_percent: 5,
        return_over_ms: 900,
        failures: 4,
        window_ms: 700,
        close_after: 3,
        slow_call_ms: 0,
        ..plain
    };
    let mut expected = expected
        .failures_within(4, ms(700))
        .close_after(3)
        .gradual_return(5, ms(900));
    expected.slow_call_ms = None;
    assert_eq!(ours(&returning), Ok(expected));
    let too_large = CSettings {
        jitter_percent: 356,
        probes: 65_537,
        ..plain
    };
    let made = too_large.config().ok().unwrap();
    assert_eq!(
        (made.jitter_percent, made.probes),
        (u8::MAX, u16::MAX),
        "and fails every check"
    );
}

/// The constants are those of `SplitMix32`; numbers of a second implementation.
#[test]
fn a_random_number_is_one_of_the_millisecond_and_the_device() {
    for (now_ms, entropy, expected) in [
        (0, 0, 0x6462_5032),
        (1, 0, 0x5E2D_1772),
        (1_000, 0, 0x3608_8F4F),
        (1_000, 0xDEAD_BEEF, 0xC6C2_5595),
    ] {
        let at = At { now_ms, entropy };
        assert_eq!(at.random(), expected, "{at:?}");
        assert_eq!((at.now_ms(), at.entropy()), (now_ms, entropy));
    }
}
