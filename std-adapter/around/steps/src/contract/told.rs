// SPDX-License-Identifier: MIT OR Apache-2.0
//! The moments at which a person is notified.

use crate::change::Change;
use crate::store::Store;

use super::{NOW, SHORT, again, dead, end_one, found, parked, pause, put};

pub(super) async fn a_person_is_asked_to_be_told_once(store: &impl Store) {
    let id = put(store, "k").await;
    let mut told = Vec::new();
    for tell in [false, true, true] {
        told.push(end_one(store, again(NOW).tell(tell)).await.tell);
    }
    assert_eq!(told, [false, true, false]);
    assert!(found(store, id).await.is_told);
}

pub(super) async fn who_was_told_of_a_delay_is_told_of_the_end(store: &impl Store) {
    for (key, end) in [("dead", dead().tell(true)), ("parked", parked().tell(true))] {
        put(store, key).await;
        assert!(end_one(store, again(NOW).tell(true)).await.tell);
        assert!(end_one(store, end).await.tell, "{key}");
    }
    put(store, "quiet").await;
    assert!(!end_one(store, dead().tell(false)).await.tell);
}

pub(super) async fn a_job_that_is_tried_again_on_command_is_told_of_anew(store: &impl Store) {
    for end in [dead().tell(true), parked().tell(true)] {
        let id = put(store, end.status.name()).await;
        assert!(end_one(store, end.clone()).await.tell);
        assert!(store.retry_now(id).await.unwrap());
        assert!(!found(store, id).await.is_told);
        for tell in [true, false] {
            assert_eq!(end_one(store, again(NOW).tell(true)).await.tell, tell);
        }
        assert!(end_one(store, end).await.tell, "of this end, too");
    }
}

pub(super) async fn a_job_that_is_taken_up_is_told_of_anew_once_it_is_tried(store: &impl Store) {
    let id = put(store, "k").await;
    let mut told = Vec::new();
    for change in [
        parked().tell(true),
        // Again and again, as no worker can read it.
        parked().tell(true),
        Change::held_up(NOW, false, "no step".to_owned()).tell(true),
        again(NOW).tell(true),
        again(NOW).tell(true),
        parked().tell(true),
    ] {
        store.unpark("kind", &["first"], NOW, 9).await.unwrap();
        told.push(end_one(store, change).await.tell);
        assert!(found(store, id).await.is_told);
    }
    assert_eq!(told, [true, false, false, true, false, true]);
    // One of which no person was told.
    let other = put(store, "other").await;
    for tell in [false, true] {
        store.unpark("kind", &["first"], NOW, 1).await.unwrap();
        let claimed = store.claim("a", 9, SHORT).await.unwrap().jobs;
        for one in claimed {
            let change = parked().tell(tell);
            let saved = super::save(store, one.right, change).await;
            let is_other = one.right.id == other;
            assert_eq!(saved.tell, tell && is_other, "{one:?}");
        }
        pause(SHORT / 10).await;
    }
}
