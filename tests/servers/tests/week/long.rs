// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that succeed but take longer than the lease of a probe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, State, TokioClock};
use tokio::time::{Instant, sleep};

use super::SECOND;

const LEASE: Duration = SECOND;
const OPEN: Duration = Duration::from_secs(60);

/// The failure of a call while the host is down.
#[derive(Clone, Copy, Debug)]
enum Fails {
    AtOnce,
    After(Duration),
}

/// One call per second, each lasting this many leases, over fourteen outages. Returns the longest time from the host's
/// return until the breaker closed.
async fn back_after(config: Config, leases: u32, fails: Fails) -> Duration {
    let config = config.probe_lease(LEASE).exponential(2, OPEN);
    let breaker = Arc::new(Breaker::new(config, TokioClock));
    let is_down = Arc::new(AtomicBool::new(false));
    let mut longest = Duration::ZERO;
    for _ in 0..14 {
        for (down, lasts) in [(true, 20 * OPEN), (false, 20 * OPEN)] {
            is_down.store(down, Relaxed);
            let (began, mut back) = (Instant::now(), None);
            while began.elapsed() < lasts {
                let (called, is_down) = (Arc::clone(&breaker), Arc::clone(&is_down));
                tokio::spawn(async move {
                    let call = called.call_async(|| async {
                        if is_down.load(Relaxed) {
                            if let Fails::After(time) = fails {
                                sleep(time).await;
                            }
                            return Err("down");
                        }
                        sleep(leases * LEASE).await;
                        Ok(())
                    });
                    call.await
                });
                sleep(SECOND).await;
                // While it remembers its trips, all calls pass.
                let is_closed = matches!(breaker.state(), State::Closed | State::Returning);
                back = if is_closed {
                    back.or(Some(began.elapsed()))
                } else {
                    None
                };
            }
            if down {
                let state = breaker.state();
                assert_ne!(state, State::Closed, "{leases} leases: {breaker:?}");
            } else {
                let back = back.unwrap_or_else(|| panic!("{leases} leases: {breaker:?}"));
                longest = longest.max(back);
            }
        }
    }
    longest
}

/// The open time; the lease that runs after calls that hung; the required number of successive successes; and 16
/// leases, during which the rounds that are lost get longer.
fn bound(leases: u32, successes: u32, fails: Fails) -> Duration {
    let old = match fails {
        Fails::AtOnce => Duration::ZERO,
        Fails::After(_) => 16 * LEASE,
    };
    OPEN + old + successes * (leases * LEASE + SECOND) + 16 * LEASE + 5 * SECOND
}

#[tokio::test(start_paused = true)]
async fn calls_of_less_than_80_leases_close_the_breaker_in_time() {
    for fails in [Fails::AtOnce, Fails::After(100 * LEASE)] {
        for leases in [1, 2, 15, 16, 17, 20, 30, 31, 40, 64, 79] {
            let back = back_after(Config::new(), leases, fails).await;
            assert!(
                back <= bound(leases, 1, fails),
                "{leases} leases, {fails:?}: {back:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_less_than_16_leases_close_one_that_asks_for_several_successes() {
    let config = Config::new().probes(2).close_after(5);
    for fails in [Fails::AtOnce, Fails::After(100 * LEASE)] {
        for leases in [1, 2, 3, 8, 15] {
            let back = back_after(config, leases, fails).await;
            assert!(
                back <= bound(leases, 5, fails),
                "{leases} leases, {fails:?}: {back:?}"
            );
        }
    }
}
