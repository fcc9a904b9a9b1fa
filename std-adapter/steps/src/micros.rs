//! Times as stores keep them: in microseconds.

use std::time::Duration;

use super::StoreError;

/// The longest time that databases can count.
const LONGEST: Duration = Duration::from_secs(100_000 * 365 * 24 * 60 * 60);

/// A time in microseconds, rounded up, so that nothing is early.
///
/// # Errors
/// The time is longer than 100,000 years.
pub fn micros(time: Duration) -> Result<i64, StoreError> {
    if time > LONGEST {
        let words = format!("{time:?} is longer than 100,000 years: use a shorter time");
        return Err(StoreError::new(words));
    }
    Ok(time.as_nanos().div_ceil(1_000) as i64)
}

/// How long ago `then` was, given two times in microseconds; 0 if the clock was set back since.
pub fn since(now: i64, then: i64) -> Duration {
    Duration::from_micros(u64::try_from(now.saturating_sub(then)).unwrap_or(0))
}

/// The time after `now`, or the last there is.
pub(super) fn after(now: i64, time: Duration) -> i64 {
    now.saturating_add(micros(time).unwrap_or(i64::MAX))
}
