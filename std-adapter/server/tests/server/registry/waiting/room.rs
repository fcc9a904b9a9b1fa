// SPDX-License-Identifier: MIT OR Apache-2.0
//! A registry without room, and keys that lose their slot.

use std::pin::pin;
use std::sync::Arc;

use atomic_breaker_server::{
    AnyPermit, Failure, Guard, Outcome, Registry, Retry, ServiceError, State, TokioClock, WhenFull,
};
use futures_util::FutureExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep, timeout};

use super::super::RULES;
use super::{Diary, MS, SECOND, Waited, ms_since, rejections};

/// With a single slot, which key 0 keeps.
fn full(when_full: WhenFull) -> Waited {
    let keys = Registry::builder(RULES)
        .capacity(1)
        .when_full(when_full)
        .clock(TokioClock)
        .observer(Diary::default());
    let keys = keys.build().unwrap();
    keys.command(&0, |breaker| breaker.force_open()).unwrap();
    // Finds out that there is no room.
    let _ = keys.of(1).call(|| Err::<(), _>("no answer"));
    keys
}

#[tokio::test(start_paused = true)]
async fn a_key_rejected_for_lack_of_room_waits_for_it() {
    let keys = full(WhenFull::Reject);
    assert!(keys.of(1).acquire().is_err());
    let (rejected, unguarded) = (rejections(&keys), keys.stats().unguarded);
    let begin = Instant::now();
    let waiter = keys.of(1).acquire_when_ready();
    let operator = async {
        sleep(60 * SECOND).await;
        keys.command(&0, |breaker| breaker.reset()).unwrap();
    };
    let (permit, ()) = tokio::join!(waiter, operator);
    permit.report(Outcome::Success);
    let took = ms_since(begin);
    assert!((60_000..=61_200).contains(&took), "{took}");
    assert_eq!(rejections(&keys), rejected);
    assert_eq!(keys.stats().unguarded, unguarded, "a look is no call");
}

#[tokio::test(start_paused = true)]
async fn a_retry_gives_up_when_there_is_no_room_in_time() {
    let keys = full(WhenFull::Reject);
    let begin = Instant::now();
    let policy = Retry::new().wait_for_breaker(5 * SECOND);
    let answer = keys.of(1).retry(policy, async || Ok::<_, &str>(7)).await;
    assert!(matches!(answer, Err(ServiceError::Rejected(_))));
    assert!(ms_since(begin) <= 5_010, "{}", ms_since(begin));
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_a_key_without_room_passes() {
    let keys = full(WhenFull::Reject);
    for percent in [0, 1] {
        keys.enforcement().set_percent(percent).unwrap();
        let unguarded = keys.stats().unguarded;
        let permit = timeout(SECOND, keys.of(1).acquire_when_ready()).await;
        // Of those in part enforced, one in a hundred waits.
        let Ok(permit) = permit else { continue };
        assert!(!permit.is_admitted());
        assert_eq!(keys.stats().unguarded, unguarded + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_waited_for_loses_its_slot_like_any_other() {
    let keys = full(WhenFull::Pass);
    keys.command(&0, |breaker| breaker.reset()).unwrap();
    keys.command(&0, |breaker| breaker.trip()).unwrap();
    let mut waiter = pin!(keys.of(0).acquire_when_ready());
    assert!(waiter.as_mut().now_or_never().is_none());
    // Due for as long again as it was open, and its caller does not look.
    advance(21 * SECOND).await;
    let _ = keys.of(1).call(|| Err::<(), _>("no answer"));
    assert_eq!(keys.stats().evicted, 1);
    assert_eq!(keys.state(&0), State::Closed);
    let permit = timeout(1_001 * MS, waiter)
        .await
        .expect("a key without a slot");
    assert!(!permit.is_probe());
}

/// More keys that fail than there are slots, on several threads: slots change hands while they are looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn waiters_on_several_threads_for_room_and_for_their_key_are_all_served() {
    for when_full in [WhenFull::Pass, WhenFull::Reject] {
        let keys = Registry::builder(RULES.open_for(5 * MS))
            .capacity(2)
            .when_full(when_full);
        let keys = Arc::new(keys.build().unwrap());
        let mut waiters = JoinSet::new();
        for waiter in 0..64 {
            let keys: Arc<Registry<u32>> = Arc::clone(&keys);
            waiters.spawn(async move {
                for call in 0..10 {
                    let permit = keys.of((waiter + call) % 8).acquire_when_ready().await;
                    tokio::task::yield_now().await;
                    permit.report(if (waiter * 7 + call) % 3 == 0 {
                        Outcome::Success
                    } else {
                        Failure::new().into()
                    });
                }
            });
        }
        timeout(60 * SECOND, async {
            while waiters.join_next().await.is_some() {}
        })
        .await
        .unwrap_or_else(|_| panic!("{when_full:?}: never served"));
    }
}
