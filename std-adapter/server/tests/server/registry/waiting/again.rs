// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that are tried again, and calls with a limit.

use std::cell::Cell;
use std::future::pending;
use std::time::Duration;

use atomic_breaker_server::{
    Failure, Guard, Outcome, Retry, ServiceError, State, TimeLimit, Timed,
};
use tokio::time::Instant;

use super::{SECOND, keys, ms_since, rejections, trip};

/// Waits for as long as its time allows.
const PATIENT: Retry = Retry::new().wait_for_breaker(Duration::MAX);

#[tokio::test(start_paused = true)]
async fn each_try_counts_and_its_words_are_kept() {
    let keys = keys();
    let tries = Cell::new(0);
    let answer = keys.of(1).retry(PATIENT.within(5 * SECOND), async || {
        tries.set(tries.get() + 1);
        Err::<(), _>(format!("no answer, {}", tries.get()))
    });
    // The second failure trips for longer than there is time left.
    let begin = Instant::now();
    assert_eq!(
        answer.await,
        Err(ServiceError::Failed("no answer, 2".to_owned()))
    );
    assert!(ms_since(begin) <= 110, "gives up at once");
    let rejection = keys.of(1).acquire().unwrap_err();
    assert_eq!(&*rejection.last_failure.unwrap().text, "no answer, 2");
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_to_waits_out_the_open_time_and_takes_no_try_for_it() {
    let keys = keys();
    trip(&keys, 1);
    let begin = Instant::now();
    let tries = Cell::new(0);
    let answer = keys.of(1).retry(PATIENT.tries(1), async || {
        tries.set(tries.get() + 1);
        Ok::<_, &str>(7)
    });
    assert_eq!((answer.await, tries.get()), (Ok(7), 1));
    assert!((10_000..=11_010).contains(&ms_since(begin)));
    assert_eq!(keys.state(&1), State::Closed);
    assert_eq!(rejections(&keys), 0);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_not_to_wait_ends_with_the_rejection_and_its_words() {
    let keys = keys();
    trip(&keys, 1);
    let begin = Instant::now();
    let answer = keys
        .of(1)
        .retry(Retry::new(), async || Ok::<_, &str>(7))
        .await;
    let Err(ServiceError::Rejected(rejection)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(rejection.retry_in(), Some(10 * SECOND));
    assert_eq!(&*rejection.last_failure.unwrap().text, "no answer");
    assert_eq!((ms_since(begin), rejections(&keys)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_retry_gives_up_at_once_while_the_key_is_forced_open() {
    let keys = keys();
    keys.command(&1, |breaker| breaker.force_open()).unwrap();
    let begin = Instant::now();
    let answer = keys.of(1).retry(PATIENT, async || Ok::<_, &str>(7)).await;
    let Err(ServiceError::Rejected(rejection)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(rejection.state(), State::ForcedOpen);
    assert_eq!(ms_since(begin), 0);
    assert_eq!(rejections(&keys), 1, "as any other call");
}

#[tokio::test(start_paused = true)]
async fn a_retry_gives_up_at_once_when_the_key_is_open_for_longer_and_says_why() {
    let keys = keys();
    trip(&keys, 1);
    let begin = Instant::now();
    let policy = PATIENT.within(9 * SECOND);
    let answer = keys.of(1).retry(policy, async || Ok::<_, &str>(7)).await;
    let Err(ServiceError::Rejected(rejection)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(&*rejection.last_failure.unwrap().text, "no answer");
    assert_eq!(ms_since(begin), 0);
}

#[tokio::test(start_paused = true)]
async fn only_what_counts_as_a_failure_is_retried() {
    let keys = keys();
    let classify = |result: &Result<u16, &'static str>| match result {
        Ok(503) => Failure::new().into(),
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Ignored,
    };
    for (answer, tried, failures) in [(Err("not found"), 1, 0), (Ok(200), 1, 0), (Ok(503), 2, 2)] {
        let tries = Cell::new(0);
        let policy = Retry::new().within(5 * SECOND);
        let result = keys.of(1).retry_with(classify, policy, async || {
            tries.set(tries.get() + 1);
            answer
        });
        assert_eq!(result.await, answer.map_err(ServiceError::Failed));
        assert_eq!(tries.get(), tried);
        let open = keys.state(&1) == State::Open;
        assert_eq!(open, failures == 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_a_failure_with_its_words() {
    let keys = keys();
    for _ in 0..2 {
        let begin = Instant::now();
        let answer = keys
            .of(1)
            .call_timeout(SECOND / 2, pending::<Result<(), String>>)
            .await;
        assert_eq!(answer, Err(ServiceError::Failed(Timed::TimedOut)));
        assert_eq!(ms_since(begin), 500);
    }
    let rejection = keys.of(1).acquire().unwrap_err();
    assert_eq!(
        &*rejection.last_failure.unwrap().text,
        "timed out after 500ms"
    );
    let rejected = keys.of(1).call_timeout(SECOND, async || Ok::<_, String>(7));
    assert!(matches!(rejected.await, Err(ServiceError::Rejected(_))));
}

#[tokio::test(start_paused = true)]
async fn a_call_within_its_limit_is_like_any_other_and_a_timeout_has_the_given_weight() {
    let keys = keys();
    let answer = keys.of(1).call_timeout(SECOND, async || Ok::<_, String>(7));
    assert_eq!(answer.await, Ok(7));
    let answer = keys
        .of(1)
        .call_timeout(TimeLimit::NONE, async || Err::<(), _>("no answer"));
    assert_eq!(
        answer.await,
        Err(ServiceError::Failed(Timed::Failed("no answer")))
    );
    assert_eq!(keys.entry(&1).unwrap().snapshot.failures(), 1);
    let limit = TimeLimit::new(SECOND).counting_as(Failure::with_weight(2));
    let hangs = keys
        .of(2)
        .call_timeout(limit, pending::<Result<(), String>>);
    assert!(hangs.await.is_err());
    assert_eq!(keys.state(&2), State::Open);
}
