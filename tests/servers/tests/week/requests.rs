// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP requests that are kept.

use std::io;

use atomic_breaker_http::{ClientGuard, HttpClassifier, Origin, RetryBudget, TokioClock};
use atomic_breaker_server::ByKey;
use atomic_breaker_steps::{
    Lane, MemoryStore, Steps, Workflow,
    requests::{Answer, KeepBody, KeepConfig, KeepService, KeptRequest, NotKept},
};
use atomic_breaker_tower::{BreakerLayer, RetryConfig, RetryLayer};
use http::{Request, Response, Uri};
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use super::SECOND;
use super::shop::{HOUR, Jobs, Mail, Shared, Supplier, breaker, is_down, patient, shop, week};
use test_support::faulty_store::{Fault, FaultyStore};
use test_support::week::config;

type Sent = Request<KeepBody<String>>;

fn post(key: &str) -> Request<String> {
    Request::post("https://supplier.example/orders")
        .header("idempotency-key", key)
        .body("{}".to_owned())
        .unwrap()
}

/// The supplier over HTTP: the key identifies a request.
fn client(
    supplier: &Supplier,
) -> impl Service<Sent, Response = Response<String>, Error = io::Error, Future: Send>
+ Clone
+ Send
+ use<> {
    let supplier = supplier.clone();
    service_fn(move |request: Sent| {
        let supplier = supplier.clone();
        async move {
            let key = request.headers()["idempotency-key"].to_str().unwrap();
            supplier.order(key).await?;
            Ok(Response::default())
        }
    })
}

/// The parts that all programs share.
struct Program {
    store: MemoryStore,
    supplier: Supplier,
    mail: Mail,
    keep: KeepConfig,
}

type Kept<B> = KeepService<MemoryStore, String, B>;

impl Program {
    fn new() -> Self {
        Self {
            store: MemoryStore::new(),
            supplier: Supplier::new(),
            mail: Mail::default(),
            keep: KeepConfig::new(),
        }
    }

    fn steps(&self, lane: Lane, later: &Workflow<KeptRequest>) -> Steps<MemoryStore> {
        let steps = shop(&self.store).lane(lane).workflow(later);
        steps.notifier(self.mail.clone()).build().unwrap()
    }

    /// Sends two requests at once, through a client below the breaker.
    fn guarded<C>(&self, client: C, orders: &Shared) -> (Steps<MemoryStore>, Workflow<KeptRequest>)
    where
        C: Service<Sent, Response = Response<String>, Error = io::Error, Future: Send>,
        C: Clone + Send + 'static,
    {
        let later = self.keep.replay("order", "orders", client);
        let later = later.schedule(patient());
        let lane = Lane::new("orders").at_once(2).guarded(orders.clone());
        (self.steps(lane, &later), later)
    }

    /// A week of requests by these clients in turn. A timeout around each request ends every second one in the middle;
    /// every hour the worker is dropped and replaced by another.
    async fn run<B: Send + 'static>(
        &self,
        steps: &Steps<MemoryStore>,
        clients: &[Kept<B>],
    ) -> Jobs {
        let mut worker = steps.work();
        let mut gone = 0;
        let jobs = week(&self.store, async |number| {
            if number % 30 == 29 {
                worker = steps.work();
            }
            let is_hasty = number % 3 == 0;
            let patience = if is_hasty { SECOND / 20 } else { 5 * SECOND };
            let client = clients[number % clients.len()].clone();
            let sent = client.oneshot(post(&number.to_string()));
            match timeout(patience, sent).await.map(Result::unwrap) {
                Ok(Answer::Now(response)) => assert_eq!(response.status(), 200),
                Ok(Answer::Kept(_)) => {}
                Err(_) => gone += 1,
            }
        })
        .await;
        worker.stop().await;
        assert!(gone > jobs.kept / 4, "{gone}");
        jobs.are_done(&self.store).await;
        assert_eq!(self.mail.told(), 0);
        jobs
    }
}

