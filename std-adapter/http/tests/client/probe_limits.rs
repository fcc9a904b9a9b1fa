// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time limit of a probe: a caller does not wait for a host that hangs as long as for one that works, and no
//! healthy host stays shut for that.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Config, Origin, RequestError, State,
    TokioClock,
};
use http::{Request, Response};
use tokio::time::{Instant, sleep};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::is_served;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HANGS: u64 = u64::MAX;

type Guard = &'static ClientGuard<TokioClock>;
type Client = ClientService<(), Response<ClientBody<String, Guard>>, io::Error>;

/// A host that takes that many milliseconds, and its client.
#[derive(Clone)]
struct Host {
    guard: Guard,
    takes_ms: Arc<AtomicU64>,
    client: Client,
}

impl Host {
    fn new(config: ClientConfig) -> Self {
        let guard: Guard = ClientGuard::with(config, TokioClock, ()).unwrap().leak();
        let takes_ms = Arc::new(AtomicU64::new(HANGS));
        let taking = Arc::clone(&takes_ms);
        let service = service_fn(move |_: Request<()>| {
            let time = taking.load(Relaxed);
            async move {
                match time {
                    HANGS => pending().await,
                    time => sleep(Duration::from_millis(time)).await,
                }
                Ok(Response::new(String::new()))
            }
        });
        let client = ServiceBuilder::new().layer(guard.layer()).service(service);
        Self {
            guard,
            takes_ms,
            client,
        }
    }

    fn take(&self, time: u64) {
        self.takes_ms.store(time, Relaxed);
    }

    fn state(&self) -> State {
        self.guard.hosts().state(&origin())
    }

    fn trip(&self) {
        self.guard
            .hosts()
            .command(&origin(), |host| host.trip())
            .unwrap();
    }

    /// Waits until a probe is due.
    async fn is_due(&self) {
        let entry = self.guard.hosts().entry(&origin()).unwrap();
        if entry.snapshot.state() == State::Open {
            sleep(entry.snapshot.retry_in().unwrap()).await;
        }
    }

    /// Makes a probe. Returns how long its caller waited, and whether it was served.
    async fn probe(&self) -> (Duration, bool) {
        self.is_due().await;
        let begun = Instant::now();
        let request = Request::get("http://a.example/").body(()).unwrap();
        let is_served = match self.client.clone().oneshot(request).await {
            Ok(_) => true,
            Err(RequestError::TryTimedOut) => false,
            Err(error) => panic!("{error}"),
        };
        (begun.elapsed(), is_served)
    }
}

fn origin() -> Origin {
    Origin::from_uri(&"http://a.example/".parse().unwrap()).unwrap()
}

fn plan() -> ClientConfig {
    ClientConfig::new().tries(1)
}

fn rules() -> Config {
    plan().breaker_config()
}

#[tokio::test(start_paused = true)]
async fn a_probe_of_a_host_that_hangs_ends_when_its_answer_would_be_slow() {
    let host = Host::new(plan());
    host.trip();
    for _ in 0..10 {
        assert_eq!(host.probe().await, (1_500 * MS, false));
        assert_eq!(host.state(), State::Open);
    }
    host.take(1_499);
    assert_eq!(host.probe().await, (1_499 * MS, true));
    assert!(is_served(host.state()));
    host.take(2_000);
    assert_eq!(host.probe().await, (2_000 * MS, true), "no probe");
}

/// Whatever says that late answers are good: the probe waits for them.
#[tokio::test(start_paused = true)]
async fn no_probe_ends_before_an_answer_that_would_count() {
    let of_rules = Host::new(plan().breaker(rules().slow_call(2_900 * MS)));
    let of_host = Host::new(plan());
    let own = rules().slow_call(2_900 * MS);
    of_host.guard.set_breaker_config_of(&origin(), own).unwrap();
    let later = Host::new(plan());
    later.guard.set_breaker_config(own).unwrap();
    let never = Host::new(plan().without_slow_limit());
    let at_end = Host::new(plan().at_end_of_body());
    for (number, host) in [of_rules, of_host, later, never, at_end].iter().enumerate() {
        host.trip();
        host.take(2_899);
        assert_eq!(host.probe().await, (2_899 * MS, true), "{number}");
        if number < 4 {
            assert!(is_served(host.state()), "{number}");
        }
    }
}

/// Its answer does not count, but its caller has it.
#[tokio::test(start_paused = true)]
async fn a_probe_whose_answer_is_slow_early_has_half_of_a_try() {
    let host = Host::new(plan().breaker(rules().slow_call(200 * MS)));
    host.trip();
    host.take(1_000);
    assert_eq!(host.probe().await, (SECOND, true));
    assert_eq!(host.state(), State::Open);
    host.take(HANGS);
    assert_eq!(host.probe().await, (1_500 * MS, false));
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_probes_doubles_and_the_fourth_has_that_of_a_try() {
    let plan = plan().probe_limit(200 * MS);
    for (plan, fourth) in [(plan, 1_500 * MS), (plan.without_slow_limit(), 3 * SECOND)] {
        let host = Host::new(plan);
        host.trip();
        for limit in [200 * MS, 400 * MS, 800 * MS, fourth, fourth] {
            assert_eq!(host.probe().await, (limit, false));
        }
    }
}

/// Healthy, and slower than the first three probes may be: the open times in between are all that it costs.
#[tokio::test(start_paused = true)]
async fn a_host_that_is_slower_than_its_first_probes_is_served_again() {
    for takes in [100, 300, 700, 1_500, 2_900] {
        let host = Host::new(plan().without_slow_limit().probe_limit(200 * MS));
        host.trip();
        host.take(takes);
        let begun = Instant::now();
        let mut probes = 1;
        while !host.probe().await.1 {
            probes += 1;
        }
        assert!(is_served(host.state()), "{takes}");
        assert!(probes <= 4, "{takes}: {probes}");
        // 1, 2, 4 and 8 s with a fifth, and the probes.
        assert!(begun.elapsed() <= 23 * SECOND, "{takes}");
    }
}

/// Calls pass as if there were no breaker.
#[tokio::test(start_paused = true)]
async fn in_shadow_mode_a_probe_has_the_limit_of_a_try() {
    let host = Host::new(plan().probe_limit(200 * MS));
    host.guard.hosts().enforcement().set_percent(0).unwrap();
    host.trip();
    host.take(2_000);
    assert_eq!(host.probe().await, (2_000 * MS, true));
}
