// SPDX-License-Identifier: MIT OR Apache-2.0
//! Only a share of the rejections is enforced: a request keeps its draw, however often it waits.

use std::io;
use std::sync::Arc;

use atomic_breaker_server::Resource;
use atomic_breaker_server::{ByKey, Registry};
use atomic_breaker_tower::{
    Admit, Breaker, BreakerLayer, Config, RetryConfig, RetryLayer, ServiceError, TokioClock,
};
use tokio::task::JoinSet;
use tower::util::BoxCloneService;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::{SECOND, budget};

const RULES: Config = Config::new().open_for(SECOND);
const WAITS: RetryConfig = RetryConfig::new().tries(1).rejection_waits(5);

/// The number of requests, out of a thousand, that pass. The calls fail, so the breaker stays open but for its probes.
async fn passed<A>(admit: A) -> usize
where
    A: Admit<u32, Permit: Send + 'static> + Clone + Send + 'static,
{
    passed_below(admit, |guarded| guarded).await
}

type Guarded = BoxCloneService<u32, (), ServiceError<io::Error>>;

/// [`passed`] with something between the retries and the breaker.
async fn passed_below<A>(admit: A, between: impl FnOnce(Guarded) -> Guarded) -> usize
where
    A: Admit<u32, Permit: Send + 'static> + Clone + Send + 'static,
{
    let guarded = ServiceBuilder::new()
        .layer(BreakerLayer::new(admit))
        .service(service_fn(|_: u32| async {
            Err::<(), _>(io::Error::other("down"))
        }));
    let client = ServiceBuilder::new()
        .layer(RetryLayer::new(WAITS, budget(), |_: &u32| true))
        .service(between(guarded.boxed_clone()));
    let mut requests = JoinSet::new();
    for _ in 0..1_000 {
        let mut client = client.clone();
        requests.spawn(async move { client.ready().await?.call(1).await });
    }
    let results = requests.join_all().await;
    let is_passed = |result: &&Result<(), _>| matches!(result, Err(ServiceError::Failed(_)));
    results.iter().filter(is_passed).count()
}

#[tokio::test(start_paused = true)]
async fn half_enforced_rejections_let_half_of_the_requests_pass() {
    let resource = Arc::new(Resource::new(Breaker::new(RULES, TokioClock)));
    resource.enforcement().set_percent(50).unwrap();
    resource.breaker().trip();
    let of_resource = passed(resource).await;

    let hosts = Registry::builder(RULES).clock(TokioClock).build();
    let hosts: Arc<Registry<u32, TokioClock>> = Arc::new(hosts.unwrap());
    hosts.enforcement().set_percent(50).unwrap();
    hosts.command(&1, |host| host.trip()).unwrap();
    let of_registry = passed(ByKey::new(hosts, |key: &u32| *key)).await;

    println!("{of_resource}, {of_registry} of 1,000");
    // 500 ± 16, and a few probes.
    for passed in [of_resource, of_registry] {
        assert!((400..620).contains(&passed), "{passed} of 1,000");
    }
}

/// The breaker is asked when the service between is polled, not when it is called.
#[tokio::test(start_paused = true)]
async fn a_request_keeps_its_lot_through_an_async_service_in_between() {
    let resource = Arc::new(Resource::new(Breaker::new(RULES, TokioClock)));
    resource.enforcement().set_percent(50).unwrap();
    resource.breaker().trip();
    let passed = passed_below(resource, |guarded| {
        let awaits = service_fn(move |request| {
            let guarded = guarded.clone();
            async move {
                tokio::task::yield_now().await;
                guarded.oneshot(request).await
            }
        });
        awaits.boxed_clone()
    });
    let passed = passed.await;
    assert!((400..620).contains(&passed), "{passed} of 1,000");
}
