// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the header: the word and its rules come by pointer.
//!
//! # Safety
//!
//! Each pointer is NULL or leads to what its type says, for the time of the call, as the header demands.

use core::ffi::c_char;
use core::ptr;

use atomic_breaker::Breaker;
use atomic_breaker::word::{Retained, Word};

use crate::at::At;
use crate::steps::{self, View};
use crate::texts::Text;
use crate::types::{CPermit, CRules, CSettings, CSnapshot, CToken, Checked, NO_RULES, Raw};

type TheirView<'a, W> = View<&'a W, Checked<'a, <W as Word>::Bits>>;

/// Runs `step` on the breaker, unless there is none or its rules were not checked.
///
/// # Safety
/// See the [module](self).
#[inline]
unsafe fn with<W: Word<Bits: Raw>, T>(
    word: *const W,
    rules: *const CRules<W::Bits>,
    now_ms: u32,
    without: T,
    step: impl FnOnce(&TheirView<'_, W>) -> T,
) -> T {
    // A word of 32 bits is where C puts every number; one of 64 bits is not on every machine.
    if size_of::<W>() > 4 && !word.is_aligned() {
        return without;
    }
    // SAFETY: they are NULL, or lead to a word and to rules.
    let found = unsafe { (word.as_ref(), rules.as_ref().and_then(CRules::get)) };
    let (Some(word), Some(rules)) = found else {
        return without;
    };
    let at = At { now_ms, entropy: 0 };
    let breaker = Breaker::try_from_parts(word, rules, at, (), ());
    // SAFETY: rules made of `ab_settings` need no tally.
    step(&unsafe { breaker.unwrap_unchecked() })
}

/// Makes rules, and returns NULL or the message.
///
/// # Safety
/// See the [module](self).
unsafe fn init<W: Word<Bits: Raw>>(
    rules: *mut CRules<W::Bits>,
    settings: *const CSettings,
) -> *const c_char {
    // SAFETY: it is NULL, or leads to settings.
    let settings = unsafe { settings.as_ref() };
    let made = match settings {
        Some(settings) if !rules.is_null() => CRules::new(settings),
        _ => Err(Text::Null),
    };
    match made {
        Ok(checked) => {
            // SAFETY: it leads to rules, which are not in use yet.
            unsafe { rules.write(checked) };
            ptr::null()
        }
        Err(text) => text.get(size_of::<W>() == 8).as_ptr(),
    }
}

macro_rules! functions {
    ($(#[$meta:meta])* $width:ident, $word:ty, $bits:ty, $name:literal) => {
        $(#[$meta])*
        pub mod $width {
            use super::*;

            type W = $word;
            type Kept = Retained<W>;
            type R = CRules<$bits>;
            type T = CToken<$bits>;

            functions! { by_name W, $name:
                "acquire" acquire() -> CPermit<$bits>, CPermit::rejected(NO_RULES);
                "state" state() -> u32, 0;
                "snapshot" snapshot() -> CSnapshot, CSnapshot { wait_ms: NO_RULES, ..CSnapshot::default() };
                "trip" trip(at_least_ms: u32) -> bool, false;
                "force_open" force_open() -> bool, false;
                "release" release() -> bool, false;
                "disable" disable() -> bool, false;
                "enable" enable() -> bool, false;
                "reset" reset() -> bool, false;
                "probe_now" probe_now() -> bool, false;
            }

            functions! { by_name Kept, $name:
                "restore" restore() -> bool, false;
                "restore_after" restore_after(asleep_ms: u32) -> bool, false;
                "restore_running" restore_running() -> bool, false;
            }

            functions! { with_token $name:
                "report" report(succeeded: bool);
                "ignore" ignore();
                "report_failures" report_failures(weight: u16);
                "report_retry_after" report_retry_after(at_least_ms: u32);
                "report_down" report_down(at_least_ms: u32);
                "cancel" cancel();
                "renew" renew();
            }

            /// `ab_trips`.
            ///
            /// # Safety
            /// See the [module](super).
            #[unsafe(export_name = concat!($name, "trips"))]
            pub unsafe extern "C" fn trips(token: *const T) -> u32 {
                // SAFETY: it is NULL, or leads to a token that only this call uses.
                unsafe { token.as_ref() }.map_or(0, |token| token.trips::<$bits>())
            }

            /// `ab_rules_init`.
            ///
            /// # Safety
            /// See the [module](super).
            #[unsafe(export_name = concat!($name, "rules_init"))]
            pub unsafe extern "C" fn rules_init(rules: *mut R, settings: *const CSettings) -> *const c_char {
                // SAFETY: the caller's.
                unsafe { init::<W>(rules, settings) }
            }
        }
    };
    (by_name $place:ty, $prefix:literal: $($name:literal $f:ident($($argument:ident: $kind:ty)?) -> $result:ty, $without:expr;)*) => {$(
        #[doc = concat!("`ab_", $name, "`.")]
        ///
        /// # Safety
        /// See the [module](super).
        #[unsafe(export_name = concat!($prefix, $name))]
        pub unsafe extern "C" fn $f(
            word: *const $place, rules: *const R, $($argument: $kind,)? now_ms: u32,
        ) -> $result {
            // SAFETY: the caller's.
            unsafe { with(word, rules, now_ms, $without, |breaker| steps::$f(breaker $(, $argument)?)) }
        }
    )*};
    (with_token $prefix:literal: $($name:literal $f:ident($($argument:ident: $kind:ty)?);)*) => {$(
        #[doc = concat!("`ab_", $name, "`.")]
        ///
        /// # Safety
        /// See the [module](super).
        #[unsafe(export_name = concat!($prefix, $name))]
        pub unsafe extern "C" fn $f(
            word: *const W, rules: *const R, token: *mut T, $($argument: $kind,)? now_ms: u32,
        ) -> bool {
            // SAFETY: the caller's; the token is NULL, or leads to one that only this call uses.
            unsafe {
                with(word, rules, now_ms, false, |breaker| {
                    steps::$f(breaker, token.as_mut() $(, $argument)?)
                })
            }
        }
    )*};
}

functions! {
    /// With `AB_WORD_BITS` 32.
    narrow, atomic_breaker::word::AtomicU32, u32, "ab32_"
}

#[cfg(target_has_atomic = "64")]
functions! {
    /// With `AB_WORD_BITS` 64.
    wide, atomic_breaker::word::AtomicU64, u64, "ab64_"
}
