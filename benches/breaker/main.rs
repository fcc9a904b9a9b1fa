// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each step of the breaker on its own, on both words, with criterion.
//!
//! ```console
//! cargo bench -p benches --bench breaker [-- part-of-a-name]
//! ```
//!
//! Takes about 3 minutes. The clock stands still unless time is the subject. It uses one thread; for more see
//! the program `contention`, for others' breakers the program `peers`.

mod closed;
mod failing;
mod half_open;
mod rejection;
mod returning;
mod shared;
mod tally;
mod transition;

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{AnyBreaker, Breaker, Config, ManualClock, Permit};
use criterion::{Criterion, criterion_group, criterion_main};

/// A word of either size.
trait AnyWord: Word + Default + 'static {
    /// Ends the name of a benchmark.
    const NAME: &'static str;
    /// The most failures in a row that it can count.
    const FAILURES: u32;
    /// The longest lease that it can hold.
    const LONGEST: Duration;
}

impl AnyWord for AtomicU64 {
    const NAME: &'static str = "64 bits";
    const FAILURES: u32 = 65_535;
    const LONGEST: Duration = Duration::from_millis(1 << 31);
}

impl AnyWord for AtomicU32 {
    const NAME: &'static str = "32 bits";
    const FAILURES: u32 = 255;
    const LONGEST: Duration = Duration::from_millis(1 << 20);
}

const OPEN_FOR: Duration = Duration::from_secs(1);

/// After the open time, in any tick.
const LATER: Duration = Duration::from_secs(2);

const RULES: Config = Config::new().consecutive_failures(5).open_for(OPEN_FOR);

fn breaker<W: AnyWord>(rules: Config, clock: &ManualClock) -> Breaker<&ManualClock, W> {
    Breaker::over(W::default(), rules, clock)
}

/// Ignores the result, like many callers do.
fn succeed<H: AnyBreaker>(permit: Permit<H>) {
    permit.success();
}

fn fail<H: AnyBreaker>(permit: Permit<H>) {
    permit.failure();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    targets = closed::on_both_words, failing::on_both_words, rejection::on_both_words,
        half_open::on_both_words, returning::on_both_words, transition::on_both_words,
        shared::on_both_words, tally::on_both_words
}
criterion_main!(benches);
