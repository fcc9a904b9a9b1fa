// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time limit of one try.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use atomic_breaker_tower::{TimeLimitLayer, Timed};
use futures_util::poll;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::fake::{Fake, Mood, SECOND};

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_and_a_service_that_is_never_ready_time_out() {
    for (mood, calls) in [(Mood::Hangs, 1), (Mood::NeverReady, 0)] {
        let fake = Fake::new(mood);
        let begin = Instant::now();
        let limited = TimeLimitLayer::new(SECOND).layer(fake.twin());
        let answer = limited.oneshot(1).await;
        assert!(matches!(answer, Err(Timed::TimedOut)));
        assert_eq!((begin.elapsed(), fake.calls()), (SECOND, calls));
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_at_the_limit_is_in_time() {
    for limit in [SECOND, Duration::from_millis(1), Duration::ZERO] {
        let mood = match limit {
            Duration::ZERO => Mood::Answers,
            limit => Mood::AnswersAfter(limit),
        };
        let limited = TimeLimitLayer::new(limit).layer(Fake::new(mood));
        assert_eq!(limited.oneshot(1).await.unwrap(), 1);
    }
}

/// The limit has passed before the first look, yet the answer is there.
#[tokio::test(start_paused = true)]
async fn the_response_arrives_before_the_limit() {
    let mut limited = TimeLimitLayer::new(SECOND).layer(Fake::new(Mood::Answers));
    let call = limited.call(1);
    tokio::time::advance(60 * SECOND).await;
    assert_eq!(call.await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_service_come_through() {
    for mood in [Mood::Fails, Mood::FailsWhenAskedWhetherReady] {
        let limited = TimeLimitLayer::new(SECOND).layer(Fake::new(mood));
        let error = limited.oneshot(1).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer");
        assert!(BoxError::from(error).is::<Timed<std::io::Error>>());
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_duration_is_no_limit() {
    for limit in [Duration::MAX, Duration::from_secs(u64::MAX)] {
        let mood = Mood::AnswersAfter(3_600 * SECOND);
        let limited = TimeLimitLayer::new(limit).layer(Fake::new(mood));
        assert_eq!(limited.oneshot(1).await.unwrap(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_timed_out_is_dropped_before_the_error_is_returned() {
    let held = Arc::new(());
    let hangs = tower::service_fn({
        let held = Arc::clone(&held);
        move |_: u32| {
            let connection = Arc::clone(&held);
            async move {
                std::future::pending::<()>().await;
                Ok::<_, std::io::Error>(connection)
            }
        }
    });
    let mut limited = TimeLimitLayer::new(SECOND).layer(hangs);
    let before = Arc::strong_count(&held);
    let mut call = pin!(limited.call(1));
    assert!(poll!(call.as_mut()).is_pending());
    tokio::time::advance(2 * SECOND).await;
    assert!(matches!(
        poll!(call.as_mut()),
        Poll::Ready(Err(Timed::TimedOut))
    ));
    assert_eq!(Arc::strong_count(&held), before);
}

/// A call that uses up tokio's budget in each poll must not put off the end forever.
#[tokio::test]
async fn a_busy_call_times_out_as_well() {
    let busy = tower::service_fn(|_: u32| async {
        loop {
            tokio::task::consume_budget().await;
        }
        #[expect(unreachable_code, reason = "names the type")]
        Ok::<(), std::io::Error>(())
    });
    let limited = TimeLimitLayer::new(Duration::from_millis(1)).layer(busy);
    assert!(matches!(limited.oneshot(1).await, Err(Timed::TimedOut)));
}