/// The configuration shown on the page on durable steps.
#[tokio::test(start_paused = true)]
async fn a_layer_above_a_breaker() {
    let program = Program::new();
    let (client, orders) = (client(&program.supplier), breaker(config()));
    let (steps, later) = program.guarded(client.clone(), &orders);
    let guard = BreakerLayer::new(orders).report(HttpClassifier::new());
    let keeping = program.keep.layer(&steps, &later).unwrap();
    // Two clients use one layer, and two use another one.
    let other = program.keep.layer(&steps, &later).unwrap();
    let clients =
        [&keeping, &keeping, &other].map(|keeping| keeping.layer(guard.layer(client.clone())));
    let jobs = program.run(&steps, &clients).await;
    program.supplier.was_spared(jobs.kept, 70);
    assert_eq!(jobs.charged, program.supplier.wasted());
}

/// There is room for ten of the thirty requests of each outage. Afterwards the room is free again; the other requests
/// are rejected at once.
#[tokio::test(start_paused = true)]
async fn room_for_few_requests() {
    let mut program = Program::new();
    program.keep = program.keep.most(10);
    let (client, orders) = (client(&program.supplier), breaker(config()));
    let (steps, later) = program.guarded(client.clone(), &orders);
    let guard = BreakerLayer::new(orders).report(HttpClassifier::new());
    let keeping = program.keep.layer(&steps, &later).unwrap();
    let sender = keeping.layer(guard.layer(client));
    let worker = steps.work();
    let (mut kept, mut rejected) = (0, 0);
    let jobs = week(&program.store, async |number| {
        match sender.clone().oneshot(post(&number.to_string())).await {
            Ok(Answer::Now(response)) => assert_eq!(response.status(), 200),
            Ok(Answer::Kept(_)) => kept += 1,
            Err(_) => rejected += 1,
        }
    })
    .await;
    worker.stop().await;
    jobs.are_done(&program.store).await;
    assert_eq!(program.mail.told(), 0);
    assert_eq!(kept, 14 * 10);
    assert!((14 * 19..=14 * 21).contains(&rejected), "{rejected}");
    program.supplier.was_spared(jobs.kept - rejected, 70);
}

/// Consecutive tries count as one try of the request.
#[tokio::test(start_paused = true)]
async fn a_layer_above_retries() {
    static BUDGET: RetryBudget = RetryBudget::new();
    let program = Program::new();
    let (client, orders) = (client(&program.supplier), breaker(config()));
    let (steps, later) = program.guarded(client.clone(), &orders);
    let guard = BreakerLayer::new(orders).report(HttpClassifier::new());
    let retry = RetryLayer::new(RetryConfig::new(), &BUDGET, |_: &Sent| true);
    let keeping = program.keep.layer(&steps, &later).unwrap();
    let client = keeping.layer(retry.layer(guard.layer(client)));
    let jobs = program.run(&steps, &[client]).await;
    program.supplier.was_spared(jobs.kept, 70);
    let wasted = program.supplier.wasted();
    assert!(
        (wasted / 3..=wasted).contains(&jobs.charged),
        "{} of {wasted}",
        jobs.charged
    );
}

/// The client has the breaker, and replayed requests pass through it, too.
#[tokio::test(start_paused = true)]
async fn a_layer_above_a_guarded_client() {
    let program = Program::new();
    let guard: &'static ClientGuard<TokioClock> =
        ClientGuard::with(servers::five_in_a_row(), TokioClock, ())
            .unwrap()
            .leak();
    let client = guard.layer().layer(client(&program.supplier));
    let later = program.keep.replay("order", "orders", client.clone());
    let later = later.schedule(patient());
    let orders = Origin::from_uri(&Uri::from_static("https://supplier.example")).unwrap();
    let lane = ByKey::new(guard.hosts(), move |(): &()| orders.clone());
    let steps = program.steps(Lane::new("orders").at_once(2).guarded_within(lane), &later);
    let keeping = program.keep.layer(&steps, &later).unwrap();
    let jobs = program.run(&steps, &[keeping.layer(client)]).await;
    program.supplier.was_spared(jobs.kept, 130);
    let wasted = program.supplier.wasted();
    assert!(
        (wasted / 3..=wasted).contains(&jobs.charged),
        "{} of {wasted}",
        jobs.charged
    );
}

