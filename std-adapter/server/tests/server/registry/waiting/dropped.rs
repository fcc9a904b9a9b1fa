// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures that are dropped at any await: no slot of a probe is lost, and nothing is counted.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use atomic_breaker_server::{AnyPermit, Guard, Outcome, Retry, State};
use tokio::time::{sleep, timeout};

use super::{MS, SECOND, Waited, keys, probes_in_flight, trip};

/// Polls a future so often, and drops it.
async fn drop_after<F: Future>(polls: u32, future: F) {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        future.as_mut().poll(context).map(|_| ())
    })
    .await;
}

/// A caller that may be dropped; in half of the cases another one holds the only probe for a while.
async fn call(keys: &Waited, kind: u32) {
    let work = async || {
        sleep(100 * MS).await;
        Ok::<_, &str>(())
    };
    match kind {
        0 => {
            let permit = keys.of(1).acquire_when_ready().await;
            sleep(100 * MS).await;
            permit.report(Outcome::Success);
        }
        1 => {
            let patient = Retry::new().wait_for_breaker(60 * SECOND);
            drop(keys.of(1).retry(patient, work).await);
        }
        _ => {
            drop(keys.of(1).acquire_when_ready().await);
            drop(keys.of(1).call_timeout(SECOND, work).await);
        }
    }
}

async fn is_as_before(keys: &Arc<Waited>, what: &str) {
    assert_eq!(probes_in_flight(keys, 1), 0, "{what}");
    let permit = timeout(60 * SECOND, keys.of(1).acquire_when_ready())
        .await
        .unwrap_or_else(|_| panic!("{what}: never again"));
    permit.report(Outcome::Success);
    assert_eq!(keys.state(&1), State::Closed, "{what}");
}

#[tokio::test(start_paused = true)]
async fn at_any_poll() {
    for kind in 0..3 {
        for polls in 0..24 {
            let keys = keys();
            trip(&keys, 1);
            drop_after(polls, call(&keys, kind)).await;
            is_as_before(&keys, &format!("{kind} after {polls} polls")).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn at_any_time() {
    for kind in 0..3 {
        for step in 0..160 {
            let keys = keys();
            trip(&keys, 1);
            // Another caller holds the probe for a while.
            let holder = async {
                sleep(10 * SECOND).await;
                if let Ok(probe) = keys.of(1).acquire() {
                    sleep(400 * MS).await;
                    probe.report(Outcome::Ignored);
                }
            };
            let patience = 9_000 * MS + 25 * step * MS;
            let caller = timeout(patience, call(&keys, kind));
            let _ = tokio::join!(holder, caller);
            is_as_before(&keys, &format!("{kind} after {patience:?}")).await;
        }
    }
}
