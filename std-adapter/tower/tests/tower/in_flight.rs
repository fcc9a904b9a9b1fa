// SPDX-License-Identifier: MIT OR Apache-2.0
//! A limit of calls in flight for each key, below a layer.

use std::sync::Arc;

use atomic_breaker_server::{ByKey, InFlightLimit, Registry};
use atomic_breaker_tower::{BreakerLayer, State, TimeLimitLayer, TokioClock};
use futures_util::poll;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::fake::{Fake, Mood, RULES, SECOND};

#[tokio::test(start_paused = true)]
async fn a_key_that_hangs_opens_before_its_first_timeout_and_closes_when_it_is_well() {
    let keys = Registry::builder(RULES).clock(TokioClock).build().unwrap();
    let keys = Arc::new(keys);
    let by_key = ByKey::new(Arc::clone(&keys), |key: &u32| *key);
    let limit = Arc::new(InFlightLimit::by_key(by_key, 10));
    let fake = Fake::new(Mood::Hangs);
    let service = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&limit)))
        .layer(TimeLimitLayer::new(30 * SECOND))
        .service(fake.twin());
    let mut hanging = JoinSet::new();
    for _ in 0..10 {
        hanging.spawn(service.clone().oneshot(1));
    }
    sleep(SECOND).await;
    assert_eq!(limit.in_flight_of(&1), 10);
    let rejected = service.clone().oneshot(1).await.unwrap_err();
    let rejection = rejected.rejected().unwrap();
    let words = &rejection.last_failure.as_ref().unwrap().text;
    assert_eq!(&**words, "10 calls in flight");
    assert_eq!(keys.state(&1), State::Open, "29 s before a timeout");
    fake.set(Mood::Answers);
    assert_eq!(service.clone().oneshot(2).await.unwrap(), 2, "another key");
    sleep(10 * SECOND).await;
    assert_eq!(service.clone().oneshot(1).await.unwrap(), 1, "the probe");
    hanging.join_all().await;
    assert_eq!(limit.in_flight_of(&1), 0);
    assert_eq!(service.oneshot(1).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_dropped_is_in_flight_no_more_wherever_it_stands() {
    let keys = Registry::builder(RULES).clock(TokioClock).build().unwrap();
    let by_key = ByKey::new(Arc::new(keys), |key: &u32| *key);
    let limit = Arc::new(InFlightLimit::by_key(by_key, 10));
    for mood in [Mood::Hangs, Mood::NeverReady] {
        let mut service = ServiceBuilder::new()
            .layer(BreakerLayer::new(Arc::clone(&limit)))
            .service(Fake::new(mood));
        for polls in 0..3 {
            let mut call = Box::pin(service.call(1));
            for _ in 0..polls {
                assert!(poll!(call.as_mut()).is_pending());
            }
            assert_eq!(limit.in_flight_of(&1), 1);
            drop(call);
            assert_eq!(limit.in_flight_of(&1), 0);
        }
    }
}
