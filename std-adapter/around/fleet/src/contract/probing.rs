// SPDX-License-Identifier: MIT OR Apache-2.0
//! The right to probe, and findings.

use std::time::Duration;

use crate::engine::Fleet;
use crate::message::{Finding, Notice, PeriodId};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::asking::{OPEN_MS, bid, failed, judge, open, opened, pause};

pub(super) async fn one_of_many_wins_the_right_to_probe(engine: &impl Fleet) {
    let period = open(engine).await;
    let bids = (0..100).map(|bidder| bid(engine, bidder, period.id, 60_000));
    let answers = join_all(bids).await;
    assert_eq!(answers.iter().filter(|answer| answer.done).count(), 1);
    assert!(
        answers
            .into_iter()
            .all(|answer| opened(answer).leased_ms > 30_000)
    );
}

pub(super) async fn the_holder_of_the_right_keeps_it_by_asking_again(engine: &impl Fleet) {
    let mut period = open(engine).await;
    for lease_ms in [200, 2_000, 20_000] {
        let lease = Duration::from_millis(lease_ms.into());
        let mut is_lapsed = false;
        for _ in 0..5 {
            let began = Instant::now();
            assert!(bid(engine, 1, period.id, lease_ms).await.done);
            let is_taken = bid(engine, 2, period.id, lease_ms).await.done;
            // On a machine so busy that it lapsed between the two, with a longer lease.
            is_lapsed = began.elapsed() >= lease;
            assert!(!is_taken || is_lapsed);
            if is_lapsed {
                break;
            }
            sleep(lease / 2).await;
        }
        if !is_lapsed {
            return;
        }
        judge(engine, 1, period.id, Finding::Healthy).await;
        period = open(engine).await;
    }
    panic!("two bids took longer than 20 s");
}

pub(super) async fn a_right_that_lapsed_goes_to_the_next(engine: &impl Fleet) {
    let period = open(engine).await;
    let began = Instant::now();
    assert!(bid(engine, 1, period.id, 50).await.done);
    while !bid(engine, 2, period.id, 60_000).await.done {
        assert!(began.elapsed() < Duration::from_secs(10));
        pause(5).await;
    }
    // A millisecond, as an engine counts whole ones.
    let passed = began.elapsed();
    assert!(passed >= Duration::from_millis(49), "{passed:?}");
    assert!(!bid(engine, 1, period.id, 50).await.done);
}

pub(super) async fn a_success_closes(engine: &impl Fleet) {
    let period = open(engine).await;
    bid(engine, 1, period.id, 5_000).await;
    let answer = judge(engine, 1, period.id, Finding::Healthy).await;
    assert!(answer.done);
    let Some(Notice::Closed(end)) = answer.notice else {
        panic!("{answer:?}");
    };
    assert_eq!(end.mark, period.id.mark);
    // It begins anew, from the first trip.
    let next = open(engine).await;
    assert!(next.id.mark != period.id.mark && next.trips == 1);
}

pub(super) async fn a_failed_probe_puts_off_the_next_one_only(engine: &impl Fleet) {
    let period = open(engine).await;
    bid(engine, 1, period.id, 5_000).await;
    let answer = judge(engine, 1, period.id, failed(77_000)).await;
    assert!(answer.done);
    let next = opened(answer);
    assert_eq!((next.open_ms, next.trips, next.leased_ms), (OPEN_MS, 1, 0));
    assert!((1..=500).contains(&next.remaining_ms), "{next:?}");
    assert!(next.id.mark != period.id.mark && next.id.epoch > period.id.epoch);
    // A pause is never longer than the period was.
    judge(engine, 1, next.id, Finding::Healthy).await;
    let period = open(engine).await;
    let long = Finding::Failed {
        open_ms: 1_000,
        pause_ms: 60_000,
    };
    let next = opened(judge(engine, 1, period.id, long).await);
    assert!((1_000..=OPEN_MS).contains(&next.remaining_ms), "{next:?}");
}

