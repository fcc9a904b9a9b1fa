// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of `through.c`, for both words.

use std::ffi::{CStr, c_char, c_int};

use atomic_breaker::word::{AtomicU32, AtomicU64, Retained, Word};
use atomic_breaker_c::types::{CPermit, CRules, CSettings, CSnapshot, CToken, Raw};

/// Ways to report, as `through.c` numbers them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    Report(bool),
    Ignore,
    Failures(u32),
    Down(u32),
    RetryAfter(u32),
    Cancel,
    Renew,
}

impl How {
    fn numbers(self) -> (c_int, u32) {
        match self {
            Self::Report(succeeded) => (0, succeeded.into()),
            Self::Ignore => (1, 0),
            Self::Failures(weight) => (2, weight),
            Self::Down(ms) => (3, ms),
            Self::Cancel => (4, 0),
            Self::Renew => (5, 0),
            Self::RetryAfter(ms) => (6, ms),
        }
    }
}

/// The knowledge of the time since a reset, as `through.c` numbers it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Since {
    Unknown,
    After(u32),
    Running,
}

/// The parts of a breaker of C: a word that survives, and rules.
pub(crate) type Kept<S> = Retained<<S as Side>::Word>;
pub(crate) type Token<S> = CToken<<S as Raw>::Number>;
pub(crate) type Permit<S> = CPermit<<S as Raw>::Number>;

/// A width of the word.
pub(crate) trait Side: Raw {
    type Word: Word<Bits = Self> + Default;

    fn acquire(word: *const Self::Word, rules: *const CRules<Self>, now_ms: u32) -> Permit<Self>;
    fn snapshot(word: *const Self::Word, rules: *const CRules<Self>, now_ms: u32) -> CSnapshot;
    fn trips(token: *const Token<Self>) -> u32;
    fn state(word: *const Self::Word, rules: *const CRules<Self>, now_ms: u32) -> c_int;
    fn report(
        how: How,
        word: *const Self::Word,
        rules: *const CRules<Self>,
        token: *mut Token<Self>,
        now_ms: u32,
    ) -> bool;
    fn command(
        which: c_int,
        word: *const Self::Word,
        rules: *const CRules<Self>,
        number: u32,
        now_ms: u32,
    ) -> bool;
    fn restore(
        since: Since,
        kept: *const Kept<Self>,
        rules: *const CRules<Self>,
        now_ms: u32,
    ) -> bool;
    /// The message, if there is one.
    fn init(rules: *mut CRules<Self>, settings: *const CSettings) -> Option<&'static str>;
    fn defaults() -> CSettings;
    fn sizes() -> [u32; 7];
}

macro_rules! sides {
    ($($bits:ty, $word:ty: $acquire:ident $snapshot:ident $trips:ident $state:ident $report:ident $command:ident $restore:ident
        $init:ident $defaults:ident $sizes:ident;)*) => {$(
        #[allow(improper_ctypes, reason = "C does not look into rules")]
        unsafe extern "C" {
            fn $acquire(word: *const $word, rules: *const CRules<$bits>, now_ms: u32, permit: *mut CPermit<$bits>);
            fn $snapshot(word: *const $word, rules: *const CRules<$bits>, now_ms: u32, seen: *mut CSnapshot);
            fn $trips(token: *const CToken<$bits>) -> u32;
            fn $state(word: *const $word, rules: *const CRules<$bits>, now_ms: u32) -> c_int;
            fn $report(
                how: c_int, word: *const $word, rules: *const CRules<$bits>, token: *mut CToken<$bits>,
                number: u32, now_ms: u32,
            ) -> bool;
            fn $command(
                which: c_int, word: *const $word, rules: *const CRules<$bits>, number: u32, now_ms: u32,
            ) -> bool;
            fn $restore(
                how: c_int, kept: *const Retained<$word>, rules: *const CRules<$bits>, asleep_ms: u32, now_ms: u32,
            ) -> bool;
            fn $init(rules: *mut CRules<$bits>, settings: *const CSettings) -> *const c_char;
            fn $defaults(settings: *mut CSettings);
            fn $sizes(sizes: *mut u32);
        }

        impl Side for $bits {
            type Word = $word;

            fn acquire(word: *const $word, rules: *const CRules<Self>, now_ms: u32) -> CPermit<$bits> {
                let mut permit = CPermit { admitted: false, wait_ms: 0, token: CToken::default() };
                unsafe { $acquire(word, rules, now_ms, &mut permit) };
                permit
            }

            fn snapshot(word: *const $word, rules: *const CRules<Self>, now_ms: u32) -> CSnapshot {
                let mut seen = CSnapshot::default();
                unsafe { $snapshot(word, rules, now_ms, &mut seen) };
                seen
            }

            fn trips(token: *const CToken<$bits>) -> u32 {
                unsafe { $trips(token) }
            }

            fn state(word: *const $word, rules: *const CRules<Self>, now_ms: u32) -> c_int {
                unsafe { $state(word, rules, now_ms) }
            }

            fn report(
                how: How, word: *const $word, rules: *const CRules<Self>, token: *mut CToken<$bits>, now_ms: u32,
            ) -> bool {
                let (how, number) = how.numbers();
                unsafe { $report(how, word, rules, token, number, now_ms) }
            }

            fn command(
                which: c_int, word: *const $word, rules: *const CRules<Self>, number: u32, now_ms: u32,
            ) -> bool {
                unsafe { $command(which, word, rules, number, now_ms) }
            }

            fn restore(
                since: Since, kept: *const Retained<$word>, rules: *const CRules<Self>, now_ms: u32,
            ) -> bool {
                let (how, asleep_ms) = match since {
                    Since::Unknown => (0, 0),
                    Since::After(ms) => (1, ms),
                    Since::Running => (2, 0),
                };
                unsafe { $restore(how, kept, rules, asleep_ms, now_ms) }
            }

            fn init(rules: *mut CRules<Self>, settings: *const CSettings) -> Option<&'static str> {
                let message = unsafe { $init(rules, settings) };
                (!message.is_null()).then(|| unsafe { CStr::from_ptr(message) }.to_str().unwrap())
            }

            fn defaults() -> CSettings {
                let mut settings = CSettings::default();
                unsafe { $defaults(&mut settings) };
                settings
            }

            fn sizes() -> [u32; 7] {
                let mut sizes = [0; 7];
                unsafe { $sizes(sizes.as_mut_ptr()) };
                sizes
            }
        }
    )*};
}

sides! {
    u32, AtomicU32: c32_acquire c32_snapshot c32_trips c32_state c32_report c32_command c32_restore c32_rules_init c32_defaults
        c32_sizes;
    u64, AtomicU64: c64_acquire c64_snapshot c64_trips c64_state c64_report c64_command c64_restore c64_rules_init c64_defaults
        c64_sizes;
}
