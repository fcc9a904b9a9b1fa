// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages that are published, and the records that are read.

use std::time::Duration;

use crate::engine::Fleet;
use crate::message::{Finding, Notice};
use futures_util::future::join_all;
use tokio::time::Instant;

use super::asking::{OPEN_MS, bid, failed, instance, judge, name, next, open, opened, pause};

pub(super) async fn every_change_is_published_to_all_in_order(engine: &impl Fleet) {
    let subscriptions = (0..20).map(|_| engine.subscribe());
    let subscribers = join_all(subscriptions).await;
    let period = open(engine).await;
    bid(engine, 1, period.id, 5_000).await;
    bid(engine, 2, period.id, 5_000).await;
    let second = opened(judge(engine, 1, period.id, failed(1_000)).await);
    let answer = judge(engine, 1, second.id, Finding::Healthy).await;
    for subscriber in subscribers {
        let mut messages = subscriber.unwrap();
        let mut told = Vec::new();
        for _ in 0..4 {
            let message = next(&mut messages).await;
            assert_eq!(message.name, name());
            told.push(message.notice);
        }
        let [
            Notice::Open(first),
            Notice::Open(leased),
            Notice::Open(again),
            closed,
        ] = told[..]
        else {
            panic!("{told:?}");
        };
        assert_eq!((first.id, first.leased_ms), (period.id, 0));
        assert!(leased.id == period.id && (4_000..=5_000).contains(&leased.leased_ms));
        assert_eq!(again.id, second.id);
        assert_eq!(Some(closed), answer.notice);
    }
}

pub(super) async fn a_reading_has_what_is_open_and_what_has_closed(engine: &impl Fleet) {
    assert_eq!(engine.read(instance(9), 1_000).await.unwrap().messages, []);
    let period = open(engine).await;
    pause(50).await;
    let reading = engine.read(instance(9), 1_000).await.unwrap();
    let [message] = &reading.messages[..] else {
        panic!("{reading:?}");
    };
    let Notice::Open(read) = message.notice else {
        panic!("{reading:?}");
    };
    assert_eq!((&message.name, read.id), (&name(), period.id));
    assert!(
        (1_000..=OPEN_MS - 40).contains(&read.remaining_ms),
        "{read:?}"
    );
    let answer = judge(engine, 1, period.id, Finding::Healthy).await;
    let reading = engine.read(instance(9), 1_000).await.unwrap();
    assert_eq!(Some(reading.messages[0].notice), answer.notice);
}

pub(super) async fn a_reader_counts_as_living_for_three_polls(engine: &impl Fleet) {
    for every in [50, 500, 5_000] {
        let began = Instant::now();
        let mut living = Vec::new();
        for reader in [1, 2, 3, 1] {
            let reading = engine.read(instance(reader), every).await.unwrap();
            living.push(reading.living);
        }
        let took = began.elapsed();
        pause(4 * u64::from(every)).await;
        assert_eq!(engine.read(instance(1), every).await.unwrap().living, 1);
        // On a machine so busy that the first one has lapsed by then, with longer polls.
        if took < Duration::from_millis(3 * u64::from(every)) {
            assert_eq!(living, [1, 2, 3, 3]);
            return;
        }
    }
    panic!("four readings took longer than 15 s");
}
