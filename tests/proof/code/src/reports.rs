// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports of a permit that was made from two numbers.

use atomic_breaker::{Failure, Outcome, Rules, Token};

use crate::{Answer, Bits, Word, guard, tell, time};

macro_rules! reports {
    ($($name:ident($($argument:ident),*) = |$permit:ident| $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            word: &Word, rules: &Rules<Bits>, answer: &mut Answer, granted: Bits, started_ms: u32 $(, $argument: u32)*
        ) -> u32 {
            let guard = guard(word, rules);
            let $permit = guard.resume(Token::from_raw(granted, started_ms));
            tell($call, answer)
        }
    )*};
}

reports! {
    p_success() = |permit| permit.success();
    p_success_elsewhere() = |permit| permit.success_elsewhere();
    p_failure(weight) = |permit| permit.report(Failure::with_weight(weight as u16));
    p_slow() = |permit| permit.report(Failure::slow());
    p_tripping() = |permit| permit.report(Failure::tripping());
    p_tripping_for(seconds, nanos) = |permit| permit.report(Failure::tripping_for(time(seconds, nanos)));
    p_retry_after(seconds, nanos) = |permit| permit.report(Failure::retry_after(time(seconds, nanos)));
    p_ignored() = |permit| permit.report(Outcome::Ignored);
    p_cancel() = |permit| permit.cancel();
    p_drop() = |permit| { drop(permit); None };
    p_attempt() = |permit| { drop(permit.failing_when_dropped()); None };
}

#[unsafe(no_mangle)]
pub extern "C" fn p_renew(
    word: &Word,
    rules: &Rules<Bits>,
    answer: &mut Answer,
    granted: Bits,
    started_ms: u32,
) -> u32 {
    let guard = guard(word, rules);
    let mut permit = guard.resume(Token::from_raw(granted, started_ms));
    let is_renewed = permit.renew();
    (answer.granted, answer.started_ms) = permit.into_token().into_raw();
    is_renewed.into()
}

#[unsafe(no_mangle)]
pub extern "C" fn p_still_counts(
    word: &Word,
    rules: &Rules<Bits>,
    granted: Bits,
    started_ms: u32,
) -> u32 {
    let guard = guard(word, rules);
    let permit = guard.resume(Token::from_raw(granted, started_ms));
    let counts = permit.still_counts();
    let _ = permit.into_token();
    counts.into()
}
