// SPDX-License-Identifier: MIT OR Apache-2.0
//! Until a key admits.

use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use atomic_breaker_server::{
    AnyPermit, Config, Guard, KeyGuard, KeyedObserver, Outcome, Registry, Retry, State, TokioClock,
    Transition,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{MS, SECOND, Waited, keys, ms_since, rejections, trip};

fn is_send<T: Send>(future: T) -> T {
    future
}

#[tokio::test(start_paused = true)]
async fn a_key_without_a_slot_is_ready_at_once_and_gets_none() {
    let keys = keys();
    let begin = Instant::now();
    let permit = keys.of(1).acquire_when_ready().await;
    assert_eq!(ms_since(begin), 0);
    permit.report(Outcome::Success);
    assert_eq!(keys.stats().keys, 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_arrives_when_the_open_time_is_over_and_is_not_counted_as_rejected() {
    let keys = keys();
    trip(&keys, 1);
    let begin = Instant::now();
    let permit = keys.of(1).acquire_when_ready().await;
    assert!(permit.is_probe());
    let waited = ms_since(begin);
    assert!((10_000..=11_010).contains(&waited), "{waited}");
    permit.report(Outcome::Success);
    assert_eq!(keys.state(&1), State::Closed);
    assert_eq!(rejections(&keys), 0);
}

/// One probe at a time is admitted, and takes 40 ms.
#[tokio::test(start_paused = true)]
async fn all_waiters_for_a_key_are_served_within_two_seconds_of_its_open_time() {
    let keys = keys();
    trip(&keys, 1);
    let begin = Instant::now();
    let mut waiters = JoinSet::new();
    for _ in 0..200 {
        let keys = Arc::clone(&keys);
        waiters.spawn(async move {
            let permit = keys.of(1).acquire_when_ready().await;
            let at = ms_since(begin);
            sleep(40 * MS).await;
            permit.report(Outcome::Success);
            at
        });
    }
    let served = waiters.join_all().await;
    assert!(served.iter().all(|&at| (10_000..=12_100).contains(&at)));
    let busiest = (10_000..12_100)
        .map(|ms| served.iter().filter(|&&at| at == ms).count())
        .max();
    assert!(busiest < Some(20), "they come spread: {busiest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_forced_open_is_looked_at_each_second() {
    let keys = keys();
    keys.command(&1, |breaker| breaker.force_open()).unwrap();
    let begin = Instant::now();
    assert!(
        timeout(60 * SECOND, keys.of(1).acquire_when_ready())
            .await
            .is_err()
    );
    let waiter = keys.of(1).acquire_when_ready();
    let operator = async {
        sleep(300 * MS).await;
        keys.command(&1, |breaker| breaker.reset()).unwrap();
    };
    let (permit, ()) = tokio::join!(waiter, operator);
    drop(permit);
    // The look after a second, and its share of the spread.
    let took = ms_since(begin) - 60_000;
    assert!((300..=1_200).contains(&took), "{took}");
    assert_eq!(rejections(&keys), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_returning_is_tried_now_and_then() {
    let rules = Config::new()
        .consecutive_failures(1)
        .gradual_return(1, 60 * SECOND);
    let keys: Registry<u32, _> = Registry::builder(rules).clock(TokioClock).build().unwrap();
    let _ = keys.of(1).call(|| Err::<(), _>("no answer"));
    sleep(5 * SECOND).await;
    assert!(keys.of(1).call(|| Ok::<_, &str>(())).is_ok());
    assert_eq!(keys.state(&1), State::Returning);
    let begin = Instant::now();
    keys.of(1)
        .acquire_when_ready()
        .await
        .report(Outcome::Success);
    assert!(ms_since(begin) <= 60_000);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_around_a_wait_is_respected() {
    let keys = keys();
    trip(&keys, 1);
    let begin = Instant::now();
    assert!(
        timeout(SECOND, keys.of(1).acquire_when_ready())
            .await
            .is_err()
    );
    assert!(ms_since(begin) <= 1_001);
    let other = timeout(SECOND, keys.of(2).acquire_when_ready()).await;
    assert!(other.is_ok(), "another key is none of its business");
}

#[tokio::test(start_paused = true)]
async fn an_owned_permit_moves_to_another_task() {
    let keys = keys();
    trip(&keys, 1);
    let permit = KeyGuard::new(Arc::clone(&keys), 1)
        .acquire_when_ready()
        .await;
    let call = tokio::spawn(async move { permit.report(Outcome::Success) });
    assert!(call.await.unwrap().is_some());
    assert_eq!(keys.state(&1), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn futures_of_keys_that_are_send_can_be_spawned() {
    let keys = keys();
    let operation = async || Ok::<_, String>(7);
    drop(is_send(keys.of(1).acquire_when_ready()));
    drop(is_send(keys.of(1).retry(Retry::new(), operation)));
    drop(is_send(keys.of(1).retry_with(
        |_: &_| Outcome::Success,
        Retry::new(),
        operation,
    )));
    drop(is_send(keys.of(1).call_timeout(SECOND, operation)));
    let named = Registry::<Arc<str>>::new(Config::new()).unwrap();
    drop(is_send(named.of("a".into()).acquire_when_ready()));
    let served = tokio::spawn({
        let keys: Arc<Waited> = Arc::clone(&keys);
        async move { keys.of(1).retry(Retry::new(), operation).await }
    });
    assert_eq!(served.await.unwrap(), Ok(7));
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_not_send_can_be_awaited_on_their_thread() {
    let keys = Registry::<Rc<str>>::new(Config::new()).unwrap();
    drop(keys.of("a".into()).acquire_when_ready().await);
    let answer = keys
        .of("a".into())
        .call_timeout(SECOND, async || Ok::<_, String>(7));
    assert_eq!(answer.await, Ok(7));
}

/// Keeps the task that waits for a key, and wakes it when the key changes.
#[derive(Default)]
struct Wakes(Mutex<Option<(u32, Waker)>>);

impl KeyedObserver<u32> for &Wakes {
    fn transition(&self, key: &u32, _: &Transition) {
        let kept = self.0.lock().unwrap().take_if(|(of, _)| of == key);
        if let Some((_, waker)) = kept {
            waker.wake();
        }
    }

    fn wake_on_change(&self, key: &u32, waker: &Waker) -> bool {
        *self.0.lock().unwrap() = Some((*key, waker.clone()));
        true
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_may_wake_those_who_wait_for_a_key() {
    let (first, second) = (Wakes::default(), Wakes::default());
    let keys = Registry::builder(crate::registry::RULES.open_for(SECOND * 3_600)).clock(TokioClock);
    let keys = keys.observer((&first, &second)).build().unwrap();
    keys.command(&7, |key| key.force_open()).unwrap();
    let begin = Instant::now();
    let release = async {
        sleep(SECOND * 3 + MS * 300).await;
        let kept = |it: &Wakes| it.0.lock().unwrap().as_ref().map(|(key, _)| *key);
        assert_eq!((kept(&first), kept(&second)), (Some(7), Some(7)), "both");
        keys.command(&7, |key| key.reset()).unwrap();
    };
    let wait = async {
        drop(keys.of(7).acquire_when_ready().await);
        ms_since(begin)
    };
    // And a share of the spread, an eighth of what it waited.
    let (waited, ()) = tokio::join!(wait, release);
    assert!((3_300..=3_300 + 413).contains(&waited), "{waited}");
}
