// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each function of the interface, for a breaker of any word and rules: what the functions of the header and those
//! of generated breakers have in common.

use core::time::Duration;

use atomic_breaker::word::Word;
use atomic_breaker::{AsRules, Breaker, Failure, Outcome, Transition};

use crate::at::At;
use crate::types::{CPermit, CSnapshot, CToken, Raw, state_of, wait_ms};

/// A breaker, put together for one call.
pub type View<W, R> = Breaker<At, W, (), (), R>;

type Number<W> = <<W as Word>::Bits as Raw>::Number;

/// `ab_acquire`.
pub fn acquire<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(
    breaker: &View<W, R>,
) -> CPermit<Number<W>> {
    match breaker.acquire() {
        Ok(permit) => CPermit {
            admitted: true,
            wait_ms: 0,
            token: CToken::of(permit.into_token()),
        },
        Err(rejected) => CPermit::rejected(wait_ms(rejected)),
    }
}

/// Reports, each with the permit of the token: nothing without one.
macro_rules! reports {
    ($($(#[$meta:meta])* $f:ident($($argument:ident: $kind:ty)?) |$permit:ident| $report:expr;)+) => {$(
        $(#[$meta])*
        #[inline]
        pub fn $f<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(
            breaker: &View<W, R>,
            token: Option<&mut CToken<Number<W>>>,
            $($argument: $kind,)?
        ) -> bool {
            let Some(granted) = token.and_then(CToken::take) else {
                return false;
            };
            let $permit = breaker.resume(granted);
            let made: Option<Transition> = $report;
            made.is_some()
        }
    )+};
}

reports! {
    /// `ab_report`.
    report(succeeded: bool) |permit| if succeeded { permit.success() } else { permit.failure() };
    /// `ab_ignore`.
    ignore() |permit| permit.report(Outcome::Ignored);
    /// `ab_report_failures`.
    report_failures(weight: u16) |permit| permit.report(Failure::with_weight(weight));
    /// `ab_report_retry_after`.
    report_retry_after(at_least_ms: u32) |permit| permit.report(match at_least_ms {
        0 => Failure::new(),
        ms => Failure::retry_after(Duration::from_millis(ms.into())),
    });
    /// `ab_report_down`.
    report_down(at_least_ms: u32) |permit| permit.report(match at_least_ms {
        0 => Failure::tripping(),
        ms => Failure::tripping_for(Duration::from_millis(ms.into())),
    });
    /// `ab_cancel`.
    cancel() |permit| permit.cancel();
}

/// `ab_renew`: whether its report still counts.
pub fn renew<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(
    breaker: &View<W, R>,
    token: Option<&mut CToken<Number<W>>>,
) -> bool {
    let Some(token) = token else {
        return false;
    };
    let Some(granted) = token.take() else {
        return false;
    };
    let mut permit = breaker.resume(granted);
    let holds = permit.renew();
    *token = CToken::of(permit.into_token());
    holds
}

/// `ab_state`.
pub fn state<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(breaker: &View<W, R>) -> u32 {
    state_of(breaker.state())
}

/// `ab_snapshot`.
pub fn snapshot<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(breaker: &View<W, R>) -> CSnapshot {
    let seen = breaker.snapshot();
    CSnapshot {
        state: state_of(seen.state()),
        failures: seen.failures().into(),
        trips: seen.trips().into(),
        epoch: seen.epoch().into(),
        wait_ms: seen.rejection().map_or(0, wait_ms),
    }
}

/// `ab_restore`: whether the memory has kept its content.
pub fn restore<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(breaker: &View<W, R>) -> bool {
    breaker.restore().is_ok()
}

/// `ab_restore_after`: whether the memory has kept its content.
pub fn restore_after<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(
    breaker: &View<W, R>,
    asleep_ms: u32,
) -> bool {
    let asleep = Duration::from_millis(asleep_ms.into());
    breaker.restore_after(asleep).is_ok()
}

/// `ab_restore_running`: whether the memory has kept its content.
pub fn restore_running<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(breaker: &View<W, R>) -> bool {
    breaker.restore_running().is_ok()
}

/// `ab_trip`.
pub fn trip<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(
    breaker: &View<W, R>,
    at_least_ms: u32,
) -> bool {
    let tripped: Option<Transition> = match at_least_ms {
        0 => breaker.trip(),
        ms => breaker.trip_for(Duration::from_millis(ms.into())),
    };
    tripped.is_some()
}

/// Commands: whether the state has changed.
macro_rules! commands {
    ($($f:ident)+) => {$(
        #[doc = concat!("`ab_", stringify!($f), "`.")]
        pub fn $f<W: Word<Bits: Raw>, R: AsRules<W::Bits>>(breaker: &View<W, R>) -> bool {
            breaker.$f().is_some()
        }
    )+};
}

commands! { force_open release disable enable reset probe_now }
