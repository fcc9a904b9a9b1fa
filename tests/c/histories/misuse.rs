// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every misuse that the header defines.

use std::ptr;

use atomic_breaker::word::{AtomicU32, AtomicU64, Retained, Word};
use atomic_breaker::{Breaker, Config, ManualClock};
use atomic_breaker_c::types::{CRules, CToken, NO_RULES, UNTIL_RELEASED};
use std::mem::MaybeUninit;

use super::through::{How, Side, Since};

const EVERY_REPORT: [How; 7] = [
    How::Report(true),
    How::Report(false),
    How::Ignore,
    How::Failures(3),
    How::Down(1_000),
    How::RetryAfter(1_000),
    How::Cancel,
];
const EVERY_COMMAND: std::ops::Range<i32> = 0..7;

fn rules<S: Side>() -> Box<CRules<S>> {
    let mut rules = Box::new(MaybeUninit::uninit());
    assert_eq!(S::init(rules.as_mut_ptr(), &S::defaults()), None);
    unsafe { rules.assume_init() }
}

fn bits<W: Word>(word: &W) -> W::Bits {
    let clock = ManualClock::new();
    Breaker::over(word, Config::new(), &clock).to_bits()
}

#[test]
fn a_breaker_of_64_bits_at_an_odd_address_rejects_every_call() {
    let (words, rules) = ([AtomicU64::new(0), AtomicU64::new(0)], rules::<u64>());
    let odd = (&raw const words)
        .cast::<u8>()
        .wrapping_add(4)
        .cast::<AtomicU64>();
    let permit = u64::acquire(odd, &raw const *rules, 0);
    assert!(!permit.admitted && permit.wait_ms == NO_RULES);
    assert!(!u64::command(0, odd, &raw const *rules, 0, 0));
}

