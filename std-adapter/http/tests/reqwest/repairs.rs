// SPDX-License-Identifier: MIT OR Apache-2.0
//! A middleware beneath the breaker that repairs within a probe: its time is none of the host.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, BreakerMiddleware, ClientConfig, ClientGuard, Config, Origin, Probe, State, TokioClock,
};
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next, Result};
use tokio::time::{Instant, sleep, timeout};

use super::server::reqwest;

const URL: &str = "http://a.example/";

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Repairs for so long within a probe, and answers after the time of a host.
#[derive(Clone, Default)]
struct Repairs {
    repair: Duration,
    host: Duration,
    /// The trips of each request, if it is a probe.
    trips: Arc<Mutex<Vec<Option<u8>>>>,
}

impl Repairs {
    fn new(repair: Duration, host: Duration) -> Self {
        Self {
            repair,
            host,
            ..Self::default()
        }
    }

    fn client(&self) -> ClientWithMiddleware {
        ClientBuilder::new(reqwest()).with(self.clone()).build()
    }
}

impl Middleware for Repairs {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        _: Request,
        extensions: &'b mut Extensions,
        _: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move {
            let probe = extensions.get::<Probe>().cloned();
            self.trips
                .lock()
                .unwrap()
                .push(probe.as_ref().map(Probe::trips));
            if let Some(probe) = probe {
                probe.repair(sleep(self.repair)).await;
            }
            sleep(self.host).await;
            Ok(http::Response::new("").into())
        })
    }
}

/// One breaker, half-open, whose calls are slow after half a second.
fn half_open() -> &'static Breaker<TokioClock> {
    let rules = Config::new().consecutive_failures(1).slow_call(ms(500));
    let breaker = Box::leak(Box::new(Breaker::new(rules, TokioClock)));
    breaker.trip();
    breaker.probe_now();
    breaker
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_repair_takes_longer_than_a_slow_call_is_served_again() {
    for (repair, host, state) in [
        (100, 100, State::Closed),
        (900, 100, State::Closed),
        (900, 400, State::Closed),
        (900, 600, State::Open),
    ] {
        let breaker = half_open();
        let repairs = Repairs::new(ms(repair), ms(host));
        let middleware = BreakerMiddleware::new(breaker, repairs.client());
        let middleware = middleware.time_limit(ms(1_000));
        let client = ClientBuilder::new(reqwest()).with(middleware).build();
        assert!(client.get(URL).send().await.is_ok());
        assert_eq!(breaker.state(), state, "{repair} ms, and then {host} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repair_and_the_call_after_it_have_a_limit_each() {
    for (repair, host, took) in [(3_600_000, 0, 1_000), (900, 3_600_000, 1_900)] {
        let breaker = half_open();
        let repairs = Repairs::new(ms(repair), ms(host));
        let middleware = BreakerMiddleware::new(breaker, repairs.client());
        let middleware = middleware.time_limit(ms(1_000));
        let client = ClientBuilder::new(reqwest()).with(middleware).build();
        let begun = Instant::now();
        assert!(client.get(URL).send().await.unwrap_err().is_timeout());
        let took = begun.elapsed().checked_sub(ms(took));
        assert!(took.is_some_and(|more| more < ms(10)), "{took:?}");
        assert_eq!(breaker.state(), State::Open);
    }
}

#[tokio::test(start_paused = true)]
async fn through_a_guard_as_well_and_when_its_caller_leaves() {
    let rules = Config::new().consecutive_failures(1);
    let config = ClientConfig::new().breaker(rules);
    let guard: &'static ClientGuard<TokioClock> =
        ClientGuard::with(config, TokioClock, ()).unwrap().leak();
    let host = Origin::from_uri(&URL.parse().unwrap()).unwrap();
    let repairs = Repairs::new(ms(2_500), ms(1_000));
    let client = ClientBuilder::new(reqwest())
        .with(guard.middleware(repairs.client()))
        .build();
    let open = || {
        let command = guard
            .hosts()
            .command(&host, |host| (host.trip(), host.probe_now()));
        command.map(drop).unwrap();
    };
    open();
    assert!(client.get(URL).send().await.is_ok());
    assert_eq!(guard.hosts().state(&host), State::Closed);
    open();
    assert!(timeout(ms(10), client.get(URL).send()).await.is_err());
    sleep(ms(3_500)).await;
    assert_eq!(guard.hosts().state(&host), State::Closed);
}

/// Retries above the breaker keep the extensions from try to try.
#[tokio::test(start_paused = true)]
async fn the_mark_of_a_probe_ends_with_it() {
    struct Twice;
    impl Middleware for Twice {
        fn handle<'a, 'b, 'c, 'd>(
            &'a self,
            request: Request,
            extensions: &'b mut Extensions,
            next: Next<'c>,
        ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
        where
            'a: 'd,
            'b: 'd,
            'c: 'd,
        {
            Box::pin(async move {
                let again = request.try_clone().unwrap();
                next.clone().run(again, extensions).await?;
                assert!(extensions.get::<Probe>().is_none());
                next.run(request, extensions).await
            })
        }
    }
    let repairs = Repairs::default();
    let client = ClientBuilder::new(reqwest())
        .with(Twice)
        .with(BreakerMiddleware::new(half_open(), repairs.client()))
        .build();
    assert!(client.get(URL).send().await.is_ok());
    assert_eq!(*repairs.trips.lock().unwrap(), [Some(1), None]);
}
