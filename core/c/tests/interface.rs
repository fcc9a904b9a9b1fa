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

use atomic_breaker::word::{AtomicU32, AtomicU64, Retained};
use atomic_breaker_c::by_rules::{narrow, wide};
use atomic_breaker_c::types::{CRules, CSettings, CToken, NO_RULES};

const DEFAULTS: CSettings = CSettings {
    failures: 2,
    window_ms: 0,
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
        assert_eq!(f::state(word), 1);
        assert!(f::restore(&raw const kept, rules, 0));
        let rejected = f::acquire(word, rules, 0);
        assert!(!rejected.admitted && (500..=700).contains(&rejected.wait_ms));
        assert!(f::restore_running(&raw const kept, rules, 10) && !f::acquire(word, rules, 10).admitted);
        assert!(f::restore_after(&raw const kept, rules, 100, 0));
        let rejected = f::acquire(word, rules, 0);
        assert!(!rejected.admitted && (400..=600).contains(&rejected.wait_ms));
        let mut probe = f::acquire(word, rules, rejected.wait_ms);
        assert!(probe.admitted && f::state(word) == 2);
        assert_eq!(f::trips(&probe.token), 1);
        assert!(f::report(word, rules, &mut probe.token, true, rejected.wait_ms + 1));
        assert_eq!(f::trips(&probe.token), 0, "reported");
        assert_eq!(f::snapshot(word, rules, 5_000).state, 0);
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

    what_is_missing_rejects_every_call |f, Word, Bits| {
        let forgotten = MaybeUninit::<CRules<Bits>>::zeroed();
        let own = Word::new(0);
        let word = &raw const own;
        for (word, rules) in [(word, ptr::null()), (ptr::null(), forgotten.as_ptr()), (word, forgotten.as_ptr())] {
            assert_eq!(f::acquire(word, rules, 0).wait_ms, NO_RULES);
            assert!(!f::report(word, rules, &mut CToken::default(), true, 0));
            assert!(!f::report(word, rules, ptr::null_mut(), true, 0));
        }
        assert_eq!(f::state(ptr::null()), 0);
        assert!(!f::restore(ptr::null(), ptr::null(), 0) && !f::restore_after(ptr::null(), ptr::null(), 9, 0));
        assert!(!f::restore_running(ptr::null(), ptr::null(), 0));
        let mut rules = MaybeUninit::<CRules<Bits>>::zeroed();
        let none = f::rules_init(rules.as_mut_ptr(), ptr::null());
        assert_eq!(CStr::from_ptr(none), c"rules and settings: not NULL");
        assert!(!f::rules_init(ptr::null_mut(), &DEFAULTS).is_null());
        let wrong = CSettings { probes: 0, ..DEFAULTS };
        let message = CStr::from_ptr(f::rules_init(rules.as_mut_ptr(), &wrong));
        assert!(message.to_str().unwrap().starts_with("probes: 1 to "));
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
