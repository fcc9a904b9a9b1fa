// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker that is pinged, and a host that says when to come back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use atomic_breaker_http::{Breaker, Config, Failure, Outcome, State, TokioClock};
use atomic_breaker_server::Prober;

use super::SECOND;
use test_support::week::{Host, protects, week};

/// The wait that the host demands with its n-th failure.
fn asks_for(number: u32) -> Outcome {
    match number % 4 {
        0 => Failure::new(),
        1 => Failure::retry_after(40 * SECOND),
        2 => Failure::retry_after(2 * SECOND),
        // A day, which is cut to the longest time that the rules allow.
        _ => Failure::retry_after(86_400 * SECOND),
    }
    .into()
}

async fn week_of(config: Config, wasted: u32) {
    let host = Host::default();
    let breaker = Arc::new(Breaker::new(config, TokioClock));
    let prober = {
        let (breaker, host) = (Arc::clone(&breaker), host.clone());
        tokio::spawn(async move {
            let prober = Prober::every(5 * SECOND).answers(2);
            let _: () = breaker.run_prober(prober, || host.answer()).await;
        })
    };
    let failed = AtomicU32::new(0);
    let judge = |result: &std::io::Result<u32>| match result {
        Ok(_) => Outcome::Success,
        Err(_) => asks_for(failed.fetch_add(1, Relaxed)),
    };
    let ask = || async {
        let answer = breaker.call_async_with(judge, || host.answer()).await;
        answer.is_ok()
    };
    let seen = week(&host, ask).await;
    protects(&seen, wasted);
    assert_eq!(breaker.state(), State::Closed);
    prober.abort();
}

#[tokio::test(start_paused = true)]
async fn pings_beside_retry_after() {
    let config = Config::new().open_for(50 * SECOND);
    week_of(config.max_retry_after(50 * SECOND), 90).await;
}

#[tokio::test(start_paused = true)]
async fn pings_beside_retry_after_where_the_open_time_grows() {
    let config = Config::new()
        .open_for(5 * SECOND)
        .exponential(2, 50 * SECOND);
    week_of(
        config.max_retry_after(50 * SECOND).probes(2).close_after(3),
        260,
    )
    .await;
}