/// For both words.
macro_rules! both {
    ($($(#[$meta:meta])* fn $name:ident<$w:ident, $s:ident>() $body:block)+) => {$(
        #[test]
        $(#[$meta])*
        fn $name() {
            fn of<$w: Word<Bits = $s> + Default, $s: Side<Word = $w>>() $body
            of::<AtomicU32, u32>();
            of::<AtomicU64, u64>();
        }
    )+};
}

both! {
    fn without_a_breaker_or_rules_every_call_is_rejected_and_nothing_changes<W, S>() {
        let (word, checked) = (W::default(), rules::<S>());
        // Zeros are what a program has that forgot `ab_rules_init`.
        let forgotten = MaybeUninit::<CRules<S>>::zeroed();
        let cases: [(*const W, *const CRules<S>); 4] = [
            (ptr::null(), &raw const *checked),
            (&raw const word, ptr::null()),
            (&raw const word, forgotten.as_ptr()),
            (ptr::null(), ptr::null()),
        ];
        for (word_at, rules_at) in cases {
            let permit = S::acquire(word_at, rules_at, 5);
            assert!(!permit.admitted && permit.token == CToken::default());
            assert_eq!(permit.wait_ms, NO_RULES);
            assert_eq!(S::snapshot(word_at, rules_at, 5).wait_ms, NO_RULES);
            for how in EVERY_REPORT {
                let mut token = S::acquire(&raw const word, &raw const *checked, 5).token;
                assert!(!S::report(how, word_at, rules_at, &mut token, 6));
                assert!(token != CToken::default(), "kept for the right call");
            }
            for command in EVERY_COMMAND {
                assert!(!S::command(command, word_at, rules_at, 0, 6));
            }
        }
        assert_eq!(S::state(ptr::null(), &raw const *checked, 5), 0);
        assert_eq!(S::trips(ptr::null()), 0);
        assert_eq!(S::trips(&CToken::default()), 0);
        assert!(!S::restore(Since::Unknown, ptr::null(), &raw const *checked, 0));
        assert!(bits(&word) == S::from_u64(0));
    }

    fn a_token_that_is_none_or_was_used_changes_nothing<W, S>() {
        let (word, rules) = (W::default(), rules::<S>());
        for how in EVERY_REPORT {
            assert!(!S::report(how, &raw const word, &raw const *rules, ptr::null_mut(), 1));
            let mut none = CToken::default();
            assert!(!S::report(how, &raw const word, &raw const *rules, &mut none, 1));
            assert!(bits(&word) == S::from_u64(0), "{how:?}");
        }
        // Four failures, each reported twenty times, do not trip a limit of five.
        for _ in 0..4 {
            let mut token = S::acquire(&raw const word, &raw const *rules, 1).token;
            for _ in 0..20 {
                S::report(How::Report(false), &raw const word, &raw const *rules, &mut token, 1);
            }
            assert!(token == CToken::default());
        }
        assert_eq!(S::snapshot(&raw const word, &raw const *rules, 1).failures, 4);
    }

    fn tokens_of_any_bits_leave_a_word_that_a_breaker_writes<W, S>() {
        let rules = rules::<S>();
        let mut random = tests::random::Random::stream(u64::from(std::process::id()));
        for _ in 0..100_000 {
            let word = W::default();
            for step in 0..4 {
                let permit = S::acquire(&raw const word, &raw const *rules, step);
                let mut token = permit.token;
                let raw = (&raw mut token).cast::<u8>();
                for at in 0..size_of::<W>() + 4 {
                    unsafe { *raw.add(at) ^= (random.next_u32() & random.next_u32()) as u8 };
                }
                let how = EVERY_REPORT[random.below(6) as usize];
                S::report(how, &raw const word, &raw const *rules, &mut token, step);
                assert!(atomic_breaker::word::Bits::check(bits(&word)).is_ok());
            }
        }
    }

    fn a_word_of_any_bits_is_a_state_or_counts_as_closed_and_is_healed<W, S>() {
        let rules = rules::<S>();
        let mut random = tests::random::Random::stream(1 + u64::from(std::process::id()));
        let mut healed = 0;
        for _ in 0..100_000 {
            let word = W::default();
            let at = (&raw const word).cast::<u8>().cast_mut();
            for byte in 0..size_of::<W>() {
                unsafe { *at.add(byte) = random.next_u32() as u8 };
            }
            let found = bits(&word);
            let is_corrupt = atomic_breaker::word::Bits::check(found).is_err();
            let now_ms = random.next_u32();
            let mut permit = S::acquire(&raw const word, &raw const *rules, now_ms);
            assert!(permit.admitted || permit.wait_ms != 0);
            if is_corrupt {
                healed += 1;
                // It counts as closed; one that looks closed is healed by the first report that changes it.
                assert!(permit.admitted);
                S::report(How::Report(false), &raw const word, &raw const *rules, &mut permit.token, now_ms);
                assert_eq!(S::state(&raw const word, &raw const *rules, now_ms), 0);
            }
            assert!(atomic_breaker::word::Bits::check(bits(&word)).is_ok());
        }
        assert!(healed > 10_000, "{healed}");
    }

    fn memory_that_lost_its_content_is_found_out_and_begins_closed<W, S>() {
        let rules = rules::<S>();
        let kept = Retained::over(W::default());
        assert!(!S::restore(Since::Unknown, &raw const kept, &raw const *rules, 7), "zeros");
        assert!(S::restore(Since::Unknown, &raw const kept, &raw const *rules, 7), "its own");
        // Open, and a reset: half of the open time is left.
        assert!(S::command(0, kept.word(), &raw const *rules, 0, 100));
        assert!(S::restore(Since::Unknown, &raw const kept, &raw const *rules, 0));
        assert_eq!(S::state(kept.word(), &raw const *rules, 0), 1);
        let wait = S::acquire(kept.word(), &raw const *rules, 0).wait_ms;
        assert!((2_500..=2_628).contains(&wait), "{wait}");
        // A reset through which the clock runs on, and a sleep that is longer than what is left.
        assert!(S::restore(Since::Running, &raw const kept, &raw const *rules, 1_000));
        assert_eq!(S::state(kept.word(), &raw const *rules, 1_000), 1);
        assert!(S::restore(Since::After(6_000), &raw const kept, &raw const *rules, 0));
        assert!(S::acquire(kept.word(), &raw const *rules, 0).admitted);
        // A loss of power.
        let mut random = tests::random::Random::stream(2 + u64::from(std::process::id()));
        for _ in 0..10_000 {
            let kept = Retained::over(W::default());
            let at = (&raw const kept).cast::<u8>().cast_mut();
            for byte in 0..size_of::<Retained<W>>() {
                unsafe { *at.add(byte) = random.next_u32() as u8 };
            }
            assert!(!S::restore(Since::Unknown, &raw const kept, &raw const *rules, 0));
            assert_eq!(S::state(kept.word(), &raw const *rules, 0), 0);
        }
    }

    fn forced_open_has_no_time<W, S>() {
        let (word, rules) = (W::default(), rules::<S>());
        assert!(S::command(1, &raw const word, &raw const *rules, 0, 0));
        assert_eq!(S::acquire(&raw const word, &raw const *rules, 0).wait_ms, UNTIL_RELEASED);
    }
}
