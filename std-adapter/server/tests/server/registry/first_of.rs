// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first of several keys that admits a call.

use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, CallError, Guard, ManualClock, NoneAdmitted, Outcome, Rejection, State, Wait,
};

use super::threads::{Random, seed};
use super::{Diary, Keys, SECOND, build, fail};

fn open(keys: &Keys<'_, Diary>, hosts: impl IntoIterator<Item = u32>) {
    for host in hosts {
        keys.command(&host, |breaker| breaker.trip()).unwrap();
    }
}

fn keys(clock: &ManualClock) -> Keys<'_, Diary> {
    build(clock).observer(Diary::default()).build().unwrap()
}

fn rejected_by(keys: &Keys<'_, Diary>) -> Vec<u32> {
    let rejected = std::mem::take(&mut *keys.observer().rejected.lock().unwrap());
    rejected.iter().map(|(key, _)| *key).collect()
}

#[test]
fn the_first_key_that_admits_is_called_and_none_after_it_is_asked() {
    let clock = ManualClock::new();
    let keys = keys(&clock);
    open(&keys, [1, 2, 5]);
    let mut candidates = 1..=6;
    let answer = keys
        .first_of(candidates.by_ref())
        .call(|key| Ok::<_, &str>(key * 10));
    assert_eq!((answer, candidates), (Ok(30), 4..=6));
    assert_eq!(rejected_by(&keys), [1, 2]);
    let permit = keys.first_of([3, 1]).acquire().unwrap();
    assert_eq!((*permit.key(), rejected_by(&keys)), (3, vec![]));
}

#[test]
fn how_the_call_ends_is_reported_to_the_key_that_admitted_it() {
    let clock = ManualClock::new();
    let keys = keys(&clock);
    open(&keys, [1]);
    for _ in 0..2 {
        let answer = keys.first_of([1, 2, 3]).call(Err::<(), _>);
        assert_eq!(answer, Err(CallError::Failed(2)), "none after it is tried");
    }
    assert_eq!(
        (keys.state(&2), keys.state(&3)),
        (State::Open, State::Closed)
    );
    let ignored = |_: &Result<(), u32>| Outcome::Ignored;
    for _ in 0..9 {
        let answer = keys.first_of([2, 3]).call_with(ignored, Err);
        assert_eq!(answer, Err(CallError::Failed(3)));
    }
    assert_eq!(keys.state(&3), State::Closed);
    let panics = || {
        keys.first_of([2, 4])
            .call(|_| -> Result<(), &str> { panic!("meant") })
    };
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    }
    assert_eq!(keys.state(&4), State::Open);
}

/// A key that was open is served again: a filter that lets only closed keys through would never call it.
#[test]
fn a_key_that_is_due_gets_its_probe_when_it_is_reached() {
    let clock = ManualClock::new();
    let keys = keys(&clock);
    open(&keys, [1, 2]);
    clock.advance(10 * SECOND);
    let is_closed = |key: &u32| keys.state(key) == State::Closed;
    assert_eq!([1, 2].iter().find(|key| is_closed(key)), None, "for ever");

    let probe = keys.first_of([1, 2]).acquire().unwrap();
    assert_eq!((*probe.key(), probe.is_probe()), (1, true));
    let in_flight = |key| keys.entry(&key).unwrap().snapshot.probes_in_flight();
    assert_eq!(
        (in_flight(1), in_flight(2)),
        (1, 0),
        "none is taken and dropped"
    );
    // While it is under way, the other one is due.
    let other = keys.first_of([1, 2]).acquire().unwrap();
    assert_eq!((*other.key(), other.is_probe(), in_flight(1)), (2, true, 1));
    probe.report(Outcome::Success);
    drop(other);
    assert_eq!(keys.first_of([1, 2]).call(Ok::<_, &str>), Ok(1));
}

#[test]
fn what_none_admits_says_for_how_long_and_by_whom() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    keys.command(&1, |it| it.force_open()).unwrap();
    keys.command(&2, |it| it.trip_for(17 * SECOND)).unwrap();
    keys.command(&3, |it| it.trip_for(14 * SECOND)).unwrap();
    fail(&keys, 4);
    fail(&keys, 4);
    let none = keys.first_of(1..=4).acquire().unwrap_err();
    assert_eq!(none.retry_in(), Some(10 * SECOND));
    let waits: Vec<_> = none
        .rejections()
        .iter()
        .map(|(key, it)| (*key, it.wait()))
        .collect();
    let expected = [
        (1, Wait::UntilReleased),
        (2, Wait::For(17 * SECOND)),
        (3, Wait::For(14 * SECOND)),
        (4, Wait::For(10 * SECOND)),
    ];
    assert_eq!(waits, expected);
    assert_eq!(
        none.to_string(),
        "none of 4 keys admits the call: circuit breaker is open, retry in 10s (last failure: no answer)"
    );

    // As an error of what made the call.
    let answer = keys.first_of(1..=4).call(|_| Ok::<_, io::Error>(()));
    let error = io::Error::other(answer.unwrap_err());
    let found = Rejection::in_chain(&error).unwrap();
    assert_eq!(found.retry_in(), Some(10 * SECOND));
    assert_eq!(Rejection::from(none), found);

    let forced = keys.first_of([1, 1]).acquire().unwrap_err();
    assert_eq!(forced.retry_in(), None);
    // A slot may become free at any moment.
    clock.advance(17 * SECOND);
    let _probe = keys.of(2).acquire().unwrap();
    let none = keys.first_of([1, 2]).acquire().unwrap_err();
    assert_eq!(none.soonest().map(Rejection::state), Some(State::HalfOpen));
    assert_eq!(none.retry_in(), Some(Duration::from_millis(100)));
}

