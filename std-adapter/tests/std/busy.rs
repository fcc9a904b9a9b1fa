// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that always have more to do: tokio makes their task yield, and their time limits pass nevertheless.

use std::convert::Infallible;
use std::time::Duration;

use atomic_breaker_std::{Breaker, CallError, Config, Prober, Retry, State, Timed, breaker};
use tokio::task::consume_budget;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(5);

/// Reads a stream that has no end, and is never late.
async fn endless() -> Result<Infallible, ()> {
    loop {
        consume_budget().await;
    }
}

#[tokio::test]
async fn a_call_that_always_has_more_to_do_ends_at_its_limit() {
    let radio: Breaker = breaker(Config::new().consecutive_failures(1));
    let call = timeout(LONG, radio.call_timeout(LIMIT, endless)).await;
    assert_eq!(call, Ok(Err(CallError::Failed(Timed::TimedOut))));
    assert_eq!(radio.state(), State::Open);
}

#[tokio::test]
async fn a_try_that_always_has_more_to_do_ends_at_its_limit() {
    let radio: Breaker = breaker(Config::new());
    let policy = Retry::new().tries(2).try_limit(LIMIT);
    let call = timeout(LONG, radio.retry(policy, endless)).await;
    assert_eq!(call, Ok(Err(CallError::Failed(Timed::TimedOut))));
    assert_eq!(radio.snapshot().failures(), 2);
}

#[tokio::test]
async fn a_ping_that_always_has_more_to_do_ends_at_its_limit() {
    let radio: Breaker = breaker(Config::new());
    radio.trip();
    let mut pings = 0;
    let ping = || {
        pings += 1;
        let hangs = pings == 1;
        async move {
            if hangs {
                endless().await.map(drop)
            } else {
                Ok(())
            }
        }
    };
    let prober = Prober::every(LIMIT).time_limit(LIMIT);
    let until_then = timeout(Duration::from_secs(1), radio.run_prober(prober, ping)).await;
    assert!(until_then.is_err() && radio.state() == State::Closed);
}
