// SPDX-License-Identifier: MIT OR Apache-2.0
//! A layer below the guard that repairs within a probe: its time is none of the host.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Config, Origin, Probe, State, TokioClock,
};
use http::{Request, Response};
use tokio::time::{Instant, sleep};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::is_served;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

type Guard = &'static ClientGuard<TokioClock>;
type Client = ClientService<(), Response<ClientBody<String, Guard>>, io::Error>;

/// Of the preset with one try: 3 s for a try, 1.5 s for a probe, slow after 1.5 s.
fn guard() -> Guard {
    let rules = Config::new().consecutive_failures(1);
    let config = ClientConfig::new().tries(1).breaker(rules);
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

fn open(guard: Guard) {
    let probe = |host: &_| -> io::Result<()> {
        let command = guard
            .hosts()
            .command(host, |host| (host.trip(), host.probe_now()));
        command.map(drop).map_err(io::Error::other)
    };
    probe(&host()).unwrap();
}

fn host() -> Origin {
    Origin::from_uri(&"http://a.example".parse().unwrap()).unwrap()
}

fn get() -> Request<()> {
    Request::get("http://a.example/").body(()).unwrap()
}

/// Repairs for so long within a probe, as often as said; the host then takes its time.
#[derive(Clone, Copy)]
struct Repairs {
    repair: Duration,
    times: u32,
    host: Duration,
}

impl Repairs {
    fn below(self, guard: Guard) -> Client {
        let service = service_fn(move |request: Request<()>| async move {
            if let Some(probe) = request.extensions().get::<Probe>() {
                for _ in 0..self.times {
                    probe.repair(sleep(self.repair)).await;
                }
            }
            sleep(self.host).await;
            Ok(Response::new(String::new()))
        });
        ServiceBuilder::new().layer(guard.layer()).service(service)
    }

    /// Returns whether the host is served after the probe, and the time that its caller waited.
    async fn probe(self) -> (bool, Duration) {
        let guard = guard();
        let client = self.below(guard);
        open(guard);
        let begun = Instant::now();
        let answer = client.oneshot(get()).await;
        let is_served = is_served(guard.hosts().state(&host()));
        assert_eq!(answer.is_ok(), is_served);
        (is_served, begun.elapsed())
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_repair_takes_longer_than_half_a_try_is_served_again() {
    for (repair, host) in [(100, 100), (1_600, 100), (2_900, 100), (2_900, 1_400)] {
        let (repair, host) = (ms(repair), ms(host));
        let of = Repairs {
            repair,
            times: 1,
            host,
        };
        assert_eq!(of.probe().await, (true, repair + host));
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_repair_the_host_has_the_time_of_a_probe_and_no_more() {
    let of = Repairs {
        repair: ms(1_000),
        times: 1,
        host: ms(1_600),
    };
    let (is_served, took) = of.probe().await;
    assert!(
        !is_served && took >= ms(2_500) && took < ms(2_510),
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_repair_that_hangs_ends_with_the_limit_of_a_try() {
    let of = Repairs {
        repair: ms(3_600_000),
        times: 1,
        host: ms(0),
    };
    let (is_served, took) = of.probe().await;
    assert!(
        !is_served && took >= ms(3_000) && took < ms(3_010),
        "{took:?}"
    );
}

/// Or a layer could go on for ever.
#[tokio::test(start_paused = true)]
async fn of_several_repairs_the_first_has_time_of_its_own() {
    let of = Repairs {
        repair: ms(1_000),
        times: 9,
        host: ms(0),
    };
    let (is_served, took) = of.probe().await;
    assert!(
        !is_served && took >= ms(2_500) && took < ms(2_510),
        "{took:?}"
    );
}

/// A queue or a task between the guard and the layer.
#[tokio::test(start_paused = true)]
async fn a_repair_in_another_task_is_as_good() {
    let guard = guard();
    let service = service_fn(|request: Request<()>| async move {
        let called = tokio::spawn(async move {
            let probe = request.extensions().get::<Probe>().unwrap();
            probe.repair(sleep(ms(2_000))).await;
            sleep(ms(1_000)).await;
        });
        called.await.map_err(io::Error::other)?;
        Ok::<_, io::Error>(Response::new(String::new()))
    });
    let client = ServiceBuilder::new().layer(guard.layer()).service(service);
    open(guard);
    assert!(client.oneshot(get()).await.is_ok());
    assert!(is_served(guard.hosts().state(&host())));
}

/// Its caller has left, and so has the permit, into a task.
#[tokio::test(start_paused = true)]
async fn a_repair_goes_on_when_its_caller_leaves() {
    let guard = guard();
    let client = Repairs {
        repair: ms(2_000),
        times: 1,
        host: ms(100),
    }
    .below(guard);
    open(guard);
    let left = tokio::time::timeout(ms(10), client.oneshot(get())).await;
    assert!(left.is_err());
    sleep(ms(2_080)).await;
    assert_eq!(guard.hosts().state(&host()), State::HalfOpen);
    sleep(ms(20)).await;
    assert!(is_served(guard.hosts().state(&host())));
}

/// With two guards in a stack, a repair is within the probes of both.
#[tokio::test(start_paused = true)]
async fn a_repair_below_two_guards_is_the_time_of_neither_host() {
    let (outer, inner) = (guard(), guard());
    let client = Repairs {
        repair: ms(2_000),
        times: 1,
        host: ms(100),
    }
    .below(inner);
    let client = client.map_response(|_| Response::new(String::new()));
    let client = client.map_err(io::Error::other);
    let client = ServiceBuilder::new().layer(outer.layer()).service(client);
    open(outer);
    open(inner);
    assert!(client.oneshot(get()).await.is_ok());
    for guard in [outer, inner] {
        assert!(is_served(guard.hosts().state(&host())));
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_repair_is_the_failure_of_its_probe() {
    let guard = guard();
    let service = service_fn(|request: Request<()>| async move {
        let probe = request.extensions().get::<Probe>().unwrap();
        probe.repair(async { panic!("no token") }).await;
        Ok::<_, io::Error>(Response::new(String::new()))
    });
    let client = ServiceBuilder::new().layer(guard.layer()).service(service);
    open(guard);
    assert!(
        tokio::spawn(client.oneshot(get()))
            .await
            .unwrap_err()
            .is_panic()
    );
    assert_eq!(guard.hosts().state(&host()), State::Open);
}

/// A layer may give a repair up, and call the host nevertheless.
#[tokio::test(start_paused = true)]
async fn a_repair_that_is_dropped_is_over() {
    let (guard, given_up) = (guard(), Arc::new(AtomicBool::new(false)));
    let (calls, seen) = (Arc::new(AtomicU32::new(0)), Arc::clone(&given_up));
    let counted = Arc::clone(&calls);
    let service = service_fn(move |request: Request<()>| {
        let (seen, counted) = (Arc::clone(&seen), Arc::clone(&counted));
        async move {
            counted.fetch_add(1, Relaxed);
            let probe = request.extensions().get::<Probe>().unwrap();
            let repair = probe.repair(pending::<()>());
            seen.store(
                tokio::time::timeout(ms(2_000), repair).await.is_err(),
                Relaxed,
            );
            sleep(ms(1_000)).await;
            Ok::<_, io::Error>(Response::new(String::new()))
        }
    });
    let client = ServiceBuilder::new().layer(guard.layer()).service(service);
    open(guard);
    assert!(client.oneshot(get()).await.is_ok());
    assert!(given_up.load(Relaxed) && calls.load(Relaxed) == 1);
    assert!(is_served(guard.hosts().state(&host())));
}
