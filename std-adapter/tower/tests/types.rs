// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each building block as the field of a struct: its type can be written, and none needs a box.

use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_server::Resource;
use atomic_breaker_tower::{
    AtOnce, Breaker, BreakerLayer, BreakerService, BudgetByKey, BudgetConfig, Config, GateLayer,
    GateService, Outcome, RetryBudget, RetryBudgets, RetryConfig, RetryLayer, RetryPolicy,
    RetryService, TimeLimitLayer, TimeLimitService, TryLayer, TryService, breaker,
};
use tower::{Layer, Service, ServiceExt};

static SEARCH: Breaker = breaker(Config::new());
static KEPT: Resource = Resource::new(breaker(Config::new()));
static BUDGET: RetryBudget = RetryBudget::new();

#[derive(Clone)]
struct Query {
    tenant: u32,
}

/// The client of an application.
#[derive(Clone)]
struct Client;

impl Service<Query> for Client {
    type Response = u32;
    type Error = io::Error;
    type Future = Ready<io::Result<u32>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, query: Query) -> Self::Future {
        ready(Ok(query.tenant))
    }
}

type Judge = AtOnce<fn(&io::Result<u32>) -> Outcome>;
type MayRepeat = fn(&Query) -> bool;

fn judge(result: &io::Result<u32>) -> Outcome {
    match result {
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Ignored,
    }
}

fn always(_: &Query) -> bool {
    true
}

struct Layers {
    of_breaker: BreakerLayer<&'static Breaker>,
    of_resource: BreakerLayer<&'static Resource>,
    of_shared: BreakerLayer<Arc<Breaker>>,
    judging: BreakerLayer<&'static Breaker, Judge>,
    gate: GateLayer<Arc<Breaker>, Judge>,
    limit: TimeLimitLayer,
    tries: TryLayer<&'static Breaker>,
    retry: RetryLayer<&'static RetryBudget, MayRepeat>,
}

struct Clients {
    guarded: BreakerService<Client, &'static Breaker>,
    kept: BreakerService<Client, &'static Resource>,
    shared: BreakerService<Client, Arc<Breaker>>,
    judged: BreakerService<TimeLimitService<Client>, &'static Breaker>,
    judged_by_function: BreakerService<Client, &'static Breaker, Judge>,
    endpoint: GateService<Client, Arc<Breaker>, Judge>,
    tried: TryService<Client, &'static Breaker>,
    retried: RetryService<
        BreakerService<TimeLimitService<Client>, &'static Breaker>,
        &'static RetryBudget,
        MayRepeat,
    >,
}

#[tokio::test]
async fn layers_and_services_are_fields() -> Result<(), tower::BoxError> {
    let shared = Arc::new(breaker(Config::new()));
    let judge = judge as fn(&io::Result<u32>) -> Outcome;
    let layers = Layers {
        of_breaker: BreakerLayer::new(&SEARCH),
        of_resource: BreakerLayer::new(&KEPT),
        of_shared: BreakerLayer::new(Arc::clone(&shared)),
        judging: BreakerLayer::new(&SEARCH).classify(judge),
        gate: GateLayer::new(shared).classify(judge),
        limit: TimeLimitLayer::new(Duration::from_secs(1)),
        tries: TryLayer::new(&SEARCH, Duration::from_secs(1)),
        retry: RetryLayer::new(RetryConfig::new(), &BUDGET, always),
    };
    let limited = layers.limit.layer(Client);
    let clients = Clients {
        guarded: layers.of_breaker.layer(Client),
        kept: layers.of_resource.layer(Client),
        shared: layers.of_shared.layer(Client),
        judged: layers.of_breaker.layer(limited.clone()),
        judged_by_function: layers.judging.layer(Client),
        endpoint: layers.gate.layer(Client),
        tried: layers.tries.layer(Client),
        retried: layers.retry.layer(layers.of_breaker.layer(limited)),
    };
    let query = Query { tenant: 7 };
    assert_eq!(clients.guarded.oneshot(query.clone()).await?, 7);
    assert_eq!(clients.kept.oneshot(query.clone()).await?, 7);
    assert_eq!(clients.shared.oneshot(query.clone()).await?, 7);
    assert_eq!(clients.judged.oneshot(query.clone()).await?, 7);
    assert_eq!(clients.judged_by_function.oneshot(query.clone()).await?, 7);
    assert_eq!(clients.endpoint.oneshot(query.clone()).await?, 7);
    assert_eq!(clients.tried.oneshot(query.clone()).await?, 7);
    assert_eq!(clients.retried.oneshot(query).await?, 7);
    Ok(())
}

type OfTenant<H> = BudgetByKey<H, fn(&Query) -> u32>;

struct Retries {
    shared: RetryLayer<Arc<RetryBudget>, MayRepeat>,
    by_tenant: RetryLayer<OfTenant<Arc<RetryBudgets>>, MayRepeat>,
    judged: RetryLayer<&'static RetryBudget, Judged>,
}

#[derive(Clone, Copy)]
struct Judged;

impl RetryPolicy<Query, u32, io::Error> for Judged {
    fn may_repeat(&self, _: &Query) -> bool {
        true
    }

    fn classify(&self, result: &io::Result<u32>) -> Outcome {
        judge(result)
    }
}

static JUDGED: RetryLayer<&RetryBudget, Judged> =
    RetryLayer::new(RetryConfig::new(), &BUDGET, Judged);

#[test]
fn retries_are_fields() {
    let config = RetryConfig::new();
    let budgets = Arc::new(RetryBudgets::new(BudgetConfig::new(), 8).unwrap());
    let of_tenant = |query: &Query| query.tenant;
    let retries = Retries {
        shared: RetryLayer::new(config, Arc::new(RetryBudget::new()), always),
        by_tenant: RetryLayer::new(config, BudgetByKey::new(budgets, of_tenant), always),
        judged: JUDGED,
    };
    assert_eq!(retries.shared.config().tries, 3);
    assert_eq!(retries.by_tenant.config(), retries.judged.config());
}
