// SPDX-License-Identifier: MIT OR Apache-2.0
//! A health check passes its own guard, which shuts out its host, and nothing else.

use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex};

use atomic_breaker_http::{RequestError, State};
use http::{Request, Response};
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

use super::health::{Guard, Hosts, SECOND, guard, host, shut_out};

/// A copy, such as one that is mirrored, may be sent when its check is long over.
#[tokio::test(start_paused = true)]
async fn what_a_check_leaves_in_its_request_opens_nothing_once_it_is_over() {
    let (guard, hosts): (&'static Guard, _) = (guard().leak(), Hosts::default());
    hosts.set(503, 503);
    shut_out(guard, &hosts, "http://a.example/").await;
    let copy = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&copy);
    let keeps = service_fn(move |request: Request<String>| {
        *kept.lock().unwrap() = Some(request);
        ready(Err::<Response<String>, _>(io::Error::other("refused")))
    });
    let task = tokio::spawn(guard.health_check("/health").unwrap().run(keeps));
    sleep(6 * SECOND).await;
    task.abort();
    let copy = copy.lock().unwrap().take().unwrap();
    let client = guard.layer().layer(hosts.client());
    let answer = client.oneshot(copy).await;
    assert!(matches!(answer, Err(RequestError::Rejected(_))));
    assert!(hosts.seen().is_empty());
}

/// Such as two in a row, of which the inner one shuts out the host as well.
#[tokio::test(start_paused = true)]
async fn a_check_passes_its_own_guard_and_no_other() {
    let [mine, other]: [&'static Guard; 2] = [(); 2].map(|()| guard().leak() as _);
    let hosts = Hosts::default();
    hosts.set(503, 200);
    for guard in [mine, other] {
        shut_out(guard, &hosts, "http://a.example/").await;
    }
    let client = mine.layer().layer(other.layer().layer(hosts.client()));
    let check = mine.health_check("/health").unwrap();
    tokio::spawn(check.run(client));
    sleep(12 * SECOND).await;
    assert!(hosts.seen().is_empty(), "rejected by the other guard");
    for guard in [mine, other] {
        assert_eq!(guard.hosts().state(&host("http://a.example")), State::Open);
    }
}
