// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that started before a trip and end after it, while a probe is under way.

use std::sync::Arc;

use super::{Flight, RULES, fails, passes, start, until_the_deadline};
use crate::contestant::{Contestant, Down};

/// Enough to close or to reopen any of the contestants.
const LATE: usize = 5;

fn late_and_probe<C: Contestant>(breaker: &Arc<C>) -> (Vec<Flight>, Flight) {
    let late = (0..LATE).map(|_| start(breaker).expect("closed")).collect();
    breaker.trip();
    until_the_deadline();
    (late, start(breaker).expect("half-open"))
}

/// Do they close it, though the probe has not reported?
pub(super) fn successes<C: Contestant>() -> String {
    let breaker = Arc::new(C::new(RULES));
    let (late, probe) = late_and_probe(&breaker);
    for call in late {
        call.land(Ok(1));
    }
    // If it is still half-open, a failure is rejected or reopens; if it has closed, one failure changes nothing.
    let has_closed = fails(&*breaker) && passes(&*breaker);
    probe.land(Ok(1));
    if has_closed { "close it" } else { "ignored" }.into()
}

/// Do they reopen it, though the probe then succeeds?
pub(super) fn failures<C: Contestant>() -> String {
    let breaker = Arc::new(C::new(RULES));
    let (late, probe) = late_and_probe(&breaker);
    for call in late {
        call.land(Err(Down));
    }
    probe.land(Ok(1));
    if passes(&*breaker) {
        "ignored"
    } else {
        "reopen it"
    }
    .into()
}
