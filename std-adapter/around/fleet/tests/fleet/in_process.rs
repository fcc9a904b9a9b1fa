// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine within the process: the contract, and its faults.

use std::time::Duration;

use atomic_breaker_fleet::contract::{self, OPEN_MS, ask, bid, instance, next, open, opened, vote};
use atomic_breaker_fleet::{Finding, Fleet, InProcess, Messages};

#[tokio::test(start_paused = true)]
async fn it_keeps_the_contract() {
    contract::check(async || InProcess::new()).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_flush_nothing_is_known_and_the_next_epoch_is_later() {
    let engine = InProcess::new();
    let before = open(&engine).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    engine.flush();
    assert_eq!(engine.read(instance(1), 1_000).await.unwrap().messages, []);
    // The voters know nothing.
    let after = opened(ask(&engine, 2, vote(1)).await);
    assert!(after.id.epoch > before.id.epoch, "{before:?} {after:?}");
    assert_ne!(after.id.mark, before.id.mark);
}

#[tokio::test(start_paused = true)]
async fn old_records_are_forgotten_and_the_next_epoch_is_later() {
    let engine = InProcess::new();
    let before = open(&engine).await;
    tokio::time::sleep(Duration::from_secs(605) + Duration::from_millis(1)).await;
    assert_eq!(engine.read(instance(1), 1_000).await.unwrap().messages, []);
    let after = opened(ask(&engine, 2, vote(1)).await);
    assert!(after.id.epoch > before.id.epoch, "{before:?} {after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_or_ahead_leaves_no_more_than_the_open_time() {
    for ahead_ms in [-60 * 60 * 1_000, 5 * 60 * 1_000] {
        let engine = InProcess::new();
        open(&engine).await;
        engine.set_clock_ahead_ms(ahead_ms);
        let period = opened(ask(&engine, 2, vote(3)).await);
        assert!(period.remaining_ms <= OPEN_MS, "{period:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_keeps_no_instance_from_probing() {
    let engine = InProcess::new();
    let period = open(&engine).await;
    assert!(bid(&engine, 1, period.id, 500).await.done);
    engine.set_clock_ahead_ms(-60 * 60 * 1_000);
    assert!(bid(&engine, 2, period.id, 500).await.done);
    assert!(!bid(&engine, 1, period.id, 500).await.done);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_lags_takes_over_and_subscriptions_end() {
    let engine = InProcess::new();
    let mut messages = engine.subscribe().await.unwrap();
    let replica = engine.replica();
    open(&engine).await;
    engine.fail_over(replica);
    assert!(messages.next().await.is_err());
    assert_eq!(engine.read(instance(1), 1_000).await.unwrap().messages, []);
    let mut messages = engine.subscribe().await.unwrap();
    let period = open(&engine).await;
    assert_eq!(next(&mut messages).await.notice.id(), period.id);
}

#[tokio::test(start_paused = true)]
async fn a_replica_takes_over_with_what_it_held() {
    let engine = InProcess::new();
    let period = open(&engine).await;
    let replica = engine.replica();
    engine.flush();
    engine.fail_over(replica);
    let reading = engine.read(instance(1), 1_000).await.unwrap();
    let ids: Vec<_> = reading.messages.iter().map(|it| it.notice.id()).collect();
    assert_eq!(ids, [period.id]);
}

#[tokio::test(start_paused = true)]
async fn each_request_and_each_reading_is_counted() {
    let engine = InProcess::new();
    for requests in 0..5 {
        assert_eq!(engine.requests(), 2 * requests);
        ask(&engine, 1, vote(9)).await;
        engine.read(instance(1), 1_000).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_hangs_responds_when_it_resumes() {
    let engine = InProcess::new();
    let mut messages = engine.subscribe().await.unwrap();
    engine.hang(true);
    let limit = Duration::from_secs(3_600);
    let unanswered = tokio::time::timeout(limit, ask(&engine, 1, vote(1))).await;
    assert!(unanswered.is_err());
    let asked = tokio::spawn({
        let engine = engine.clone();
        async move { ask(&engine, 1, vote(1)).await }
    });
    assert!(tokio::time::timeout(limit, messages.next()).await.is_err());
    engine.hang(false);
    assert!(asked.await.unwrap().done);
    next(&mut messages).await;
}

#[tokio::test(start_paused = true)]
async fn a_cut_ends_what_is_under_way() {
    let engine = InProcess::new();
    let mut messages = engine.subscribe().await.unwrap();
    engine.cut();
    assert!(messages.next().await.is_err());
    assert!(engine.subscribe().await.is_err());
    assert!(engine.read(instance(1), 1_000).await.is_err());
    engine.mend();
    assert!(engine.read(instance(1), 1_000).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_lags_gets_an_error() {
    let engine = InProcess::new();
    let mut messages = engine.subscribe().await.unwrap();
    for _ in 0..3_000 {
        let period = open(&engine).await;
        contract::judge(&engine, 1, period.id, Finding::Healthy).await;
    }
    assert!(messages.next().await.is_err());
}
