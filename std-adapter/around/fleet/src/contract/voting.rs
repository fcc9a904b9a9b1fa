// SPDX-License-Identifier: MIT OR Apache-2.0
//! Votes, and the epochs of what they begin.

use std::collections::HashSet;
use std::time::Duration;

use crate::engine::Fleet;
use crate::message::{Ask, Finding, Notice, PeriodId};
use crate::name::Name;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::asking::{
    OPEN_MS, ask, failed, instance, judge, name, open, opened, pause, vote, vote_of,
};

pub(super) async fn a_quorum_of_instances_opens_and_fewer_do_not(engine: &impl Fleet) {
    for voter in 1..=2 {
        let answer = ask(engine, voter, vote(3)).await;
        assert!(!answer.done && answer.notice.is_none(), "{answer:?}");
        assert_eq!(u128::from(answer.votes), voter);
    }
    let period = opened(ask(engine, 3, vote(3)).await);
    assert_eq!((period.open_ms, period.trips), (OPEN_MS, 1));
    assert!(period.remaining_ms <= OPEN_MS && period.leased_ms == 0);
}

pub(super) async fn one_instance_that_votes_again_and_again_counts_once(engine: &impl Fleet) {
    for _ in 0..20 {
        let answer = ask(engine, 1, vote(3)).await;
        assert!(!answer.done && answer.votes == 1, "{answer:?}");
    }
}

pub(super) async fn an_old_vote_does_not_count(engine: &impl Fleet) {
    let brief = Ask::Vote {
        quorum: 2,
        window_ms: 50,
        age_ms: 0,
        open_ms: OPEN_MS,
        known: 0,
    };
    ask(engine, 1, brief).await;
    pause(100).await;
    assert_eq!(ask(engine, 2, brief).await.votes, 1);
}

pub(super) async fn a_thousand_votes_at_once_open_exactly_once(engine: &impl Fleet) {
    let votes = (0..1_000).map(|voter| ask(engine, voter, vote(3)));
    let answers = join_all(votes).await;
    let marks: HashSet<u64> = answers
        .iter()
        .filter_map(|answer| answer.notice)
        .map(|notice| notice.id().mark)
        .collect();
    assert_eq!(marks.len(), 1);
    assert_eq!(answers.iter().filter(|answer| !answer.done).count(), 2);
}

pub(super) async fn it_is_open_for_as_long_as_a_quorum_says_at_least(engine: &impl Fleet) {
    let mut last = None;
    for (voter, open_ms) in [(1, 300_000), (2, 1_000), (3, 2_000)] {
        last = Some(ask(engine, voter, vote_of(3, 0, open_ms, 0)).await);
    }
    assert_eq!(opened(last.unwrap()).open_ms, 1_000);
}

pub(super) async fn a_vote_within_a_period_learns_of_it(engine: &impl Fleet) {
    let period = open(engine).await;
    let answer = ask(engine, 2, vote(3)).await;
    assert!(answer.done);
    assert_eq!(opened(answer).id, period.id);
}

pub(super) async fn a_vote_counts_from_its_trip_on_whenever_it_comes(engine: &impl Fleet) {
    let vote = |age_ms| vote_of(3, age_ms, OPEN_MS, 0);
    assert_eq!(ask(engine, 1, vote(60_000)).await.votes, 0);
    assert_eq!(ask(engine, 1, vote(u32::MAX)).await.votes, 0);
    let began = Instant::now();
    assert_eq!(ask(engine, 1, vote(59_900)).await.votes, 1);
    let both = ask(engine, 2, vote(30_000)).await.votes;
    // On a machine that is busy the first one may have lapsed.
    assert!(both == 2 || both == 1 && began.elapsed() >= Duration::from_millis(99));
    // Said once more, it is the same trip.
    pause(150).await;
    assert_eq!(ask(engine, 2, vote(30_150)).await.votes, 1);
    // The later one of two counts, in whatever order they come.
    assert_eq!(ask(engine, 2, vote(59_990)).await.votes, 1);
    pause(30).await;
    assert_eq!(ask(engine, 3, vote(0)).await.votes, 2);
}

/// An epoch that is so far ahead of the engine's clock.
async fn lead(engine: &impl Fleet, by: i64) -> i64 {
    let now = opened(ask(engine, 1, vote(1)).await).id.epoch;
    judge(engine, 1, last(engine).await, Finding::Healthy).await;
    let ballot = vote_of(1, 0, OPEN_MS, now.saturating_add_signed(by));
    let epoch = opened(ask(engine, 1, ballot).await).id.epoch;
    judge(engine, 1, last(engine).await, Finding::Healthy).await;
    epoch.cast_signed() - now.cast_signed()
}

async fn last(engine: &impl Fleet) -> PeriodId {
    opened(ask(engine, 9, vote(1)).await).id
}

const DAY: i64 = 24 * 60 * 60 * 1_000;

pub(super) async fn an_epoch_is_later_than_any_that_a_voter_knows(engine: &impl Fleet) {
    assert_eq!(lead(engine, 300 * DAY).await, 300 * DAY + 1);
}

pub(super) async fn an_epoch_that_leads_by_more_than_a_year_is_ignored(engine: &impl Fleet) {
    for by in [366 * DAY, 1 << 50, (1 << 53) - (1 << 42), i64::MAX] {
        let lead = lead(engine, by).await;
        assert!((1..60_000).contains(&lead), "{by}: {lead}");
    }
    let ballot = vote_of(1, 0, OPEN_MS, u64::MAX);
    assert!(opened(ask(engine, 1, ballot).await).id.epoch < 1 << 50);
}

pub(super) async fn epochs_rise_with_each_change(engine: &impl Fleet) {
    let mut last = 0;
    for _ in 0..3 {
        let mut period = open(engine).await;
        for _ in 0..3 {
            assert!(period.id.epoch > last);
            last = period.id.epoch;
            period = opened(judge(engine, 1, period.id, failed(1_000)).await);
            assert!(period.id.epoch > last);
            last = period.id.epoch;
            period = opened(judge(engine, 2, period.id, failed(1_000)).await);
        }
        let answer = judge(engine, 1, period.id, Finding::Healthy).await;
        let Some(Notice::Closed(end)) = answer.notice else {
            panic!("{answer:?}");
        };
        assert!(end.epoch > period.id.epoch);
        last = end.epoch;
    }
}

pub(super) async fn names_of_any_bytes_are_apart(engine: &impl Fleet) {
    let long = [0xFF; 255];
    let hostile: [&[u8]; 9] = [
        b"payments\n",
        b"payments\0",
        b"}{payments",
        b"*",
        b"\r\nFLUSHALL\r\n",
        b"'; return redis.call('flushall') --",
        "naïve \u{1F600}".as_bytes(),
        &[0xC3, 0x28],
        &long,
    ];
    for bytes in hostile {
        let name = Name::new(bytes).unwrap();
        let answer = engine.ask(instance(1), &name, vote(2)).await.unwrap();
        assert_eq!(answer.votes, 1, "{name}");
        let answer = engine.ask(instance(2), &name, vote(2)).await.unwrap();
        assert!(answer.done, "{name}");
    }
    let reading = engine.read(instance(1), 1_000).await.unwrap();
    for bytes in hostile {
        let found = reading
            .messages
            .iter()
            .filter(|message| message.name.as_bytes() == bytes);
        assert_eq!(found.count(), 1);
    }
    assert!(
        !reading
            .messages
            .iter()
            .any(|message| message.name == name())
    );
}
