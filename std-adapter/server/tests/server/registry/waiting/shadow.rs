// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rejections that are not enforced, or only in part.

use std::sync::Arc;

use atomic_breaker_server::{AnyPermit, Guard, Outcome, Registry, Retry, ServiceError, TokioClock};
use futures_util::FutureExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::{SECOND, keys, ms_since, rejections, trip};

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_no_caller_waits_and_the_observer_sees_what_would_have_been_rejected() {
    let keys = keys();
    trip(&keys, 1);
    keys.enforcement().set_percent(0).unwrap();
    let permit = keys
        .of(1)
        .acquire_when_ready()
        .now_or_never()
        .expect("passes");
    assert!(!permit.is_admitted());
    permit.report(Outcome::Success);
    assert_eq!(rejections(&keys), 1);
    let answer = keys.of(1).retry(Retry::new(), async || Ok::<_, &str>(7));
    assert_eq!(answer.now_or_never(), Some(Ok(7)));
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_the_probe_is_admitted_as_usual() {
    let keys = keys();
    trip(&keys, 1);
    keys.enforcement().set_percent(0).unwrap();
    tokio::time::sleep(10 * SECOND).await;
    let permit = keys
        .of(1)
        .acquire_when_ready()
        .now_or_never()
        .expect("passes");
    assert!(permit.is_probe());
}

#[tokio::test(start_paused = true)]
async fn of_the_waiters_the_share_that_is_not_enforced_passes_and_the_others_wait() {
    let keys = keys();
    trip(&keys, 1);
    keys.enforcement().set_percent(30).unwrap();
    let begin = Instant::now();
    let mut waiters = JoinSet::new();
    for _ in 0..1_000 {
        let keys = Arc::clone(&keys);
        waiters.spawn(async move {
            let permit = keys.of(1).acquire_when_ready().await;
            let is_admitted = permit.is_admitted();
            permit.report(Outcome::Success);
            (ms_since(begin), is_admitted)
        });
    }
    let served = waiters.join_all().await;
    let passed = served.iter().filter(|(at, _)| *at == 0).count();
    assert!((600..=800).contains(&passed), "{passed}");
    assert!(served.iter().all(|(at, admitted)| match at {
        0 => !admitted,
        at => *admitted && (10_000..=12_100).contains(at),
    }));
    assert_eq!(rejections(&keys), passed);
}

#[tokio::test(start_paused = true)]
async fn waiters_pass_when_shadow_mode_begins() {
    let keys = keys();
    keys.command(&1, |breaker| breaker.force_open()).unwrap();
    let waiter = keys.of(1).acquire_when_ready();
    let operator = async {
        tokio::time::sleep(5 * SECOND).await;
        keys.enforcement().set_percent(0).unwrap();
    };
    let (permit, ()) = tokio::join!(waiter, operator);
    assert!(!permit.is_admitted());
}

#[tokio::test(start_paused = true)]
async fn a_partly_enforced_retry_passes_or_waits_for_all_its_tries() {
    let keys = keys();
    keys.command(&1, |breaker| breaker.force_open()).unwrap();
    keys.enforcement().set_percent(50).unwrap();
    let (mut passed, mut rejected) = (0, 0);
    for _ in 0..400 {
        let tries = std::cell::Cell::new(0);
        let answer = keys.of(1).retry(Retry::new(), async || {
            tries.set(tries.get() + 1);
            Err::<(), _>("no answer")
        });
        match timeout(60 * SECOND, answer).await.expect("it gives up") {
            Err(ServiceError::Failed(_)) => {
                assert_eq!(tries.get(), 3);
                passed += 1;
            }
            Err(ServiceError::Rejected(rejection)) => {
                assert_eq!((tries.get(), rejection.retry_in()), (0, None));
                rejected += 1;
            }
            Ok(()) => unreachable!(),
        }
    }
    assert!((140..=260).contains(&passed), "{passed} {rejected}");
    assert_eq!(rejections(&keys), 3 * passed + rejected);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_most_that_are_shut_out_no_caller_waits() {
    let pool = Registry::<u32>::builder(super::RULES).max_shut_out(1);
    let pool = pool.clock(TokioClock).build().unwrap();
    for replica in [1, 2] {
        pool.command(&replica, |breaker| breaker.trip_for(60 * SECOND))
            .unwrap();
    }
    let begin = Instant::now();
    let permit = pool.of(2).acquire_when_ready().await;
    assert!(!permit.is_admitted());
    let answer = pool.of(2).retry(Retry::new(), async || Ok::<_, &str>(7));
    assert_eq!((answer.await, ms_since(begin)), (Ok(7), 0));
    // It waits where it is shut out, and no longer when the other one is.
    let operator = async {
        tokio::time::sleep(5 * SECOND).await;
        pool.command(&2, |breaker| breaker.reset()).unwrap();
        pool.command(&1, |breaker| breaker.reset()).unwrap();
        pool.command(&2, |breaker| breaker.trip()).unwrap();
        pool.command(&1, |breaker| breaker.trip_for(60 * SECOND))
            .unwrap();
    };
    let (permit, ()) = tokio::join!(pool.of(1).acquire_when_ready(), operator);
    assert!(!permit.is_admitted() && ms_since(begin) >= 5_000);
}
