// SPDX-License-Identifier: MIT OR Apache-2.0
//! A configuration that is known to fit a word.

use core::marker::PhantomData;

use super::{Config, ConfigError};
use crate::word::{Bits, NativeBits};

/// A [`Config`] that was checked against the layout of a word: what a breaker follows.
///
/// A breaker owns its rules, or borrows them: a million breakers can share one set, and each costs no more memory than
/// its word.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, Rules, word::NativeWord};
///
/// static RULES: Rules = Rules::new(Config::new().consecutive_failures(3));
///
/// // One word per tenant; a breaker is put together at each call, at no cost.
/// let words: Vec<NativeWord> = (0..1_000).map(|_| NativeWord::new(0)).collect();
/// let clock = ManualClock::new();
/// let of_tenant = |tenant: usize| Breaker::from_parts(&words[tenant], &RULES, &clock, (), ());
///
/// for _ in 0..3 {
///     let _ = of_tenant(7).call(|| Err::<(), _>("down"));
/// }
/// assert!(of_tenant(7).acquire().is_err());
/// assert!(of_tenant(8).acquire().is_ok());
/// ```
///
/// # Rules of a library
///
/// A library that brings rules of its own checks them when it is compiled, for every word that they may meet: rules that
/// do not fit are a compile error with the message of the [`ConfigError`].
///
/// ```
/// use atomic_breaker::{Config, Rules};
/// use core::time::Duration;
///
/// /// What suits the modem.
/// pub const RULES: Config = Config::new().consecutive_failures(3).open_for(Duration::from_secs(60));
///
/// // They fit words of 32 bits, and so those of 64 bits, whose limits are wider.
/// const _: Rules<u32> = Rules::new(RULES);
/// ```
///
/// # Other rules while running
///
/// The rules can be replaced at any time, by any others: the state is in the word and stays, the new rules apply from
/// the next event on, and a running open time stays as it is. Build the breaker with
/// [`build_adjustable`](crate::Builder::build_adjustable), or view the same breaker under other rules with
/// [`Breaker::with_rules`](crate::Breaker::with_rules). What was counted under the old rules counts under the new ones:
/// with four failures in a row and a new limit of three, the next failure trips. Failures in a row carry no time: a
/// [window](Config::failures_within) that takes over treats them as if they had come when the clock read 0. If several
/// probes are in flight and the new rules allow one, the last to report may be presumed lost until the lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[repr(transparent)]
pub struct Rules<B = NativeBits> {
    config: Config,
    bits: PhantomData<fn() -> B>,
}

impl<B: Bits> Rules<B> {
    /// Rules for words with these bits.
    ///
    /// # Panics
    /// When the configuration does not fit the word. In a `const` or `static` that is a compile error; for
    /// configurations that may be invalid, use [`try_new`](Self::try_new).
    pub const fn new(config: Config) -> Self {
        match Self::try_new(config) {
            Ok(rules) => rules,
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// [`new`](Self::new) for configurations that may be invalid.
    pub const fn try_new(config: Config) -> Result<Self, ConfigError> {
        match config.check(B::LAYOUT) {
            Ok(()) => Ok(Self {
                config,
                bits: PhantomData,
            }),
            Err(error) => Err(error),
        }
    }

    /// The configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }
}

/// Access to a breaker's rules: [`Rules`] of its own, or a reference, an `Arc` or your own handle that leads to shared
/// ones.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to rules for words of `{B}`",
    note = "check a `Config` first: `Rules::new(config)`; its word must be the breaker's"
)]
pub trait AsRules<B: Bits> {
    /// The rules.
    fn as_rules(&self) -> &Rules<B>;

    /// Tells the compiler what is known of these rules when the program is compiled, where they arrive as an argument. By
    /// default nothing.
    #[doc(hidden)]
    #[inline]
    fn assume(&self, config: &Config) {
        let _ = config;
    }
}

impl<B: Bits> AsRules<B> for Rules<B> {
    fn as_rules(&self) -> &Self {
        self
    }
}

macro_rules! forward_rules {
    ($pointer:ty) => {
        impl<B: Bits, T: AsRules<B> + ?Sized> AsRules<B> for $pointer {
            fn as_rules(&self) -> &Rules<B> {
                (**self).as_rules()
            }
        }
    };
}

for_pointers!(forward_rules);
