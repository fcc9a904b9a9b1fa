// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes that do not report.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use super::{HERD, OPEN_FOR, RULES, passes, start, time_to_pass, until_the_deadline};
use crate::contestant::{AsyncCaller, Caller, Contestant};

const STUCK: &str = "**stuck**: rejects forever";

/// Counts the probes that must get lost until none is left, if their number is bounded at all.
pub(super) fn slots(herd: usize) -> usize {
    if herd < HERD { herd } else { 1 }
}

/// The future of a probe is dropped, as by a timeout. When does the next caller get through?
pub(super) fn dropped<C>(slots: usize) -> String
where
    C: Contestant,
    for<'a> C::Caller<'a>: AsyncCaller,
{
    let breaker = C::tripped(RULES);
    until_the_deadline();
    for _ in 0..slots {
        let mut caller = breaker.caller();
        let probe = pin!(caller.call_async(std::future::pending));
        let mut context = Context::from_waker(Waker::noop());
        assert!(probe.poll(&mut context).is_pending(), "{}", C::NAME);
    }
    recovery(time_to_pass(&breaker))
}

/// A probe does not come back. Does another caller get through?
pub(super) fn hung<C: Contestant>(herd: usize) -> String {
    let breaker = Arc::new(C::tripped(RULES));
    until_the_deadline();
    let probe = start(&breaker).expect("half-open");
    // Crates that let all calls through do not mind; one more than intended is still a bound.
    let others = (0..2).map_while(|_| start(&breaker)).collect::<Vec<_>>();
    let answer = if herd == HERD {
        "no bound, no matter".into()
    } else if let Some(time) = time_to_pass(&*breaker) {
        format!("another after {} ms", time.as_millis())
    } else {
        "**rejects** as long as it hangs".into()
    };
    for call in others.into_iter().chain([probe]) {
        call.land(Ok(1));
    }
    answer
}

/// A probe panics. Is that a failure, and is there another probe?
pub(super) fn panicked<C: Contestant>(slots: usize) -> String {
    let breaker = C::tripped(RULES);
    until_the_deadline();
    for _ in 0..slots {
        let call = AssertUnwindSafe(|| breaker.caller().call(|| panic!("a probe that panics")));
        assert!(catch_unwind(call).is_err(), "{} swallows panics", C::NAME);
    }
    if passes(&breaker) {
        return "not counted".into();
    }
    match time_to_pass(&breaker) {
        Some(_) => "is a failure".into(),
        None => STUCK.into(),
    }
}

fn recovery(time: Option<Duration>) -> String {
    match time {
        Some(time) if time < OPEN_FOR / 4 => "another at once".into(),
        Some(time) => format!("another after {} ms", time.as_millis()),
        None => STUCK.into(),
    }
}
