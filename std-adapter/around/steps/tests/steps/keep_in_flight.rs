// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests under way that may have to be kept count, too.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, HttpClassifier, TokioClock};
use atomic_breaker_steps::{
    Filter, Lane, Status, Steps, Store,
    requests::{KeepBody, KeepConfig, KeepService, NotKept},
};
use atomic_breaker_tower::BreakerLayer;
use futures_util::future::join_all;
use http::{Request, Response};
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

use super::keep_server::{kept, now, post};
use test_support::faulty_store::FaultyStore;

const SECOND: Duration = Duration::from_secs(1);

/// The number of requests at an upstream that hangs for this long, then fails.
#[derive(Clone, Default)]
struct Upstream {
    open: Arc<AtomicU32>,
    hangs: Duration,
}

struct Open(Arc<AtomicU32>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Upstream {
    fn open(&self) -> u32 {
        self.open.load(Ordering::SeqCst)
    }

    async fn ask(self) -> Result<Response<String>, Infallible> {
        self.open.fetch_add(1, Ordering::SeqCst);
        let _open = Open(self.open);
        sleep(self.hangs).await;
        let mut response = Response::new("late".to_owned());
        *response.status_mut() = 503.try_into().unwrap();
        Ok(response)
    }
}

struct Shop {
    client: KeepService<FaultyStore, String, String>,
    store: FaultyStore,
    steps: Steps<FaultyStore>,
    breaker: Arc<Breaker<TokioClock>>,
}

impl Shop {
    fn new(upstream: &Upstream, most: usize) -> Self {
        let upstream = upstream.clone();
        let client = service_fn(move |_: Request<KeepBody<String>>| upstream.clone().ask());
        let keep = KeepConfig::new().most(most);
        let later = keep.replay("later", "server", client.clone());
        let breaker = Arc::new(Breaker::new(
            Config::new().consecutive_failures(60_000),
            TokioClock,
        ));
        let store = FaultyStore::default();
        let steps = Steps::builder(store.clone())
            .lane(Lane::new("server").guarded(Arc::clone(&breaker)))
            .workflow(&later)
            .build()
            .unwrap();
        let guard = BreakerLayer::new(Arc::clone(&breaker)).report(HttpClassifier::new());
        let client = keep
            .layer(&steps, &later)
            .unwrap()
            .layer(guard.layer(client));
        Self {
            client,
            store,
            steps,
            breaker,
        }
    }

    /// This many callers, who leave after a second.
    async fn ask_and_go(&self, keys: std::ops::Range<u32>) {
        let asks = keys.map(|key| {
            let request = post("/", &key.to_string(), "body");
            timeout(SECOND, self.client.clone().oneshot(request))
        });
        assert!(join_all(asks).await.iter().all(Result::is_err));
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_go_on_without_their_callers_than_may_be_kept() {
    let upstream = Upstream {
        hangs: SECOND * 300,
        ..Upstream::default()
    };
    let shop = Shop::new(&upstream, 1_000);
    shop.ask_and_go(0..5_000).await;
    assert_eq!(upstream.open(), 1_000);
    assert_eq!(shop.store.asked(), [], "nothing is to be kept yet");
    // Further requests are served as if there were no layer.
    shop.ask_and_go(5_000..5_100).await;
    assert_eq!(upstream.open(), 1_000);
    // They fail, are kept, and then none may go on.
    sleep(SECOND * 300).await;
    let jobs = shop.store.jobs.counts().await.unwrap();
    assert_eq!(jobs.of(Status::Waiting), 1_000, "{jobs:?}");
    shop.ask_and_go(6_000..6_010).await;
    assert_eq!(upstream.open(), 0);
    shop.steps.calls_ended().await;
}

#[tokio::test(start_paused = true)]
async fn kept_requests_and_those_under_way_count_together() {
    let upstream = Upstream {
        hangs: SECOND * 300,
        ..Upstream::default()
    };
    let shop = Shop::new(&upstream, 5);
    shop.breaker.trip();
    for key in ["a", "b"] {
        kept(shop.client.clone().oneshot(post("/", key, "")).await);
    }
    shop.breaker.reset();
    shop.ask_and_go(0..10).await;
    assert_eq!(upstream.open(), 3);
    // When the kept requests are gone there is room again, even if nothing is to be kept.
    for job in shop.store.jobs.list(&Filter::default(), 9).await.unwrap() {
        shop.store.jobs.cancel(job.id).await.unwrap();
    }
    sleep(SECOND * 20).await;
    shop.ask_and_go(10..11).await;
    sleep(SECOND).await;
    shop.ask_and_go(11..20).await;
    assert_eq!(upstream.open(), 5);
}

#[tokio::test(start_paused = true)]
async fn one_too_many_is_kept_if_there_is_room_when_it_fails() {
    let upstream = Upstream {
        hangs: SECOND,
        ..Upstream::default()
    };
    let shop = Shop::new(&upstream, 2);
    let asks = ["1", "2", "3"].map(|key| shop.client.clone().oneshot(post("/", key, "")));
    let [one, two, three] = join_all(asks).await.try_into().unwrap();
    kept(one);
    kept(two);
    let response = now(three);
    let why = response.extensions().get();
    assert!(matches!(why, Some(NotKept::Full(2))), "{why:?}");
    // A caller that stays learns of a kept request, whatever else is under way.
    let jobs = shop.store.jobs.list(&Filter::default(), 9).await.unwrap();
    shop.store.jobs.cancel(jobs[0].id).await.unwrap();
    sleep(SECOND * 20).await;
    kept(shop.client.clone().oneshot(post("/", "4", "")).await);
    // No dropped request stays counted.
    shop.store.jobs.cancel(jobs[1].id).await.unwrap();
    sleep(SECOND * 20).await;
    let first = shop.client.clone().oneshot(post("/first", "5", ""));
    assert!(
        timeout(SECOND / 2, first).await.is_err(),
        "it is counted again"
    );
    let asks = (0..9).map(|key| {
        let request = post("/dropped", &key.to_string(), "");
        timeout(SECOND / 2, shop.client.clone().oneshot(request))
    });
    assert!(join_all(asks).await.iter().all(Result::is_err));
    sleep(SECOND * 20).await;
    let jobs = shop.store.jobs.counts().await.unwrap();
    assert_eq!(jobs.of(Status::Waiting), 2, "{jobs:?}");
}
