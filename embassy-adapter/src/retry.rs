//! Trying again.

use core::future::Future;

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, CallError, Clock, Observer, Tally};
use embassy_time::{Duration, Instant};

use crate::ready::sleep;
use crate::share::Share;

/// When to try again, and when to give up: exponential pauses with jitter, bounded in number and
/// time. Integers only.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, BreakerExt, Config, EmbassyClock, Retry};
/// use embassy_time::Duration;
///
/// static SENSOR: Breaker = Breaker::new(Config::new(), EmbassyClock);
///
/// const PATIENT: Retry = Retry::new()
///     .tries(5)
///     .first_pause(Duration::from_millis(20))
///     .longest_pause(Duration::from_secs(1))
///     .within(Duration::from_secs(10));
///
/// # async fn read() -> Result<u16, ()> { Ok(21) }
/// async fn measure() -> Option<u16> {
///     SENSOR.retry(PATIENT, read).await.ok()
/// }
/// # let _ = measure();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Retry {
    tries: u32,
    first_ms: u32,
    longest_ms: u32,
    within: Option<Duration>,
}

impl Retry {
    /// Three tries, 100 ms and then 200 ms apart; with more tries up to 10 s apart.
    pub const fn new() -> Self {
        Self {
            tries: 3,
            first_ms: 100,
            longest_ms: 10_000,
            within: None,
        }
    }

    /// How often to try at most, refusals included. 0 is taken for 1.
    pub const fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// The pause before the second try; it doubles with each. Rounded up to milliseconds, at most
    /// 49.7 days.
    pub const fn first_pause(mut self, pause: Duration) -> Self {
        self.first_ms = ms(pause);
        self
    }

    /// No pause of its own is longer; the time that a breaker wants may be.
    pub const fn longest_pause(mut self, pause: Duration) -> Self {
        self.longest_ms = ms(pause);
        self
    }

    /// No try begins later than this after the first. A try that is under way is not cut short:
    /// that is for [`call_timeout`](crate::BreakerExt::call_timeout).
    pub const fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// The pause after so many tries, with up to a half taken off so that callers spread.
    fn pause_ms(self, tried: u32, share: Share) -> u32 {
        let doubled = 1_u32.checked_shl(tried - 1).unwrap_or(u32::MAX);
        let pause = self.first_ms.saturating_mul(doubled).min(self.longest_ms);
        pause - share.of(pause / 2)
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}

const fn ms(time: Duration) -> u32 {
    let ms = time.as_micros().div_ceil(1_000);
    if ms > u32::MAX as u64 {
        u32::MAX
    } else {
        ms as u32
    }
}

pub(crate) async fn retry<R, E, F, C: Clock, W: Word, T: Tally, O: Observer>(
    breaker: &Breaker<C, W, T, O>,
    policy: Retry,
    mut operation: impl FnMut() -> F,
) -> Result<R, CallError<E>>
where
    F: Future<Output = Result<R, E>>,
{
    let begin = Instant::now();
    let mut tried = 0;
    loop {
        let result = breaker.call_async(&mut operation).await;
        tried += 1;
        if result.is_ok() || tried >= policy.tries {
            return result;
        }
        // A failure may have tripped it just now.
        let Some(left) = breaker.snapshot().retry_in_ms() else {
            return result;
        };
        let pause = policy.pause_ms(tried, Share::next()).max(left);
        let next = Instant::now().saturating_add(Duration::from_millis(pause.into()));
        if policy
            .within
            .is_some_and(|within| next > begin.saturating_add(within))
        {
            return result;
        }
        sleep(pause).await;
    }
}
