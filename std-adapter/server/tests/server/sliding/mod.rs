// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share of failures within a sliding time, through the public API.

mod edges;
mod epochs;
mod exact;
mod guarded;
mod hanging;
mod interrupted;
mod margins;
mod rules;
mod saturated;
mod slow;
mod spurious;
mod threads;
mod watched;

use std::time::Duration;

use atomic_breaker_server::{ManualClock, Ratio, SlidingRatio, Tally, Verdict, tally::Call};

type Sliding<'a> = SlidingRatio<&'a ManualClock, 1>;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// So many percent within so many milliseconds, from so many calls on.
fn ratio(percent: u32, within_ms: u64, min_calls: u32) -> Ratio {
    Ratio::percent(percent)
        .within(ms(within_ms))
        .min_calls(min_calls)
}

/// Records calls of an epoch: `x` failed, `.` succeeded. Answers the last verdict.
fn play(tally: &impl Tally, ratio: Ratio, epoch: u16, calls: &str) -> Verdict {
    let mut last = Verdict::Keep;
    for call in calls.chars() {
        let call = match call {
            'x' => Call::failure(epoch, 1),
            _ => Call::success(epoch),
        };
        last = tally.record(call, Some(ratio));
    }
    last
}
