//! What is measured of every contestant. Each lap counts its answers and ends with an assertion,
//! so that nobody is measured doing something else.

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
            assert_eq!(done, calls, "{} refused while closed", C::NAME);
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
            assert_eq!(done, calls, "{} refused while closed", C::NAME);
        }
    })
}

/// The most failures in a row that some contestants can count.
const MANY: u32 = 60_000;

/// Closed calls that fail, fewer than trip.
pub fn failing<C: Contestant>() -> Case {
    some_fail::<C>(|call| call != u64::MAX).at_most(u64::from(MANY) / 2)
}

/// Closed calls of which every `period`-th fails.
pub fn mixed<C: Contestant>(period: u64) -> Case {
    some_fail::<C>(move |call| call % period == 0).at_most(u64::from(MANY) / 4)
}

fn some_fail<C: Contestant>(fails: impl Fn(u64) -> bool + Copy + Send + Sync + 'static) -> Case {
    Case::new(C::NAME, move || {
        let breaker = C::new(Rules {
            failures: MANY,
            ..Rules::LASTING
        });
        move |calls| {
            let mut caller = breaker.caller();
            let failed = count(calls, Answer::Failed, |call| {
                caller.call(move || black_box(if fails(call) { Err(Down) } else { Ok(call) }))
            });
            let expected = (0..calls).filter(|call| fails(*call)).count() as u64;
            assert_eq!(failed, expected, "{} tripped", C::NAME);
        }
    })
}

/// Calls that are refused.
pub fn refused<C: Contestant>() -> Case {
    let tripped = Arc::new(C::tripped(Rules::LASTING));
    Case::new(C::NAME, move || {
        let breaker = tripped.clone();
        move |calls| {
            let mut caller = breaker.caller();
            let refused = count(calls, Answer::Refused, |call| {
                caller.call(move || Ok(black_box(call)))
            });
            assert_eq!(refused, calls, "{} is not open", C::NAME);
        }
    })
}

#[inline]
fn count(calls: u64, answer: Answer, mut call: impl FnMut(u64) -> Answer) -> u64 {
    (0..calls)
        .map(|number| u64::from(call(number) == answer))
        .sum()
}
