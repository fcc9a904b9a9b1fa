// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that classify HTTP responses.

use std::io;

use atomic_breaker_http::HttpClassifier;
use atomic_breaker_steps::{Lane, MemoryStore, Ran, Workflow, step_result};
use http::{Response, StatusCode};
use tokio::time::timeout;

use super::SECOND;
use super::calls::one_at_a_time;
use super::shop::{Mail, Shared, Supplier, breaker, patient, week};
use super::steps::{Program, one_step};
use test_support::week::config;

static HTTP: HttpClassifier = HttpClassifier::new();

/// While it is down it responds with this status and asks callers to return in a minute.
async fn post(supplier: &Supplier, order: u64, down: StatusCode) -> io::Result<Response<()>> {
    let mut response = Response::new(());
    if supplier.order(&order.to_string()).await.is_err() {
        *response.status_mut() = down;
        let minute = http::HeaderValue::from_static("60");
        response.headers_mut().insert("retry-after", minute);
    }
    Ok(response)
}

fn orders(supplier: &Supplier, http: HttpClassifier, down: StatusCode) -> Workflow<u64> {
    let supplier = supplier.clone();
    let workflow = Workflow::new("order").schedule(patient());
    workflow.step("invoice", "billing", move |order: u64| {
        let supplier = supplier.clone();
        async move {
            let response = post(&supplier, order, down).await?;
            step_result(&http, &response)?;
            Ok(order)
        }
    })
}

/// The lane's breaker also guards the calls within the step, with the same classifier.
fn guarded_orders(supplier: &Supplier, breaker: &Shared) -> Workflow<u64> {
    let (supplier, breaker) = (supplier.clone(), breaker.clone());
    let workflow = Workflow::new("order").schedule(patient());
    workflow.step("invoice", "billing", move |order: u64| {
        let (supplier, breaker) = (supplier.clone(), breaker.clone());
        async move {
            let post = || post(&supplier, order, StatusCode::SERVICE_UNAVAILABLE);
            let response = breaker.call_async_with(HTTP, post).await?;
            step_result(&HTTP, &response)?;
            Ok(order)
        }
    })
}

/// A 503 stops the lane for as long as it says, and so does a 429 where all share one quota. Otherwise each job finds out by
/// itself, by its schedule.
#[tokio::test(start_paused = true)]
async fn a_server_that_says_when_to_come_back() {
    let one_quota = HTTP.trip_on_429(true);
    for (http, down, worst) in [
        (HTTP, StatusCode::SERVICE_UNAVAILABLE, 70),
        (one_quota, StatusCode::TOO_MANY_REQUESTS, 70),
        (HTTP, StatusCode::TOO_MANY_REQUESTS, 300),
    ] {
        let program = Program::new(|supplier| orders(supplier, http, down));
        let lane = Lane::new("billing").guarded(breaker(config()));
        program.lane(lane).run(1, worst).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_breaker_for_the_lane_and_for_the_calls_within() {
    one_step(guarded_orders, Lane::guarded).await;
}

/// Two clones of the steps in turn. A timeout around each ends every third one in the middle; every hour the worker is
/// dropped and replaced by one of the other clone.
#[tokio::test(start_paused = true)]
async fn callers_and_workers_that_go() {
    let (store, supplier, mail) = (MemoryStore::new(), Supplier::new(), Mail::default());
    let orders = orders(&supplier, HTTP, StatusCode::SERVICE_UNAVAILABLE);
    let steps = one_at_a_time(&store, &orders, &mail);
    let clones = [steps.clone(), steps];
    let mut worker = clones[0].work();
    let mut gone = 0;
    let jobs = week(&store, async |number| {
        let steps = &clones[number % 2];
        if number % 30 == 29 {
            worker = steps.work();
        }
        let is_hasty = number % 3 == 0;
        let patience = if is_hasty { SECOND / 20 } else { 5 * SECOND };
        let order = number as u64;
        let run = steps.run(&orders, number.to_string(), &order);
        match timeout(patience, run).await.map(Result::unwrap) {
            Ok(Ran::Done(_) | Ran::Later { .. }) => {}
            Ok(ended @ Ran::Ended { .. }) => panic!("{ended:?}"),
            Err(_) => gone += 1,
        }
    })
    .await;
    worker.stop().await;
    jobs.are_done(&store).await;
    supplier.was_spared(jobs.kept, 70);
    assert_eq!((jobs.charged, mail.told()), (supplier.wasted(), 0));
    assert!(gone > 1_400, "{gone}");
}
