// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that are pinged while they are open.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Config, Failure, Guard, KeyedObserver, Prober, Registry, State, TokioClock,
    Transition,
};
use tokio::time::{Instant, sleep, timeout};

use super::{SECOND, ms_since};

const HOUR: Duration = Duration::from_secs(3_600);
pub(super) const PROBER: Prober = Prober::every(SECOND);

pub(super) type Keys = Registry<u32, TokioClock>;

/// Open for an hour.
pub(super) fn slow_keys() -> Keys {
    keys(crate::registry::RULES.open_for(HOUR), 100)
}

pub(super) fn keys(rules: Config, capacity: usize) -> Keys {
    let keys = Registry::builder(rules)
        .capacity(capacity)
        .clock(TokioClock);
    keys.build().unwrap()
}

/// Two failures trip it.
pub(super) fn trip(keys: &Keys, key: u32) {
    for _ in 0..2 {
        let _ = keys.of(key).call(|| Err::<(), _>("no answer"));
    }
}

/// Runs a prober beside `scene`.
pub(super) async fn beside<F: Future<Output = Result<(), ()>>>(
    keys: &Keys,
    prober: Prober,
    at_once: usize,
    ping: impl Fn(Arc<u32>, u8) -> F,
    scene: impl Future<Output = ()>,
) {
    tokio::select! {
        never = keys.run_prober(prober, at_once, ping) => never,
        () = scene => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_answers_is_served_again_although_it_would_be_open_for_an_hour() {
    let keys = slow_keys();
    let works = Cell::new(false);
    let pinged = RefCell::new(Vec::new());
    let ping = async |key: Arc<u32>, trips| {
        pinged.borrow_mut().push((*key, trips));
        works.get().then_some(()).ok_or(())
    };
    let scene = async {
        sleep(10 * SECOND).await;
        assert!(pinged.borrow().is_empty(), "nothing is open");
        trip(&keys, 1);
        sleep(10 * SECOND).await;
        assert_eq!(keys.state(&1), State::Open);
        works.set(true);
        let begin = Instant::now();
        while keys.state(&1) != State::Closed {
            sleep(Duration::from_millis(10)).await;
        }
        assert!(ms_since(begin) <= 1_010);
        // Told how far to repair, and no other key was pinged.
        let seen = pinged.borrow().clone();
        let expected: Vec<_> = (1..=12).map(|trips| (1, trips)).collect();
        assert!(seen.len() >= 10 && expected.starts_with(&seen), "{seen:?}");
        sleep(10 * SECOND).await;
        assert_eq!(*pinged.borrow(), seen, "it is closed");
    };
    beside(&keys, PROBER, 4, ping, scene).await;
}

#[tokio::test(start_paused = true)]
async fn so_many_pings_are_under_way_and_the_keys_take_turns() {
    let keys = slow_keys();
    for key in 0..20 {
        trip(&keys, key);
    }
    let (under_way, most) = (Cell::new(0), Cell::new(0));
    let pinged = RefCell::new(BTreeMap::<u32, u32>::new());
    let ping = async |key: Arc<u32>, _| {
        under_way.set(under_way.get() + 1);
        most.set(most.get().max(under_way.get()));
        *pinged.borrow_mut().entry(*key).or_default() += 1;
        sleep(1_500 * crate::registry::MS).await;
        under_way.set(under_way.get() - 1);
        Err(())
    };
    let scene = async { sleep(200 * SECOND).await };
    beside(&keys, PROBER, 3, ping, scene).await;
    assert_eq!(most.get(), 3);
    let (least, most) = {
        let pinged = pinged.borrow();
        (
            *pinged.values().min().unwrap(),
            *pinged.values().max().unwrap(),
        )
    };
    assert_eq!(pinged.borrow().len(), 20);
    assert!(least > 10 && most - least <= 1, "{least} to {most}");
}

/// The others are served nevertheless.
#[tokio::test(start_paused = true)]
async fn a_ping_that_hangs_or_panics_has_failed() {
    let keys = slow_keys();
    for key in 1..=3 {
        trip(&keys, key);
    }
    let ping = async |key: Arc<u32>, _| match *key {
        1 => pending().await,
        2 => panic!("on purpose"),
        _ => Ok(()),
    };
    let scene = async {
        sleep(60 * SECOND).await;
        let states = [1, 2, 3].map(|key| keys.state(&key));
        assert_eq!(states, [State::Open, State::Open, State::Closed]);
        trip(&keys, 4);
        sleep(5 * SECOND).await;
        assert_eq!(keys.state(&4), State::Closed);
    };
    let prober = PROBER.time_limit(3 * SECOND);
    beside(&keys, prober, 4, ping, scene).await;
}

#[tokio::test(start_paused = true)]
async fn several_answers_in_a_row_may_be_needed() {
    let keys = slow_keys();
    trip(&keys, 1);
    let pings = Cell::new(0);
    let ping = async |_, _| {
        pings.set(pings.get() + 1);
        // Every third one fails, until the tenth.
        let fails = pings.get() < 10 && pings.get() % 3 == 0;
        if fails { Err(()) } else { Ok(()) }
    };
    let scene = async {
        while keys.state(&1) != State::Closed {
            sleep(SECOND / 10).await;
        }
    };
    beside(&keys, PROBER.answers(3), 4, ping, scene).await;
    assert_eq!(pings.get(), 12);
}

/// The operator ends an outage, and the next one begins before the prober looks again.
#[tokio::test(start_paused = true)]
async fn each_outage_begins_with_no_answers_and_with_the_first_repair() {
    let keys = slow_keys();
    trip(&keys, 1);
    let again = || {
        keys.command(&1, |key| key.reset()).unwrap();
        trip(&keys, 1);
    };
    let (works, trips) = (Cell::new(true), RefCell::new(Vec::new()));
    let ping = async |_, repair| {
        trips.borrow_mut().push(repair);
        if works.get() { Ok(()) } else { Err(()) }
    };
    let scene = async {
        // After two answers of three, between two pings.
        sleep(SECOND * 5 / 2).await;
        assert_eq!(trips.borrow().len(), 2);
        again();
        sleep(2 * SECOND).await;
        assert_eq!(keys.state(&1), State::Open, "after two");
        works.set(false);
        sleep(3 * SECOND).await;
        again();
        sleep(SECOND).await;
        assert_eq!(*trips.borrow(), [1, 1, 1, 1, 1, 2, 3, 1]);
    };
    beside(&keys, PROBER.answers(3), 4, ping, scene).await;
}

/// It says nothing about the next outage, and begins no further repair.
#[tokio::test(start_paused = true)]
async fn a_ping_that_fails_after_its_outage_has_ended_is_not_one_of_the_next() {
    let keys = slow_keys();
    trip(&keys, 1);
    let trips = RefCell::new(Vec::new());
    let ping = async |_, repair| {
        trips.borrow_mut().push(repair);
        sleep(SECOND / 2).await;
        keys.command(&1, |key| key.reset()).unwrap();
        trip(&keys, 1);
        Err(())
    };
    beside(&keys, PROBER, 4, ping, sleep(10 * SECOND)).await;
    let trips = trips.into_inner();
    assert!(
        trips.len() > 4 && trips.iter().all(|repair| *repair == 1),
        "{trips:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_demanded_pause_and_a_key_that_is_held_open_are_respected() {
    let keys = keys(crate::registry::RULES, 100);
    let permit = keys.of(1).acquire().unwrap();
    permit.report(Failure::tripping_for(60 * SECOND).into());
    keys.command(&2, |key| key.force_open()).unwrap();
    let pinged = RefCell::new(Vec::new());
    let ping = async |key: Arc<u32>, _| {
        pinged.borrow_mut().push(*key);
        Ok(())
    };
    let scene = async {
        sleep(59 * SECOND).await;
        assert!(pinged.borrow().is_empty());
        sleep(10 * SECOND).await;
        assert_eq!(*pinged.borrow(), [1]);
        assert_eq!(keys.state(&1), State::Closed);
        assert_eq!(keys.state(&2), State::ForcedOpen);
    };
    beside(&keys, PROBER, 4, ping, scene).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_loses_its_slot_during_a_ping_changes_nothing() {
    let rules = crate::registry::RULES.open_for(HOUR);
    let keys: Registry<u32, TokioClock> = Registry::builder(rules)
        .capacity(1)
        .clock(TokioClock)
        .build()
        .unwrap();
    trip(&keys, 1);
    let ping = async |_, _| {
        sleep(2 * SECOND).await;
        Ok(())
    };
    let scene = async {
        sleep(1_500 * crate::registry::MS).await;
        keys.command(&1, |key| key.reset()).unwrap();
        trip(&keys, 2);
        sleep(20 * SECOND).await;
        assert_eq!(keys.state(&1), State::Closed);
        assert_eq!(keys.state(&2), State::Closed, "by a ping of its own");
    };
    beside(&keys, PROBER, 1, ping, scene).await;
}

#[tokio::test(start_paused = true)]
async fn a_prober_can_be_spawned_and_ended() {
    let keys: &'static Keys = slow_keys().leak();
    trip(keys, 1);
    let ping = |_, _| async {
        sleep(SECOND).await;
        Ok::<(), ()>(())
    };
    let prober = tokio::spawn(keys.run_prober(PROBER, 4, ping));
    sleep(1_500 * crate::registry::MS).await;
    prober.abort();
    assert!(prober.await.unwrap_err().is_cancelled());
    assert_eq!(keys.state(&1), State::Open);
    assert!(
        timeout(SECOND * 3 / 2, keys.run_prober(PROBER, 0, ping))
            .await
            .is_err()
    );
    sleep(SECOND).await;
    assert_eq!(keys.state(&1), State::Open, "the last ping was dropped");
    assert!(
        timeout(3 * SECOND, keys.run_prober(PROBER, 0, ping))
            .await
            .is_err()
    );
    assert_eq!(keys.state(&1), State::Closed);
}

/// Keys that open later do not push themselves before one that has waited: it is pinged within as many pauses as there are
/// keys.
#[tokio::test(start_paused = true)]
async fn new_outages_do_not_keep_an_old_one_from_its_pings() {
    let keys = slow_keys();
    trip(&keys, 0);
    let works = Cell::new(false);
    let ping = async |key: Arc<u32>, _| {
        if *key == 0 && works.get() {
            Ok(())
        } else {
            Err(())
        }
    };
    let scene = async {
        sleep(5_500 * crate::registry::MS).await;
        works.set(true);
        for key in 1..60 {
            trip(&keys, key);
            sleep(SECOND).await;
        }
        assert_eq!(keys.state(&0), State::Closed);
    };
    beside(&keys, PROBER, 1, ping, scene).await;
}

/// An act of an observer must not end the pings of all keys for good.
#[tokio::test(start_paused = true)]
async fn a_prober_outlives_a_panic_of_the_observer() {
    struct Panics;

    impl KeyedObserver<u32> for Panics {
        fn transition(&self, key: &u32, transition: &Transition) {
            assert!(*key != 1 || transition.to == State::Open, "on purpose");
        }
    }

    let keys = Registry::builder(crate::registry::RULES.open_for(HOUR))
        .clock(TokioClock)
        .observer(Panics);
    let keys: &'static Registry<u32, TokioClock, (), Panics> = keys.build().unwrap().leak();
    let trip = |key| {
        for _ in 0..2 {
            let _ = keys.of(key).call(|| Err::<(), _>("no answer"));
        }
    };
    trip(1);
    let ping = |_, _| async { Ok::<(), ()>(()) };
    let prober = tokio::spawn(keys.run_prober(PROBER, 4, ping));
    sleep(5 * SECOND).await;
    trip(2);
    sleep(5 * SECOND).await;
    assert!(!prober.is_finished());
    assert_eq!(keys.state(&2), State::Closed);
    assert_eq!(keys.state(&1), State::Closed);
}
