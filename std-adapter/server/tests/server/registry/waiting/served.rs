// SPDX-License-Identifier: MIT OR Apache-2.0
//! A resource that fails at random and is then well: all who wait are served.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_server::{AnyPermit, Failure, Guard, Outcome};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{MS, SECOND, Waited, keys, probes_in_flight, rejections};

/// The limit of each call.
const LIMIT: Duration = Duration::from_secs(2);
/// Calls of before may fail, and trip, until their limit. Then it is open for ten seconds, stored with at most 0.1 % more.
/// Every waiter gets to probe within a second, and to call within another.
const BOUND: Duration = Duration::from_millis(2_000 + 10_010 + 2_000 + 100);

/// A host that is ill fails, hangs or is well, as the dice say.
async fn answer(is_well: &AtomicBool) -> Result<(), &'static str> {
    sleep(fastrand::u32(1..60) * MS).await;
    match fastrand::u32(0..4) {
        _ if is_well.load(Relaxed) => Ok(()),
        0 | 1 => Err("no answer"),
        2 => pending().await,
        _ => Ok(()),
    }
}

async fn call(keys: &Waited, key: u32, is_well: &AtomicBool) {
    let permit = keys.of(key).acquire_when_ready().await;
    let outcome = match timeout(LIMIT, answer(is_well)).await {
        Ok(Ok(())) => Outcome::Success,
        _ => Failure::new().into(),
    };
    permit.report(outcome);
}

#[tokio::test(start_paused = true)]
async fn all_waiters_are_served_within_the_bound_once_the_resource_recovers() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    fastrand::seed(seed);
    let mut trips = 0;
    for _ in 0..40 {
        let (keys, is_well) = (keys(), Arc::new(AtomicBool::new(false)));
        let (mut patient, mut others) = (JoinSet::new(), JoinSet::new());
        let ill_until = Instant::now() + fastrand::u32(1..120) * SECOND;
        while Instant::now() < ill_until {
            let (keys, is_well, key) =
                (Arc::clone(&keys), Arc::clone(&is_well), fastrand::u32(0..3));
            if fastrand::bool() {
                patient.spawn(async move { call(&keys, key, &is_well).await });
            } else {
                let patience = fastrand::u32(0..15_000) * MS;
                others.spawn(async move {
                    let _ = timeout(patience, call(&keys, key, &is_well)).await;
                });
            }
            sleep(fastrand::u32(1..500) * MS).await;
        }
        others.shutdown().await;
        trips += keys.observer().transitions.lock().unwrap().len();
        is_well.store(true, Relaxed);
        let began = Instant::now();
        while patient.join_next().await.is_some() {}
        assert!(began.elapsed() <= BOUND, "{:?}", began.elapsed());
        assert!((0..3).all(|key| probes_in_flight(&keys, key) == 0));
        assert_eq!(rejections(&keys), 0, "who waits is not rejected");
    }
    assert!(trips > 100, "{trips}");
}
