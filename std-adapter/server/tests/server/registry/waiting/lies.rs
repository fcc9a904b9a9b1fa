// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that answer pings and fail calls, and how long that is remembered.

use std::cell::Cell;
use std::time::Duration;

use atomic_breaker_server::{AnyPermit, Failure, Guard, Outcome, State};
use tokio::time::{Instant, sleep};

use super::probed::{PROBER, beside, keys, slow_keys, trip};
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

/// A key that answers pings and fails calls is not opened to callers each second, and once it tells the truth it is
/// served again within the stated bound.
#[tokio::test(start_paused = true)]
async fn a_key_that_lies_gets_few_calls_and_is_served_again_once_it_works() {
    let keys = keys(crate::registry::RULES, 100);
    let works = Cell::new(false);
    let (made, failed) = (Cell::new(0), Cell::new(0));
    let calls = async |seconds: u32| {
        for _ in 0..seconds * 10 {
            if let Ok(permit) = keys.of(1).acquire() {
                made.set(made.get() + 1);
                let outcome = if works.get() {
                    Outcome::Success
                } else {
                    failed.set(failed.get() + 1);
                    Failure::new().into()
                };
                permit.report(outcome);
            }
            sleep(SECOND / 10).await;
        }
    };
    let scene = async {
        calls(3_600).await;
        // By probes alone: one each 10 s.
        assert!(failed.get() < 700, "{}", failed.get());
        works.set(true);
        let begin = Instant::now();
        let before = failed.get();
        while keys.state(&1) != State::Closed {
            calls(1).await;
        }
        assert!(ms_since(begin) <= 12_000);
        assert_eq!(failed.get(), before);
        // After a while the lies are forgotten.
        calls(120).await;
        trip(&keys, 1);
        let begin = Instant::now();
        while keys.state(&1) != State::Closed {
            sleep(SECOND / 10).await;
        }
        assert!(ms_since(begin) <= 1_100);
    };
    beside(&keys, PROBER, 4, async |_, _| Ok(()), scene).await;
}

/// Only an outage that the pings ended, and that goes on, makes them rarer.
#[tokio::test(start_paused = true)]
async fn a_key_that_others_brought_back_has_not_lied() {
    let keys = slow_keys();
    let pings = Cell::new(0);
    let ping = async |_, _| {
        pings.set(pings.get() + 1);
        sleep(SECOND / 2).await;
        Ok(())
    };
    let scene = async {
        for _ in 0..20 {
            trip(&keys, 1);
            let before = pings.get();
            while pings.get() == before {
                sleep(SECOND / 10).await;
            }
            // While the answer is on its way.
            keys.command(&1, |key| key.reset()).unwrap();
            sleep(2 * SECOND).await;
            assert_eq!(pings.get(), before + 1);
            let begin = Instant::now();
            trip(&keys, 1);
            while keys.state(&1) != State::Closed {
                sleep(SECOND / 10).await;
            }
            assert!(ms_since(begin) <= 1_700, "{}", ms_since(begin));
            // Until what the pings did is forgotten.
            sleep(70 * SECOND).await;
        }
    };
    beside(&keys, PROBER, 4, ping, scene).await;
}
