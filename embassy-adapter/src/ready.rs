//! Sleeping until the breaker can admit a call.

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, Clock, Permit, Tally};
use embassy_futures::select::select;
use embassy_time::{Duration, Instant, Timer};

use crate::changes::{Changes, Listener};
use crate::share::Share;

/// How often a breaker that is forced open is looked at by those who hear of no changes.
const FORCED_OPEN_MS: u32 = 1_000;

/// However long they slept, the last caller comes so much later than the first.
const LONGEST_SPREAD_MS: u32 = 1_000;

pub(crate) async fn ready<C: Clock, W: Word, T: Tally, O: Changes>(breaker: &Breaker<C, W, T, O>) {
    let mut slept_ms = 0;
    loop {
        // Before the look at the state, so that no change is missed.
        let mut changes = breaker.observer().listen();
        let left = breaker.snapshot().retry_in_ms();
        if left == Some(0) {
            // Others who slept wake now, too.
            let spread = (slept_ms / 8).min(LONGEST_SPREAD_MS);
            return sleep(Share::next().of(spread)).await;
        }
        let begin = Instant::now();
        match left {
            None if changes.hears() => changes.change().await,
            left => {
                let time = sleep(left.unwrap_or(FORCED_OPEN_MS));
                select(time, changes.change()).await;
            }
        }
        slept_ms = u32::try_from(begin.elapsed().as_millis()).unwrap_or(u32::MAX);
    }
}

pub(crate) async fn acquire<C: Clock, W: Word, T: Tally, O: Changes>(
    breaker: &Breaker<C, W, T, O>,
) -> Permit<'_, C, W, T, O> {
    loop {
        ready(breaker).await;
        if let Ok(permit) = breaker.acquire() {
            return permit;
        }
    }
}

pub(crate) async fn sleep(ms: u32) {
    if ms > 0 {
        Timer::after(Duration::from_millis(ms.into())).await;
    }
}
