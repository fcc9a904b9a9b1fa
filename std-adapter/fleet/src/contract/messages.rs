//! What is published, and what is read.

use crate::{Fleet, Notice, Verdict};
use futures_util::future::join_all;

use super::{OPEN_MS, bid, failed, instance, judge, name, next, open, opened, pause};

pub(super) async fn every_change_is_published_to_all_in_order(engine: &impl Fleet) {
    let subscriptions = (0..20).map(|_| engine.subscribe());
    let subscribers = join_all(subscriptions).await;
    let period = open(engine).await;
    bid(engine, 1, period.id, 5_000).await;
    bid(engine, 2, period.id, 5_000).await;
    let second = opened(judge(engine, 1, period.id, failed(1_000)).await);
    let answer = judge(engine, 1, second.id, Verdict::Healthy).await;
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
    let answer = judge(engine, 1, period.id, Verdict::Healthy).await;
    let reading = engine.read(instance(9), 1_000).await.unwrap();
    assert_eq!(Some(reading.messages[0].notice), answer.notice);
}

pub(super) async fn a_reader_counts_as_living_for_three_polls(engine: &impl Fleet) {
    for reader in 1..=3 {
        let reading = engine.read(instance(reader), 50).await.unwrap();
        assert_eq!(u128::from(reading.living), reader);
    }
    assert_eq!(engine.read(instance(1), 50).await.unwrap().living, 3);
    pause(200).await;
    assert_eq!(engine.read(instance(1), 50).await.unwrap().living, 1);
}
