// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types that both sides exchange, laid out as in C.

use core::hint;
use core::mem::{MaybeUninit, align_of, size_of};

use atomic_breaker::config::{GradualReturn, Growth};
use atomic_breaker::word::{Bits, TickBits};
use atomic_breaker::{AsRules, Config, Rejected, Rules, State, Token, TripRule};

use crate::texts::Text;

/// Bits of a word as a number of C.
pub trait Raw: Bits {
    /// `uint32_t` or `uint64_t`.
    type Number: Copy + Default + PartialEq;

    /// The number with every bit turned over: no breaker writes a word of ones, so that 0 is free to mean "no token".
    #[doc(hidden)]
    fn to_number(self) -> Self::Number;

    /// The bits of such a number.
    #[doc(hidden)]
    fn from_number(number: Self::Number) -> Self;
}

macro_rules! raw {
    ($($(#[$generic:ident])? $bits:ty => $number:ty),*) => {$(
        impl$(<const $generic: u32>)? Raw for $bits {
            type Number = $number;

            fn to_number(self) -> $number {
                !(self.to_u64() as $number)
            }

            fn from_number(number: $number) -> Self {
                Self::from_u64((!number).into())
            }
        }
    )*};
}

raw!(u32 => u32, #[N] TickBits<N> => u32, u64 => u64);

/// `ab_token`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CToken<N> {
    word: N,
    start_ms: u32,
}

impl<N: Copy + Default + PartialEq> CToken<N> {
    pub(crate) fn of<B: Raw<Number = N>>(token: Token<B>) -> Self {
        let (granted, start_ms) = token.into_raw();
        Self {
            word: granted.to_number(),
            start_ms,
        }
    }

    /// The trips in a row of a probe; 0 of any other permit, and of none.
    pub(crate) fn trips<B: Raw<Number = N>>(self) -> u32 {
        let mut copy = self;
        copy.take::<B>().map_or(0, |token| token.trips().into())
    }

    /// The token, unless it is none; it is none afterwards.
    pub(crate) fn take<B: Raw<Number = N>>(&mut self) -> Option<Token<B>> {
        let Self { word, start_ms } = *self;
        self.word = N::default();
        (word != N::default()).then(|| Token::from_raw(B::from_number(word), start_ms))
    }
}

/// `ab_permit`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CPermit<N> {
    /// `true` if the call may be made.
    pub admitted: bool,
    /// If not: when it is worth asking again.
    pub wait_ms: u32,
    /// If so: to be reported.
    pub token: CToken<N>,
}

/// Forced open: the time is not known.
pub const UNTIL_RELEASED: u32 = u32::MAX;
/// There is no breaker, or its rules were not checked.
pub const NO_RULES: u32 = u32::MAX - 1;

impl<N: Default> CPermit<N> {
    pub(crate) fn rejected(wait_ms: u32) -> Self {
        Self {
            admitted: false,
            wait_ms,
            token: CToken::default(),
        }
    }
}

/// The wait in milliseconds that C is given.
pub(crate) fn wait_ms(rejected: Rejected) -> u32 {
    rejected.retry_in_ms().unwrap_or(UNTIL_RELEASED)
}

/// `ab_state_t`.
pub(crate) fn state_of(state: State) -> u32 {
    match state {
        State::Open => 1,
        State::HalfOpen => 2,
        State::Returning => 3,
        State::ForcedOpen => 4,
        State::Disabled => 5,
        _ => 0,
    }
}

/// `ab_snapshot_t`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CSnapshot {
    /// As `ab_state_t`.
    pub state: u32,
    /// Counted while closed or returning.
    pub failures: u32,
    /// In a row.
    pub trips: u32,
    /// The number of transitions, modulo 16 or 512.
    pub epoch: u32,
    /// 0 if a call may pass now.
    pub wait_ms: u32,
}

/// `ab_settings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[expect(missing_docs, reason = "the header has them")]
pub struct CSettings {
    pub failures: u32,
    pub window_ms: u32,
    pub lasting_ms: u32,
    pub open_ms: u32,
    pub growth_percent: u32,
    pub growth_step_ms: u32,
    pub max_open_ms: u32,
    pub jitter_percent: u32,
    pub seed: u32,
    pub max_retry_after_ms: u32,
    pub probes: u32,
    pub close_after: u32,
    pub probe_lease_ms: u32,
    pub cancel_limit_ms: u32,
    pub slow_call_ms: u32,
    pub return_first_percent: u32,
    pub return_over_ms: u32,
}

