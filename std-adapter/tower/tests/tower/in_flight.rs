// SPDX-License-Identifier: MIT OR Apache-2.0
//! A limit of calls in flight for each key, below a layer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use atomic_breaker_server::{ByKey, InFlightLimit, Registry};
use atomic_breaker_tower::{BreakerLayer, State, TimeLimitLayer, TokioClock, TryLayer};
use futures_util::poll;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::fake::{Fake, Mood, RULES, SECOND, breaker};

#[tokio::test(start_paused = true)]
async fn a_key_that_hangs_opens_before_its_first_timeout_and_closes_when_it_is_well() {
    let keys = Registry::builder(RULES).clock(TokioClock).build().unwrap();
    let keys = Arc::new(keys);
    let by_key = ByKey::new(Arc::clone(&keys), |key: &u32| *key);
    let limit = Arc::new(InFlightLimit::by_key(by_key, 10).tripping());
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

/// A bulkhead above does not: callers that leave free their places there, while their tries go on.
#[tokio::test(start_paused = true)]
async fn a_limit_in_flight_bounds_tries_whose_callers_leave() {
    let most_at_once = async |layer: TryLayer<_>| {
        // Each call at the host holds one.
        let (place, most) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let (of_place, of_host) = (Arc::downgrade(&place), Arc::clone(&most));
        let host = service_fn(move |()| {
            let held = of_place.upgrade();
            of_host.fetch_max(of_place.strong_count() - 1, Relaxed);
            async move {
                sleep(SECOND).await;
                drop(held);
                Ok::<_, io::Error>(())
            }
        });
        let service = ServiceBuilder::new()
            .layer(LoadShedLayer::new())
            .layer(ConcurrencyLimitLayer::new(2))
            .layer(layer)
            .service(host);
        for _ in 0..90 {
            let _ = timeout(SECOND / 100, service.clone().oneshot(())).await;
        }
        most.load(Relaxed)
    };
    let limit = |most| Arc::new(InFlightLimit::new(breaker(), most));
    assert_eq!(
        most_at_once(TryLayer::new(limit(1_000), 3 * SECOND)).await,
        90
    );
    assert_eq!(most_at_once(TryLayer::new(limit(5), 3 * SECOND)).await, 5);
    let none_goes_on = TryLayer::new(limit(1_000), 3 * SECOND).outliving(0);
    assert!(most_at_once(none_goes_on).await <= 2);
}
