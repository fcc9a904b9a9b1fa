// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same in a fleet.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined, Seat};
use atomic_breaker_http::{Breaker, TokioClock};
use atomic_breaker_steps::MemoryStore;
use tokio::time::{Instant, sleep};

use super::looking::{OPEN, Observed, SECOND, STORES, keep, lanes, of, slow, workflow};

fn instance(engine: &InProcess) -> (Joined, Arc<Observed<Seat>>) {
    let fleet = Joined::new(engine.clone(), FleetConfig::new(2)).unwrap();
    let seat = fleet.seat("shared").unwrap();
    let rules = OPEN.consecutive_failures(1);
    let breaker = Breaker::builder(rules, TokioClock).observer(seat.clone());
    let breaker = Arc::new(breaker.build());
    seat.take(Arc::clone(&breaker));
    (fleet, breaker)
}

/// Three instances of a fleet, of which the last only has a worker: its store is slow, or hangs.
#[tokio::test(start_paused = true)]
async fn in_a_fleet_a_worker_whose_store_hangs_shuts_out_no_instance() {
    for (jobs, within) in [(0, false), (0, true), (3, false), (3, true)] {
        for takes in STORES {
            let engine = InProcess::new();
            let instances: Vec<_> = (0..3).map(|_| instance(&engine)).collect();
            let (memory, workflow) = (MemoryStore::new(), workflow());
            keep(&memory, &workflow, jobs).await;
            let [lane, lane_within] = lanes(&instances[2].1);
            let lane = if within { lane_within } else { lane };
            let store = slow(&memory, takes);
            let _worker = of(store, lane, &workflow).build().unwrap().work();
            sleep(SECOND).await;
            for (_, breaker) in &instances {
                breaker.acquire().unwrap().failure();
            }
            let (mut rejected, began) = (0, Instant::now());
            let mut last = Duration::ZERO;
            while began.elapsed() < 60 * SECOND {
                for (_, breaker) in &instances[..2] {
                    if let Ok(permit) = breaker.acquire() {
                        permit.success();
                    } else {
                        (rejected, last) = (rejected + 1, began.elapsed());
                    }
                }
                sleep(SECOND / 5).await;
            }
            // The open time, two graces of at least four limits, and a poll.
            let bound = Duration::from_millis(3_000 + 2 * 1_000 + 500);
            assert!(
                last <= bound,
                "{jobs}, {within}, {takes:?}: {rejected} until {last:?}"
            );
        }
    }
}
