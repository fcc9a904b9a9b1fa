// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements of every contestant. Each lap counts its results and ends with an assertion, so that no
//! contestant is measured doing something else.

use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;

use crate::contestant::{Answer, AsyncCaller, Caller, Contestant, Down, Rules, finish};
use crate::rounds::Case;

/// Closed calls that succeed.
pub fn closed<C: Contestant>() -> Case {
    Case::new(C::NAME, || {
        let breaker = C::new(Rules::LASTING);
        move |calls| {
            let mut caller = breaker.caller();
            let done = count(calls, Answer::Done, |call| {
                caller.call(move || Ok(black_box(call)))
            });
            assert_eq!(done, calls, "{} rejected while closed", C::NAME);
        }
    })
}

/// Closed futures that are ready and succeed.
pub fn closed_async<C>() -> Case
where
    C: Contestant,
    for<'a> C::Caller<'a>: AsyncCaller,
{
    Case::new(C::NAME, || {
        let breaker = C::new(Rules::LASTING);
        move |calls| {
            let mut caller = breaker.caller();
            let done = count(calls, Answer::Done, |call| {
                finish(pin!(
                    caller.call_async(|| async move { Ok(black_box(call)) })
                ))
            });
            assert_eq!(done, calls, "{} rejected while closed", C::NAME);
        }
    })
}

/// The most failures in a row that some contestants can count.
const MANY: u32 = 60_000;

/// Closed calls that fail, fewer than trip.
pub fn failing<C: Contestant>() -> Case {
    mixed::<C, 1>().at_most(u64::from(MANY) / 2)
}

/// Closed calls of which every `PERIOD`-th fails. A constant, as a division costs more than a breaker.
pub fn mixed<C: Contestant, const PERIOD: u64>() -> Case {
    let case = Case::new(C::NAME, move || {
        let breaker = C::new(Rules {
            failures: MANY,
            ..Rules::LASTING
        });
        move |calls: u64| {
            let mut caller = breaker.caller();
            let failed = count(calls, Answer::Failed, |call| {
                let fails = call % PERIOD == 0;
                caller.call(move || black_box(if fails { Err(Down) } else { Ok(call) }))
            });
            assert_eq!(failed, calls.div_ceil(PERIOD), "{} tripped", C::NAME);
        }
    });
    case.at_most(u64::from(MANY) / 4)
}

/// Calls that are rejected.
pub fn rejected<C: Contestant>() -> Case {
    let tripped = Arc::new(C::tripped(Rules::LASTING));
    Case::new(C::NAME, move || {
        let breaker = tripped.clone();
        move |calls| {
            let mut caller = breaker.caller();
            let rejected = count(calls, Answer::Rejected, |call| {
                caller.call(move || Ok(black_box(call)))
            });
            assert_eq!(rejected, calls, "{} is not open", C::NAME);
        }
    })
}

#[inline]
fn count(calls: u64, answer: Answer, mut call: impl FnMut(u64) -> Answer) -> u64 {
    (0..calls)
        .map(|number| u64::from(call(number) == answer))
        .sum()
}
