// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that are known when the library is built: their rules are constants, and their words are variables of C.
//!
//! The command generates one [`Table`] of `breakers.toml` for each tick. Breakers of one tick share their code, and the
//! compiler knows all rules that they can have: code that none of them needs takes no flash.

use core::sync::atomic::Ordering;

#[cfg(breakers)]
use atomic_breaker::word::Retained;
use atomic_breaker::word::Word;
use atomic_breaker::{AsRules, Breaker, Config, Rules};

use crate::at::At;
use crate::common::Common;
use crate::steps::View;
use crate::types::Raw;

/// A breaker among those of one tick.
///
/// # Safety
/// [`index`](Self::index) is less than the length of [`RULES`](Self::RULES), and [`COMMON`](Self::COMMON) is as given
/// here.
pub unsafe trait Table: Copy + 'static {
    /// Its word.
    type Word: Word<Bits: Raw> + 'static;

    /// The rules of all of them.
    const RULES: &'static [Rules<<Self::Word as Word>::Bits>];

    /// The properties that all rules share.
    const COMMON: Common = Common::from_rules(Self::RULES);

    /// The breaker's index in the table.
    fn index(self) -> usize;

    /// The word of this breaker.
    fn word(self) -> &'static Self::Word;

    /// The seed of its jitter, where the rules have none.
    fn entropy(self) -> u32;
}

/// The word and the rules of a breaker of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub struct Of<T>(T);

impl<T: Table> Word for Of<T> {
    type Bits = <T::Word as Word>::Bits;

    #[inline]
    fn load(&self, order: Ordering) -> Self::Bits {
        self.0.word().load(order)
    }

    #[inline]
    fn compare_exchange_weak(
        &self,
        current: Self::Bits,
        new: Self::Bits,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Bits, Self::Bits> {
        let word = self.0.word();
        word.compare_exchange_weak(current, new, success, failure)
    }
}

impl<T: Table> AsRules<<T::Word as Word>::Bits> for Of<T> {
    #[inline]
    fn as_rules(&self) -> &Rules<<T::Word as Word>::Bits> {
        // SAFETY: there is one of this number.
        let rules = unsafe { T::RULES.get_unchecked(self.0.index()) };
        self.assume(rules.config());
        rules
    }

    #[inline]
    fn assume(&self, config: &Config) {
        const { T::COMMON }.is_assumed_of(config);
    }
}

/// The breaker, for one call.
#[inline]
pub fn view<T: Table>(of: T, now_ms: u32) -> View<Of<T>, Of<T>> {
    let at = At {
        now_ms,
        entropy: of.entropy(),
    };
    Breaker::from_parts(Of(of), Of(of), at, (), ())
}

/// The names that a generated file uses.
#[cfg(breakers)]
#[allow(unused_imports, reason = "some do not need all")]
pub(crate) mod prelude {
    pub(crate) use core::time::Duration;

    pub(crate) use atomic_breaker::word::{AtomicU32, Retained, TickBits, Ticks};
    pub(crate) use atomic_breaker::{Config, Rules};

    pub(crate) use super::{Table, functions, read};
}

/// A seed that C has set.
#[cfg(breakers)]
#[allow(dead_code, reason = "few need one")]
pub(crate) fn read(seed: &atomic_breaker::word::AtomicU32) -> u32 {
    seed.load(Ordering::Relaxed)
}

/// A breaker of the table in memory that survives a reset.
#[cfg(breakers)]
#[allow(dead_code, reason = "few need one")]
pub(crate) fn retained<T: Table>(
    of: T,
    word: &'static Retained<T::Word>,
    now_ms: u32,
) -> View<&'static Retained<T::Word>, Of<T>> {
    let at = At {
        now_ms,
        entropy: of.entropy(),
    };
    Breaker::from_parts(word, Of(of), at, (), ())
}

/// Defines the functions of one breaker: `radio_acquire` and so on. Their long parts are those of the core, which all
/// breakers of a tick share.
#[cfg(breakers)]
macro_rules! functions {
    ($name:literal = $handle:expr $(, retained in $kept:expr)?) => {
        const _: () = {
            use $crate::steps;
            use $crate::table::view;
            use $crate::types::{CPermit, CSnapshot, CToken};

            $crate::table::functions! { by_name $name, $handle;
                "_acquire" acquire() -> CPermit<u32>;
                "_state" state() -> u32;
                "_snapshot" snapshot() -> CSnapshot;
                "_trip" trip(at_least_ms: u32) -> bool;
                "_force_open" force_open() -> bool;
                "_release" release() -> bool;
                "_disable" disable() -> bool;
                "_enable" enable() -> bool;
                "_reset" reset() -> bool;
                "_probe_now" probe_now() -> bool;
            }
            $crate::table::functions! { with_token $name, $handle;
                "_report" report(succeeded: bool);
                "_ignore" ignore();
                "_report_failures" report_failures(weight: u16);
                "_report_retry_after" report_retry_after(at_least_ms: u32);
                "_report_down" report_down(at_least_ms: u32);
                "_cancel" cancel();
                "_renew" renew();
            }

            $($crate::table::functions! { retained $name, $handle, $kept;
                "_restore" restore();
                "_restore_after" restore_after(asleep_ms: u32);
                "_restore_running" restore_running();
            })?
        };
    };
    (retained $name:literal, $handle:expr, $kept:expr; $($suffix:literal $f:ident($($argument:ident: $kind:ty)?);)+) => {$(
        #[unsafe(export_name = concat!($name, $suffix))]
        extern "C" fn $f($($argument: $kind,)? now_ms: u32) -> bool {
            steps::$f(&$crate::table::retained($handle, $kept, now_ms) $(, $argument)?)
        }
    )+};
    (by_name $name:literal, $handle:expr; $($suffix:literal $f:ident($($argument:ident: $kind:ty)?) -> $result:ty;)+) => {$(
        #[unsafe(export_name = concat!($name, $suffix))]
        extern "C" fn $f($($argument: $kind,)? now_ms: u32) -> $result {
            steps::$f(&view($handle, now_ms) $(, $argument)?)
        }
    )+};
    (with_token $name:literal, $handle:expr; $($suffix:literal $f:ident($($argument:ident: $kind:ty)?);)+) => {$(
        #[unsafe(export_name = concat!($name, $suffix))]
        unsafe extern "C" fn $f(token: *mut CToken<u32>, $($argument: $kind,)? now_ms: u32) -> bool {
            // SAFETY: it is NULL, or leads to a token that only this call uses, as the header demands.
            let token = unsafe { token.as_mut() };
            steps::$f(&view($handle, now_ms), token $(, $argument)?)
        }
    )+};
}
#[cfg(breakers)]
pub(crate) use functions;
