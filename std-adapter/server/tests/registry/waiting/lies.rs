// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long it is remembered that a key answered pings and failed again.

use std::cell::Cell;
use std::time::Duration;

use atomic_breaker_server::State;
use tokio::time::{Instant, sleep};

use super::probed::{PROBER, beside, slow_keys, trip};
use super::{SECOND, ms_since};

/// A key whose outage a ping has ended, and which fails again so many half pauses later: whether the next ping comes at
/// once.
async fn is_pinged_at_once(half_pauses: u32) -> bool {
    let keys = slow_keys();
    let pings = Cell::new(0);
    let ping = async |_, _| {
        pings.set(pings.get() + 1);
        Ok(())
    };
    let until_pinged = async || {
        trip(&keys, 1);
        let (begin, before) = (Instant::now(), pings.get());
        while pings.get() == before {
            sleep(Duration::from_millis(10)).await;
        }
        ms_since(begin)
    };
    let seen = Cell::new(0);
    let scene = async {
        // Many pauses, so that their number is not small.
        sleep(300 * SECOND + SECOND / 2).await;
        until_pinged().await;
        assert_eq!(keys.state(&1), State::Closed);
        sleep(half_pauses * SECOND / 2).await;
        seen.set(until_pinged().await);
    };
    beside(&keys, PROBER, 4, ping, scene).await;
    let ms = seen.get();
    assert!(ms <= 3_100, "{ms}");
    ms <= 1_100
}

#[tokio::test(start_paused = true)]
async fn a_lie_is_forgotten_once_the_key_has_stayed_up_for_64_pauses() {
    for (half_pauses, at_once) in [
        (1, false),
        (21, false),
        (127, false),
        (129, true),
        (151, true),
    ] {
        assert_eq!(
            is_pinged_at_once(half_pauses).await,
            at_once,
            "{half_pauses}"
        );
    }
}
