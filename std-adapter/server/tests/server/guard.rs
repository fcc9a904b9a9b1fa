// SPDX-License-Identifier: MIT OR Apache-2.0
//! One surface of calls: by a reference to a resource, by a key, in generic code, from an `Arc`, in spawned tasks.

use std::future::Future;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use atomic_breaker_server::{
    AnyError, AnyPermit, Breaker, Config, Failure, Guard, GuardPermit, KeyGuard, ManualClock,
    Outcome, Registry, Repairing, Resource, Retry, ServiceError, State, Timed, TokioClock, breaker,
};

static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
static HOSTS: LazyLock<Registry<&str>> =
    LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));

type Words = Result<&'static str, &'static str>;

/// All nine, with results that borrow.
async fn all_calls<G: Guard>(guard: G) {
    guard.clone().acquire().unwrap().report(Outcome::Success);
    drop(guard.clone().acquire_when_ready().await);
    let answer = || Words::Ok("paid");
    assert_eq!(guard.clone().call(answer), Ok("paid"));
    assert_eq!(guard.clone().call_with(AnyError, answer), Ok("paid"));
    let answer = async || Words::Ok("paid");
    assert_eq!(guard.clone().call_async(answer).await, Ok("paid"));
    let ignore = |_: &Words| Outcome::Ignored;
    let call = guard.clone().call_async_with(ignore, answer);
    assert_eq!(call.await, Ok("paid"));
    let slow = std::future::pending::<Words>;
    let call = guard.clone().call_timeout(Duration::ZERO, slow);
    assert_eq!(call.await, Err(ServiceError::Failed(Timed::TimedOut)));
    let call = guard.clone().retry(Retry::new(), answer);
    assert_eq!(call.await, Ok("paid"));
    let call = guard.retry_with(ignore, Retry::new(), answer);
    assert_eq!(call.await, Ok("paid"));
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[tokio::test]
async fn generic_code_takes_a_resource_and_keys() {
    let (payments, hosts) = (Resource::new(breaker(Config::new())), &*HOSTS);
    let owned = Arc::new(Registry::new(Config::new()).unwrap());
    all_calls(&payments).await;
    all_calls(hosts.of("a.example")).await;
    all_calls(KeyGuard::new(Arc::clone(&owned), "a.example".to_owned())).await;
}

#[tokio::test]
async fn spawned_futures_may_hold_results_that_borrow() {
    let text = "paid".to_owned();
    let answer = async || Ok::<_, &str>(text.as_str());
    let fails = async || if text.is_empty() { Ok(()) } else { Err("down") };
    let host = HOSTS.of("b.example");
    assert_eq!(is_send(PAYMENTS.call_async(answer)).await, Ok("paid"));
    assert_eq!(is_send(host.call_async(answer)).await, Ok("paid"));
    drop(is_send(PAYMENTS.call_async_with(AnyError, fails)).await);
    drop(is_send(PAYMENTS.call_timeout(Duration::MAX, answer)).await);
    drop(is_send(host.call_timeout(Duration::MAX, answer)).await);
    drop(is_send(async { PAYMENTS.retry(Retry::new(), answer).await }).await);
    let permit = PAYMENTS.acquire().unwrap();
    let _ = is_send(permit.run_async(AnyError, answer)).await;
    let shared = Arc::new((Resource::new(breaker(Config::new())), text.clone()));
    let calls = tokio::spawn(async move {
        let text = &shared.1;
        let outcome = |_: &Result<&str, &str>| Outcome::Success;
        drop(
            shared
                .0
                .call_async(async || Ok::<_, &str>(text.as_str()))
                .await,
        );
        let call = shared.0.call_async_with(outcome, async || Err("down"));
        drop(call.await);
        let call = shared
            .0
            .retry(Retry::new(), async || Ok::<_, &str>(text.as_str()));
        call.await.is_ok()
    });
    assert!(calls.await.unwrap());
}

/// A field that is shared stays in its place: the calls borrow it.
#[tokio::test]
async fn an_arc_is_borrowed_and_a_permit_may_own_it() {
    struct Service {
        payments: Arc<Resource>,
        hosts: Arc<Registry<String>>,
    }
    let service = Service {
        payments: Arc::new(Resource::new(breaker(
            Config::new().consecutive_failures(1),
        ))),
        hosts: Arc::new(Registry::new(Config::new()).unwrap()),
    };
    for _ in 0..2 {
        assert_eq!(service.payments.call(|| Words::Ok("paid")), Ok("paid"));
        let host = service.hosts.of("a.example".to_owned());
        assert!(host.call_async(async || Words::Ok("paid")).await.is_ok());
    }
    let permit = GuardPermit::acquire(Arc::clone(&service.payments)).unwrap();
    let report = move || permit.report(Failure::new().into());
    std::thread::spawn(report).join().unwrap();
    assert_eq!(service.payments.breaker().state(), State::Open);
    let key = KeyGuard::new(Arc::clone(&service.hosts), "a.example".to_owned());
    let call = tokio::spawn(async move { key.call_async(async || Words::Err("down")).await });
    assert_eq!(call.await.unwrap(), Err(ServiceError::Failed("down")));
}

/// The trips that permits and retries are given, once while closed and once as the second probe of an outage.
async fn told<G: Guard>(guard: G, is_second_probe: impl Fn()) -> [u8; 4] {
    let mut told = [0; 4];
    for is_probe in [false, true] {
        let begin = || is_probe.then(&is_second_probe);
        begin();
        let permit = guard.clone().acquire().unwrap();
        told[usize::from(is_probe)] = permit.trips();
        permit.report(Outcome::Success);
        begin();
        let seen = Mutex::new(0);
        let repaired = async |trips: u8| {
            *seen.lock().unwrap() = trips;
            Words::Ok("repaired")
        };
        let call = guard.clone().retry(Retry::new(), Repairing(repaired));
        assert_eq!(call.await, Ok("repaired"));
        told[2 + usize::from(is_probe)] = seen.into_inner().unwrap();
    }
    told
}

#[tokio::test]
async fn permits_and_retries_of_a_guard_know_the_trips_of_a_probe() {
    let (clock, seen) = (ManualClock::new(), [0, 2, 0, 2]);
    let config = Config::new().open_for(Duration::from_secs(1));
    let payments = Resource::new(Breaker::new(config, &clock));
    let second_probe = || {
        for _ in 0..2 {
            payments.breaker().trip();
            payments.breaker().probe_now();
        }
    };
    assert_eq!(told(&payments, second_probe).await, seen);

    let hosts = Registry::<&str, _>::builder(config);
    let hosts = hosts.clock(&clock).build().unwrap();
    let second_probe = || {
        for _ in 0..2 {
            hosts
                .command(&"a.example", |breaker| breaker.trip())
                .unwrap();
            hosts
                .command(&"a.example", |breaker| breaker.probe_now())
                .unwrap();
        }
    };
    assert_eq!(told(hosts.of("a.example"), second_probe).await, seen);
}

#[tokio::test]
async fn a_retry_that_repairs_can_be_spawned() {
    let repair = |trips: u8| async move { if trips > 0 { Err("down") } else { Ok("paid") } };
    let call = HOSTS.of("c.example").retry(Retry::new(), Repairing(repair));
    assert_eq!(is_send(call).await, Ok("paid"));
}

/// The resource is well, and each repair takes longer than a slow call.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_repair_in_a_retry_does_not_make_its_probe_slow() {
    let second = Duration::from_secs(1);
    let rules = Config::new().open_for(second).slow_call(second / 2);
    let server = Resource::new(Breaker::new(rules, TokioClock));
    let hosts = Registry::builder(rules).clock(TokioClock).build().unwrap();
    let repair = |trips: u8| async move {
        if trips > 0 {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        Ok::<_, &str>("paid")
    };
    server.breaker().trip();
    hosts.command(&7, |host| host.trip()).unwrap();
    tokio::time::sleep(second).await;
    assert_eq!(
        server.retry(Retry::new(), Repairing(repair)).await,
        Ok("paid")
    );
    assert_eq!(server.breaker().state(), State::Closed);
    let of_key = hosts.of(7).retry(Retry::new(), Repairing(repair));
    assert_eq!(of_key.await, Ok("paid"));
    assert_eq!(hosts.state(&7), State::Closed);
}

#[test]
fn a_permit_of_a_resource_counts_until_the_state_changes() {
    let clock = ManualClock::new();
    let config = Config::new().open_for(Duration::from_secs(10));
    let server = Resource::new(Breaker::new(config, &clock));
    let late = server.acquire().unwrap();
    assert!(late.still_counts());
    server.breaker().trip();
    assert!(!late.still_counts());
    server.enforcement().set_percent(0).unwrap();
    assert!(!server.acquire().unwrap().still_counts(), "shadow mode");
    clock.advance(Duration::from_secs(10));
    let probe = server.acquire().unwrap();
    assert!(probe.is_probe() && probe.still_counts());
    assert_eq!(
        server.breaker().snapshot().probes_in_flight(),
        1,
        "it was only asked"
    );
}
