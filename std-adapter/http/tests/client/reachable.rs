// SPDX-License-Identifier: MIT OR Apache-2.0
//! Minimums that a host which hangs never reaches.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use atomic_breaker_http::{ClientConfig, ClientGuard, Origin, Ratio, State, TokioClock};
use http::{Request, Response, Uri};
use tokio::task::JoinSet;
use tower::{ServiceBuilder, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

fn fault(config: ClientConfig) -> String {
    config.check().unwrap_err().to_string()
}

/// 160 of 160 calls were wasted: each hung, and the minimum of a window was never reached.
#[test]
fn a_minimum_that_a_host_that_hangs_never_reaches_is_an_error() {
    let config = ClientConfig::new().in_flight_limit(4);
    let rules = config.breaker_config();
    let ratio = |calls| Ratio::percent(10).within(30 * SECOND).min_calls(calls);
    let only = |calls| config.breaker(rules.tally_only().failure_ratio(ratio(calls)));
    assert_eq!(
        fault(only(41)),
        "a host that hangs would never open its breaker: of at most 4 tries in flight, each of which takes 3s, no more \
         than 40 end within 30s, fewer than the min_calls of failure_ratio, 41: set consecutive_failures, or a lower number"
    );
    assert_eq!(only(40).check(), Ok(()));
    let beside = rules.failure_ratio(ratio(41));
    assert_eq!(config.breaker(beside).check(), Ok(()), "a row beside it");
    let within = |failures| rules.failures_within(failures, 30 * SECOND);
    assert!(
        fault(config.breaker(within(41).failure_ratio(ratio(41)))).contains("failures_within, 41")
    );
    for either in [
        within(40).failure_ratio(ratio(41)),
        within(41).failure_ratio(ratio(40)),
    ] {
        assert_eq!(config.breaker(either).check(), Ok(()));
    }
    let unknown = ClientConfig::new().breaker(rules.tally_only().failure_ratio(ratio(41)));
    assert_eq!(unknown.check(), Ok(()), "any number may be in flight");
}

/// As many as the check allows do open it.
#[tokio::test(start_paused = true)]
async fn a_minimum_that_is_allowed_is_reached_by_a_host_that_hangs() {
    let ratio = Ratio::percent(10).within(30 * SECOND).min_calls(40);
    let config = ClientConfig::new().tries(1).in_flight_limit(4);
    let rules = config.breaker_config().tally_only().failure_ratio(ratio);
    let guard: &ClientGuard<TokioClock> = ClientGuard::with(config.breaker(rules), TokioClock, ())
        .unwrap()
        .leak();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(|_: Request<()>| {
            pending::<Result<Response<String>, Infallible>>()
        }));
    let mut calls = JoinSet::new();
    for _ in 0..4 {
        let client = client.clone();
        calls.spawn(async move {
            let get = || Request::get("http://a.example").body(()).unwrap();
            for _ in 0..12 {
                client.clone().oneshot(get()).await.unwrap_err();
            }
        });
    }
    calls.join_all().await;
    let host = Origin::from_uri(&Uri::from_static("http://a.example")).unwrap();
    assert_eq!(
        guard.hosts().entry(&host).unwrap().snapshot.entered(),
        State::Open
    );
}