pub(super) async fn a_failure_that_another_confirms_opens_for_as_long_as_both_say(
    engine: &impl Fleet,
) {
    for (first, second) in [(77_000, 88_000), (88_000, 77_000)] {
        let period = open(engine).await;
        let next = opened(judge(engine, 1, period.id, failed(first)).await);
        bid(engine, 2, next.id, 5_000).await;
        let answer = judge(engine, 2, next.id, failed(second)).await;
        assert!(answer.done);
        let longer = opened(answer);
        assert_eq!((longer.open_ms, longer.trips), (77_000, 2));
        assert!(longer.remaining_ms > 70_000 && longer.leased_ms == 0);
        assert_ne!(longer.id.mark, next.id.mark);
        judge(engine, 3, longer.id, Finding::Healthy).await;
    }
}

pub(super) async fn an_instance_cannot_confirm_its_own_failure(engine: &impl Fleet) {
    let period = open(engine).await;
    let next = opened(judge(engine, 1, period.id, failed(77_000)).await);
    for _ in 0..3 {
        assert!(bid(engine, 1, next.id, 5_000).await.done);
        let again = opened(judge(engine, 1, next.id, failed(77_000)).await);
        assert_eq!((again.id, again.open_ms), (next.id, OPEN_MS));
        // It does not keep others from probing.
        assert_eq!(again.leased_ms, 0);
    }
    assert_eq!(
        opened(judge(engine, 2, next.id, failed(66_000)).await).trips,
        2
    );
}

pub(super) async fn a_finding_counts_once_and_in_its_period_only(engine: &impl Fleet) {
    let period = open(engine).await;
    let wrong = PeriodId {
        mark: !period.id.mark,
        ..period.id
    };
    let early = PeriodId {
        epoch: period.id.epoch + 1,
        ..period.id
    };
    for id in [wrong, early] {
        assert!(!judge(engine, 1, id, Finding::Healthy).await.done);
        assert!(!bid(engine, 1, id, 100).await.done);
    }
    let failed = failed(1_000);
    assert!(judge(engine, 1, period.id, failed).await.done);
    assert!(!judge(engine, 1, period.id, failed).await.done);
    assert!(!judge(engine, 1, period.id, Finding::Healthy).await.done);
}

pub(super) async fn a_failure_from_an_instance_that_lost_the_right_does_not_count(
    engine: &impl Fleet,
) {
    let period = open(engine).await;
    bid(engine, 1, period.id, 50).await;
    pause(80).await;
    assert!(bid(engine, 2, period.id, 5_000).await.done);
    assert!(!judge(engine, 1, period.id, failed(1_000)).await.done);
    assert!(judge(engine, 2, period.id, failed(1_000)).await.done);
}

pub(super) async fn a_success_counts_whichever_instance_has_the_right_by_then(engine: &impl Fleet) {
    let period = open(engine).await;
    bid(engine, 1, period.id, 50).await;
    pause(80).await;
    assert!(bid(engine, 2, period.id, 5_000).await.done);
    assert!(judge(engine, 1, period.id, Finding::Healthy).await.done);
    assert!(!judge(engine, 2, period.id, Finding::Healthy).await.done);
}

pub(super) async fn a_late_finding_counts_if_no_other_was_faster(engine: &impl Fleet) {
    let period = open(engine).await;
    bid(engine, 1, period.id, 50).await;
    pause(80).await;
    assert!(judge(engine, 1, period.id, Finding::Healthy).await.done);
}

pub(super) async fn nothing_is_known_of_an_unknown_breaker(engine: &impl Fleet) {
    let nothing = PeriodId { epoch: 1, mark: 1 };
    for answer in [
        bid(engine, 1, nothing, 100).await,
        judge(engine, 1, nothing, Finding::Healthy).await,
    ] {
        assert!(!answer.done && answer.notice.is_none(), "{answer:?}");
    }
}
