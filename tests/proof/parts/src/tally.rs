// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tally of the last calls, in a word of its own.

use atomic_breaker::Ratio;
use atomic_breaker::tally::{Call, LastCalls, Tally, Verdict};
use atomic_breaker::word::AtomicU64;

/// Returns whether the call trips.
#[unsafe(no_mangle)]
pub extern "C" fn p_record(
    tally: &LastCalls<AtomicU64>,
    epoch: u16,
    failed: bool,
    points: u16,
    min_calls: u16,
) -> u32 {
    let call = if failed {
        Call::failure(epoch, 1)
    } else {
        Call::success(epoch)
    };
    let ratio = Ratio::basis_points(points.into())
        .of_last(20)
        .min_calls(min_calls.into());
    (tally.record(call, Some(ratio)) == Verdict::Trip).into()
}

#[unsafe(no_mangle)]
pub extern "C" fn p_clear(tally: &LastCalls<AtomicU64>) -> u32 {
    tally.clear();
    0
}
