//! Votes, and the epochs of what they begin.

use std::collections::HashSet;

use atomic_breaker_std::fleet::{Ask, Fleet, Notice, Verdict};
use futures_util::future::join_all;

use super::{OPEN_MS, ask, instance, judge, name, open, opened, pause, vote};

pub(crate) async fn a_quorum_of_instances_opens_and_fewer_do_not(engine: &impl Fleet) {
    for voter in 1..=2 {
        let answer = ask(engine, voter, vote(3)).await;
        assert!(!answer.done && answer.notice.is_none(), "{answer:?}");
        assert_eq!(u128::from(answer.votes), voter);
    }
    let period = opened(ask(engine, 3, vote(3)).await);
    assert_eq!((period.open_ms, period.trips), (OPEN_MS, 1));
    assert!(period.remaining_ms <= OPEN_MS && period.leased_ms == 0);
}

pub(crate) async fn one_instance_that_votes_again_and_again_counts_once(engine: &impl Fleet) {
    for _ in 0..20 {
        let answer = ask(engine, 1, vote(3)).await;
        assert!(!answer.done && answer.votes == 1, "{answer:?}");
    }
}

pub(crate) async fn an_old_vote_does_not_count(engine: &impl Fleet) {
    let brief = Ask::Vote {
        quorum: 2,
        window_ms: 50,
        open_ms: OPEN_MS,
        known: 0,
    };
    ask(engine, 1, brief).await;
    pause(100).await;
    assert_eq!(ask(engine, 2, brief).await.votes, 1);
}

pub(crate) async fn a_thousand_votes_at_once_open_exactly_once(engine: &impl Fleet) {
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

pub(crate) async fn it_is_open_for_as_long_as_a_quorum_says_at_least(engine: &impl Fleet) {
    let mut last = None;
    for (voter, open_ms) in [(1, 300_000), (2, 1_000), (3, 2_000)] {
        let ballot = Ask::Vote {
            quorum: 3,
            window_ms: 60_000,
            open_ms,
            known: 0,
        };
        last = Some(ask(engine, voter, ballot).await);
    }
    assert_eq!(opened(last.unwrap()).open_ms, 1_000);
}

pub(crate) async fn a_vote_within_a_period_learns_of_it(engine: &impl Fleet) {
    let period = open(engine).await;
    let answer = ask(engine, 2, vote(3)).await;
    assert!(answer.done);
    assert_eq!(opened(answer).id, period.id);
}

pub(crate) async fn an_epoch_is_later_than_any_that_a_voter_knows(engine: &impl Fleet) {
    let far = 1 << 50;
    let ballot = Ask::Vote {
        quorum: 1,
        window_ms: 60_000,
        open_ms: OPEN_MS,
        known: far,
    };
    assert_eq!(opened(ask(engine, 1, ballot).await).id.epoch, far + 1);
}

pub(crate) async fn epochs_rise_with_each_change(engine: &impl Fleet) {
    let mut last = 0;
    for _ in 0..3 {
        let mut period = open(engine).await;
        for _ in 0..3 {
            assert!(period.id.epoch > last);
            last = period.id.epoch;
            let failed = Verdict::Failed { open_ms: 1_000 };
            period = opened(judge(engine, 1, period.id, failed).await);
        }
        let answer = judge(engine, 1, period.id, Verdict::Healthy).await;
        let Some(Notice::Closed(end)) = answer.notice else {
            panic!("{answer:?}");
        };
        assert!(end.epoch > period.id.epoch);
        last = end.epoch;
    }
}

pub(crate) async fn an_epoch_of_the_past_is_raised(engine: &impl Fleet) {
    let period = open(engine).await;
    let known = period.id.epoch + 40;
    let raise = Ask::Raise {
        id: period.id,
        known,
    };
    let raised = ask(engine, 2, raise).await;
    assert!(raised.done);
    let now = opened(raised).id;
    assert_eq!((now.epoch, now.mark), (known + 1, period.id.mark));
    let again = ask(engine, 3, raise).await;
    assert!(!again.done, "another one who knew as much");
    let of_another = Ask::Raise {
        id: atomic_breaker_std::fleet::PeriodId {
            epoch: 0,
            mark: !now.mark,
        },
        known: u64::from(u32::MAX) << 16,
    };
    assert!(!ask(engine, 3, of_another).await.done);
    // Who bids in the name of the epoch before means this period.
    assert!(super::bid(engine, 4, period.id, 100).await.done);
}

pub(crate) async fn names_of_any_bytes_are_apart(engine: &impl Fleet) {
    use atomic_breaker_std::fleet::Name;
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