impl CSettings {
    /// The settings of a configuration that counts in the word alone, with each default written out. The seed is 0 if none is
    /// set.
    #[cfg(feature = "command")]
    pub(crate) fn of(config: &Config) -> Self {
        let (failures, window_ms, lasting_ms) = match config.trip {
            TripRule::Consecutive { failures } => (failures, 0, 0),
            TripRule::Lasting {
                failures,
                lasting_ms,
            } => (failures, 0, lasting_ms),
            TripRule::Within {
                failures,
                window_ms,
            } => (failures, window_ms, 0),
            // Refused: a tally alone before, what a later version has by its check, as no failures never trip.
            _ => (0, 0, 0),
        };
        let growth = config.growth;
        let back = config.gradual_return;
        Self {
            failures,
            window_ms,
            lasting_ms,
            open_ms: config.open_for_ms,
            growth_percent: growth.and_then(Growth::percent).unwrap_or(0),
            growth_step_ms: growth.and_then(Growth::step_ms).unwrap_or(0),
            max_open_ms: growth.map_or(0, |growth| growth.max_ms),
            jitter_percent: config.jitter_percent.into(),
            seed: config.seed.unwrap_or(0),
            max_retry_after_ms: config.longest_retry_after_ms(u32::MAX),
            probes: config.probes.into(),
            close_after: config.close_after.map_or(0, u32::from),
            probe_lease_ms: config.lease_ms(u32::MAX),
            cancel_limit_ms: config.cancel_limit_ms,
            slow_call_ms: config.slow_call_ms.unwrap_or(0),
            return_first_percent: back.map_or(0, |back| back.first_percent.into()),
            return_over_ms: back.map_or(0, |back| back.over_ms),
        }
    }

    /// The configuration, as Rust has it.
    ///
    /// # Errors
    /// A message about settings that only C can express.
    pub fn config(&self) -> Result<Config, Text> {
        // Field by field, as they are in milliseconds there, too.
        let mut config = Config::new();
        config.trip = match (self.failures, self.window_ms, self.lasting_ms) {
            (failures, 0, 0) => TripRule::Consecutive { failures },
            (failures, 0, lasting_ms) => TripRule::Lasting {
                failures,
                lasting_ms,
            },
            (failures, window_ms, 0) => TripRule::Within {
                failures,
                window_ms,
            },
            // The time of a row without one, which the check of the rules explains.
            (_, _, lasting_ms) => TripRule::Lasting {
                failures: 0,
                lasting_ms,
            },
        };
        config.open_for_ms = self.open_ms;
        config.growth = match (self.growth_percent, self.growth_step_ms, self.max_open_ms) {
            (0, 0, 0) => None,
            (percent, 0, max) if percent > 0 => Some(Growth::exponential(percent, max)),
            (0, step, max) if step > 0 => Some(Growth::linear(step, max)),
            _ => return Err(Text::Growth),
        };
        config.jitter_percent = byte(self.jitter_percent);
        config.seed = Some(self.seed);
        config.max_retry_after_ms = Some(self.max_retry_after_ms);
        config.probes = half(self.probes);
        config.close_after = (self.close_after != 0).then(|| half(self.close_after));
        config.probe_lease_ms = Some(self.probe_lease_ms);
        config.cancel_limit_ms = self.cancel_limit_ms;
        config.slow_call_ms = (self.slow_call_ms != 0).then_some(self.slow_call_ms);
        config.gradual_return = match (self.return_first_percent, self.return_over_ms) {
            (0, 0) => None,
            (first, over_ms) => Some(GradualReturn::new(first, over_ms)),
        };
        Ok(config)
    }
}

/// A number in a byte: larger ones fail every check.
fn byte(number: u32) -> u8 {
    number.try_into().unwrap_or(u8::MAX)
}

/// A number in two bytes, likewise.
fn half(number: u32) -> u16 {
    number.try_into().unwrap_or(u16::MAX)
}

/// `ab_rules`.
#[derive(Debug)]
#[repr(C)]
pub struct CRules<B> {
    mark: u32,
    checked: MaybeUninit<Rules<B>>,
}

/// The rules were checked for a word of these bits. Memory that was never set rarely holds such a number.
const fn mark<B>() -> u32 {
    0xAB07_42AC ^ size_of::<B>() as u32
}

// It fits into `ab_rules`, and is aligned as that is.
const _: () = assert!(size_of::<CRules<u64>>() <= 26 * 4 && align_of::<CRules<u64>>() == 4);

impl<B: Bits> CRules<B> {
    /// Checked ones.
    ///
    /// # Errors
    /// The setting to change, and its valid range.
    pub(crate) fn new(settings: &CSettings) -> Result<Self, Text> {
        let config = settings.config()?;
        let rules = Rules::try_new(config).map_err(|error| Text::from_fault(error.fault()))?;
        Ok(Self {
            mark: mark::<B>(),
            checked: MaybeUninit::new(rules),
        })
    }

    /// The rules, if they were checked.
    pub(crate) fn get(&self) -> Option<Checked<'_, B>> {
        // SAFETY: the mark is set together with the rules, by `new` alone.
        (self.mark == mark::<B>()).then(|| Checked(unsafe { self.checked.assume_init_ref() }))
    }
}

/// Rules made of `ab_settings`.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a, B>(&'a Rules<B>);

impl<B: Bits> AsRules<B> for Checked<'_, B> {
    #[inline]
    fn as_rules(&self) -> &Rules<B> {
        let config = self.0.config();
        let is_of_settings = !config.needs_tally()
            && config.seed.is_some()
            && config.max_retry_after_ms.is_some()
            && config.probe_lease_ms.is_some();
        // SAFETY: `CSettings::config` makes them so. The compiler leaves out what the others would need.
        unsafe { hint::assert_unchecked(is_of_settings) };
        self.0
    }
}
