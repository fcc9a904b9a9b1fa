// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that wait until the breaker is ready: they are never rejected, and yet there to probe.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_server::{AnyPermit, State};
use atomic_breaker_server::{Breaker, Config, Guard, Outcome, Registry, TokioClock};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// The bound of docs/fleet.md: the open time and two graces of at least a second, and a poll if a message was lost.
const BOUND: Duration = Duration::from_secs(5 + 2 + 5);

fn rules() -> Config {
    Config::new().consecutive_failures(1).open_for(5 * SECOND)
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_a_breaker_probes_as_one_that_is_rejected_does() {
    let fleet = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    let seat = fleet.seat("payments").unwrap();
    let breaker = Breaker::builder(rules(), TokioClock)
        .observer(seat.clone())
        .build();
    let breaker = Arc::new(breaker);
    assert!(seat.take(Arc::clone(&breaker)));
    sleep(SECOND).await;
    breaker.acquire().unwrap().failure();
    let begin = Instant::now();
    breaker.ready().await;
    assert!(begin.elapsed() < BOUND, "after {:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_a_key_probes_as_one_that_is_rejected_does() {
    let fleet = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    let seats = fleet.seats("hosts").unwrap();
    let hosts = Registry::builder(rules())
        .clock(TokioClock)
        .observer(seats.clone())
        .build();
    let hosts: Arc<Registry<u32, _, _, _>> = Arc::new(hosts.unwrap());
    assert!(seats.take(Arc::clone(&hosts)));
    sleep(SECOND).await;
    let _ = hosts.of(7).call(|| Err::<(), _>("no answer"));
    assert_eq!(hosts.state(&7), State::Open);
    let begin = Instant::now();
    let permit = hosts.of(7).acquire_when_ready().await;
    permit.report(Outcome::Success);
    assert!(begin.elapsed() < BOUND, "after {:?}", begin.elapsed());
}