#[test]
fn no_key_to_ask_is_an_error_that_says_so() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let none = keys.first_of([]).acquire().unwrap_err();
    assert_eq!(none, NoneAdmitted::new(Vec::new()));
    assert_eq!((none.retry_in(), none.source().is_some()), (None, false));
    assert!(none.to_string().contains("name at least one"), "{none}");
    let rejection = Rejection::from(none);
    assert!(rejection.is_without_key(), "{rejection}");
}

/// With a lot for each key, a quarter would be rejected by both.
#[test]
fn where_half_of_the_rejections_are_enforced_half_of_the_calls_are_rejected() {
    let clock = ManualClock::new();
    let keys = keys(&clock);
    open(&keys, [1, 2]);
    keys.enforcement().set_percent(50).unwrap();
    let answers = (0..4_000).map(|_| keys.first_of([1, 2]).acquire());
    let rejected = answers
        .map(|answer| answer.inspect(|permit| assert_eq!(*permit.key(), 1)))
        .filter(Result::is_err)
        .count();
    // Six standard deviations.
    assert!((1_800..2_200).contains(&rejected), "{rejected}");
}

#[test]
fn with_a_cap_no_call_is_rejected_by_all() {
    let clock = ManualClock::new();
    let keys = build(&clock).max_shut_out(1).build().unwrap();
    let mut random = Random(seed() | 1);
    for _ in 0..20_000 {
        let hosts = [[1, 2], [2, 1]][random.below(2) as usize];
        let answer = keys.first_of(hosts).call(|_| Err::<(), _>("no answer"));
        assert_eq!(answer, Err(CallError::Failed("no answer")));
        clock.advance(Duration::from_millis(random.below(200)));
    }
}

/// A handle that owns the registry goes to another task; what fails there, is slow or leaves is reported.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn futures_report_to_the_key_that_admitted_them() {
    use atomic_breaker_server::{FirstOf, Registry, Timed, TokioClock};
    use std::sync::Arc;
    use tokio::time::{sleep, timeout};

    use super::RULES;

    let pool = Registry::<Arc<str>>::builder(RULES).clock(TokioClock);
    let pool = Arc::new(pool.build().unwrap());
    let hosts = || ["a", "b"].map(Arc::from);
    pool.command(&"a".into(), |it| it.trip_for(60 * SECOND))
        .unwrap();
    let of = |pool: &Arc<_>| FirstOf::new(Arc::clone(pool), hosts());
    let (first, other) = (of(&pool), of(&pool));
    let spawned = tokio::spawn(async move {
        let answer = first.call_async(async |host: Arc<str>| {
            sleep(SECOND).await;
            Ok::<_, io::Error>(host)
        });
        answer.await
    });
    assert_eq!(&*spawned.await.unwrap().unwrap(), "b");

    let hangs = async |_| {
        sleep(60 * SECOND).await;
        Ok::<_, io::Error>(())
    };
    let late = other.call_timeout(SECOND, hangs).await;
    assert!(matches!(late, Err(CallError::Failed(Timed::TimedOut))));
    let failures = || pool.entry(&"b".into()).unwrap().snapshot.failures();
    assert_eq!(failures(), 1);
    // The caller leaves, which says nothing of the host.
    assert!(timeout(SECOND, of(&pool).call_async(hangs)).await.is_err());
    assert_eq!(failures(), 1);
    let none = of(&pool).call_timeout(SECOND, hangs).await;
    assert!(matches!(none, Err(CallError::Failed(Timed::TimedOut))));
    let none = of(&pool).call_async(hangs).await;
    let Err(CallError::Rejected(none)) = none else {
        panic!("both are open");
    };
    assert_eq!(none.retry_in(), Some(10 * SECOND));
    // A probe that its caller leaves gives its slot back.
    sleep(10 * SECOND).await;
    assert!(
        timeout(SECOND / 10, of(&pool).call_async(hangs))
            .await
            .is_err()
    );
    assert!(of(&pool).acquire().is_ok_and(|permit| permit.is_probe()));
}