/// The store is down for the first hour of each day, and whenever the supplier is: callers get an error then.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_too() {
    let (store, supplier) = (FaultyStore::default(), Supplier::new());
    let (client, keep) = (client(&supplier), KeepConfig::new());
    let later = keep
        .replay("order", "orders", client.clone())
        .schedule(patient());
    let orders = breaker(config());
    let steps = Steps::builder(store.clone())
        .poll(10 * SECOND)
        .retention(2 * HOUR)
        .lane(Lane::new("orders").at_once(2).guarded(orders.clone()))
        .workflow(&later)
        .build()
        .unwrap();
    let worker = steps.work();
    let guard = BreakerLayer::new(orders).report(HttpClassifier::new());
    let client = keep
        .layer(&steps, &later)
        .unwrap()
        .layer(guard.layer(client));
    let (mut told, began) = (0, Instant::now());
    let jobs = week(&store.jobs, async |number| {
        let is_night = began.elapsed().as_secs() % (24 * 3_600) < 3_600;
        let fault = Fault::Error("connection refused".to_owned());
        store.set((is_night || is_down(began.elapsed())).then_some(fault));
        let sent = client.clone().oneshot(post(&number.to_string()));
        match timeout(5 * SECOND, sent).await.expect("in time") {
            Ok(Answer::Now(response)) => assert_eq!(response.status(), 200),
            Ok(kept @ Answer::Kept(_)) => panic!("{kept:?}"),
            Err(error) => {
                let is_store = matches!(error.not_kept(), Some(NotKept::Store(_)));
                assert!(is_store && is_down(began.elapsed()), "{error}");
                told += 1;
            }
        }
    })
    .await;
    worker.stop().await;
    jobs.are_done(&store.jobs).await;
    supplier.was_spared(jobs.kept - told, 70);
    assert_eq!(told, 14 * 30);
}

/// A client without its own time limit, whose supplier does not respond at all while it is down: callers leave after
/// five seconds.
#[tokio::test(start_paused = true)]
async fn a_supplier_that_hangs() {
    let program = Program::new();
    let (supplier, began) = (program.supplier.clone(), Instant::now());
    let client = service_fn(move |request: Sent| {
        let supplier = supplier.clone();
        async move {
            let key = request.headers()["idempotency-key"].to_str().unwrap();
            if is_down(began.elapsed()) {
                let _ = supplier.order(key).await;
                sleep(HOUR * 24).await;
            }
            supplier.order(key).await?;
            Ok::<_, io::Error>(Response::<String>::default())
        }
    });
    let later = program.keep.replay("order", "orders", client.clone());
    let later = later.schedule(patient());
    let rules = config().slow_call(30 * SECOND);
    let orders = breaker(rules);
    let steps = shop(&program.store)
        .time_limit(60 * SECOND)
        .lane(Lane::new("orders").at_once(2).guarded(orders.clone()))
        .workflow(&later)
        .notifier(program.mail.clone())
        .build()
        .unwrap();
    let guard = BreakerLayer::new(orders).report(HttpClassifier::new());
    let keeping = program.keep.layer(&steps, &later).unwrap();
    let jobs = program
        .run(&steps, &[keeping.layer(guard.layer(client))])
        .await;
    program.supplier.was_spared(jobs.kept, 70);
    assert_eq!(jobs.charged, program.supplier.wasted());
}
