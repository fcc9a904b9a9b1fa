// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that are given back without a try.

use std::time::Duration;

use crate::change::Change;
use crate::job::{HeldUp, Status};
use crate::store::Store;

use super::{LEASE, NOW, SHORT, again, claim, claim_one, end_one, found, parked, pause, put, save};

fn held_up(due_in: Duration, is_known: bool) -> Change {
    Change::held_up(due_in, is_known, "rejected".to_owned())
}

pub(super) async fn a_job_that_is_held_up_counts_as_due_and_not_as_tried(store: &impl Store) {
    let id = put(store, "k").await;
    for times in 1..=2 {
        let claimed = claim_one(store).await;
        assert_eq!(claimed.job.held_up.times, times - 1);
        assert!(save(store, claimed.right, held_up(NOW, true)).await.is_held);
        pause(SHORT).await;
    }
    end_one(store, held_up(LEASE, true)).await;
    assert!(claim(store, 9, LEASE).await.is_empty(), "not yet");
    let held = found(store, id).await;
    assert_eq!((held.status, held.failures), (Status::Waiting, 0));
    assert!(!held.is_told && held.due_in_ms > 0, "{held:?}");
    assert_eq!((held.held_up.times, held.held_up.unknown), (3, NOW));
    assert!(held.held_up.time >= SHORT, "{held:?}");
    assert!(store.history(id).await.unwrap().is_empty());
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.due, [("a".to_owned(), 1)]);
    assert!(counts.oldest_due >= Some(SHORT), "{counts:?}");
    // A command, a try and a worker that gives it back each say what becomes of that.
    assert!(store.retry_now(id).await.unwrap());
    assert_eq!(found(store, id).await.held_up, HeldUp::default());
    end_one(store, held_up(NOW, true)).await;
    end_one(store, Change::back(NOW)).await;
    assert_eq!(found(store, id).await.held_up.times, 1);
    end_one(store, again(LEASE)).await;
    let tried = found(store, id).await;
    assert_eq!((tried.held_up, tried.failures), (HeldUp::default(), 1));
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.due, counts.oldest_due), (Vec::new(), None));
}

pub(super) async fn who_gives_a_job_back_says_whether_it_knows_it(store: &impl Store) {
    let id = put(store, "k").await;
    for is_known in [true, false, false] {
        end_one(store, held_up(NOW, is_known)).await;
        pause(SHORT).await;
    }
    let HeldUp { time, unknown, .. } = found(store, id).await.held_up;
    assert!(time >= unknown + SHORT / 2 && unknown >= SHORT * 3 / 2);
    // That it is parked, and waits again, is no news of who knows it.
    end_one(store, parked()).await;
    assert_eq!(store.unpark("kind", &["first"], NOW, 9).await.unwrap(), 1);
    let after = found(store, id).await.held_up;
    assert_eq!((after.times, after.time), (0, NOW));
    assert!(after.unknown >= unknown, "{after:?}");
    end_one(store, held_up(NOW, true)).await;
    assert_eq!(found(store, id).await.held_up.unknown, NOW);
}

pub(super) async fn a_held_up_job_has_a_line_if_a_person_is_to_be_told(store: &impl Store) {
    let id = put(store, "k").await;
    for wants in [false, true, true] {
        let change = Change::held_up(NOW, true, format!("rejected \0 {wants}")).tell(wants);
        let saved = end_one(store, change).await;
        let is_told = found(store, id).await.is_told;
        assert_eq!((saved.is_held, is_told), (true, wants));
    }
    let history = store.history(id).await.unwrap();
    let lines: Vec<_> = history
        .iter()
        .map(|one| (one.failures, &*one.error))
        .collect();
    assert_eq!(lines, [(0, "rejected \u{FFFD} true")]);
}
