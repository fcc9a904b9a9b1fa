// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that leave before their host has answered, over hours.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Origin, State, TokioClock,
};
use http::{Request, Response, Uri};
use tokio::time::{Instant, sleep, timeout};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::{five_in_a_row, is_served};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
/// Shorter than the host takes, longer than the `cancel_limit` of the rules.
const PATIENCE: Duration = Duration::from_millis(300);
/// An open time is at most 30 s and a fifth; then a probe takes no longer than its limit.
const BACK: Duration = Duration::from_secs(36 + 3 + 1);

type Guard = &'static ClientGuard<TokioClock>;

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

/// A host that takes that many milliseconds, or hangs with [`HANGS`]; counts what reaches it.
#[derive(Clone, Default)]
struct Host {
    takes_ms: Arc<AtomicU64>,
    calls: Arc<AtomicU32>,
    at_once: Arc<AtomicU32>,
    most_at_once: Arc<AtomicU32>,
}

const HANGS: u64 = u64::MAX;

impl Host {
    fn taking(time: Duration) -> Self {
        let host = Self::default();
        host.take(time.as_millis() as u64);
        host
    }

    fn hanging() -> Self {
        let host = Self::default();
        host.take(HANGS);
        host
    }

    fn take(&self, ms: u64) {
        self.takes_ms.store(ms, Relaxed);
    }

    fn calls(&self) -> u32 {
        self.calls.swap(0, Relaxed)
    }

    async fn answer(self) -> io::Result<Response<String>> {
        struct Leaving<'a>(&'a Host);
        impl Drop for Leaving<'_> {
            fn drop(&mut self) {
                self.0.at_once.fetch_sub(1, Relaxed);
            }
        }
        self.calls.fetch_add(1, Relaxed);
        let at_once = self.at_once.fetch_add(1, Relaxed) + 1;
        self.most_at_once.fetch_max(at_once, Relaxed);
        let _leaving = Leaving(&self);
        match self.takes_ms.load(Relaxed) {
            HANGS => pending().await,
            ms => sleep(Duration::from_millis(ms)).await,
        }
        Ok(Response::new(String::new()))
    }

    fn behind(
        &self,
        guard: Guard,
    ) -> ClientService<(), Response<ClientBody<String, Guard>>, io::Error> {
        let host = self.clone();
        ServiceBuilder::new()
            .layer(guard.layer())
            .service(service_fn(move |_| host.clone().answer()))
    }
}

fn get() -> Request<()> {
    Request::get("http://a.example/").body(()).unwrap()
}

fn origin() -> Origin {
    Origin::from_uri(&Uri::from_static("http://a.example/")).unwrap()
}

fn state(guard: Guard) -> State {
    guard.hosts().state(&origin())
}

/// The time for which it rejected calls, while a caller comes every tenth of a second and leaves after
/// `patience`.
async fn shut(guard: Guard, host: &Host, patience: Duration, time: Duration) -> Duration {
    let client = host.behind(guard);
    let (begin, mut shut) = (Instant::now(), Duration::ZERO);
    while begin.elapsed() < time {
        tokio::spawn(timeout(patience, client.clone().oneshot(get())));
        sleep(100 * MS).await;
        if !is_served(state(guard)) {
            shut += 100 * MS;
        }
    }
    shut
}

#[tokio::test(start_paused = true)]
async fn a_healthy_host_does_not_open_again_however_early_its_callers_leave() {
    for patience in [PATIENCE, 399 * MS, 10 * MS] {
        let (guard, host) = (guard(five_in_a_row()), Host::taking(400 * MS));
        guard
            .hosts()
            .command(&origin(), |host| host.trip())
            .unwrap();
        let shut = shut(guard, &host, patience, HOUR).await;
        // The open time, with a fifth; the probe; and the tenth of a second between two looks.
        assert!(shut <= 2 * SECOND, "{patience:?}: shut for {shut:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_hung_and_recovered_serves_again_although_all_callers_leave() {
    let (guard, host) = (guard(five_in_a_row()), Host::hanging());
    for round in 0..3 {
        host.take(HANGS);
        host.calls();
        let _ = shut(guard, &host, PATIENCE, HOUR).await;
        assert_ne!(state(guard), State::Closed, "round {round}");
        let calls = host.calls();
        // Ten calls a second; one that is open lets a probe through every half a minute or so.
        assert!(
            (5..250).contains(&calls),
            "{calls} of 36,000 calls reached it"
        );
        host.take(400);
        let shut = shut(guard, &host, PATIENCE, HOUR).await;
        assert!(shut <= BACK, "round {round}: shut for {shut:?}");
    }
}

/// Five failures open, so the fifth caller is the last one that reaches the host, whenever they come.
#[tokio::test(start_paused = true)]
async fn a_host_that_hangs_is_tripped_by_the_calls_of_five_callers_whenever_they_leave() {
    for pause in [Duration::ZERO, 50 * MS, SECOND, 60 * SECOND] {
        for patience in [MS, PATIENCE, SECOND, 2 * SECOND] {
            let (guard, host) = (guard(five_in_a_row()), Host::hanging());
            let client = host.behind(guard);
            for _ in 0..5 {
                let answer = timeout(patience, client.clone().oneshot(get()));
                assert!(answer.await.is_err());
                sleep(pause).await;
            }
            // The limit of a try after the last of them.
            sleep(3 * SECOND).await;
            assert_ne!(state(guard), State::Closed, "{patience:?}, every {pause:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn few_calls_of_very_many_callers_that_leave_go_on_and_those_trip() {
    let (guard, host) = (guard(five_in_a_row()), Host::hanging());
    let client = host.behind(guard);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        callers.spawn(timeout(PATIENCE, client.clone().oneshot(get())));
    }
    callers.join_all().await;
    assert_eq!(host.at_once.load(Relaxed), 32);
    sleep(3 * SECOND).await;
    assert_eq!((host.at_once.load(Relaxed), state(guard)), (0, State::Open));
}

#[tokio::test(start_paused = true)]
async fn where_no_try_may_outlive_its_caller_an_abandoned_one_is_cancelled() {
    let config = five_in_a_row().outliving(0);
    let (guard, host) = (guard(config), Host::hanging());
    let client = host.behind(guard);
    for _ in 0..100 {
        assert!(
            timeout(PATIENCE, client.clone().oneshot(get()))
                .await
                .is_err()
        );
        assert_eq!(host.at_once.load(Relaxed), 0);
    }
    assert_eq!(state(guard), State::Closed);
}

/// A panic in an abandoned try is a failure like any other.
#[tokio::test(start_paused = true)]
async fn a_try_that_panics_after_its_caller_has_left_has_failed() {
    let guard = guard(five_in_a_row());
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(|_: Request<()>| async {
            sleep(SECOND).await;
            panic!("on purpose") as io::Result<Response<String>>
        }));
    for _ in 0..5 {
        assert!(
            timeout(PATIENCE, client.clone().oneshot(get()))
                .await
                .is_err()
        );
    }
    sleep(SECOND).await;
    assert_eq!(state(guard), State::Open);
}

/// It never began: nothing is sent behind the caller's back, and another call can be the probe.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_before_its_first_poll_is_not_sent() {
    let (guard, host) = (guard(five_in_a_row()), Host::taking(MS));
    let mut client = host.behind(guard);
    for is_probe in [false, true] {
        if is_probe {
            let probed = guard.hosts().command(&origin(), |host| {
                host.trip();
                host.probe_now()
            });
            assert!(probed.unwrap().is_some());
        }
        drop(client.call(get()));
        sleep(SECOND).await;
        assert_eq!(host.calls(), 0, "a probe: {is_probe}");
    }
    assert!(client.oneshot(get()).await.is_ok());
    assert!(is_served(state(guard)));
}

/// A future may be dropped anywhere: by a thread that shuts down, or where its join handle was kept.
#[test]
fn a_try_that_is_dropped_in_a_thread_without_a_runtime_goes_on() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = five_in_a_row().try_limit(100 * MS);
    let guard: &'static ClientGuard = ClientGuard::new(config).unwrap().leak();
    let host = Host::hanging();
    let client = {
        let host = host.clone();
        ServiceBuilder::new()
            .layer(guard.layer())
            .service(service_fn(move |_| host.clone().answer()))
    };
    for other_runtime in [false, true, false, true, false] {
        let request = client.clone().oneshot(get());
        let mut abandoned = Box::pin(request);
        let left = runtime.block_on(async { timeout(10 * MS, &mut abandoned).await.is_err() });
        assert!(left);
        if other_runtime {
            let ends = tokio::runtime::Builder::new_current_thread().build();
            ends.unwrap().block_on(async { drop(abandoned) });
        } else {
            drop(abandoned);
        }
    }
    let until = std::time::Instant::now() + 30 * SECOND;
    while guard.hosts().state(&origin()) == State::Closed {
        assert!(std::time::Instant::now() < until, "they did not go on");
        std::thread::sleep(10 * MS);
    }
}

#[test]
fn a_runtime_that_ends_takes_its_tries_along_and_cancels_them() {
    let guard: &'static ClientGuard = ClientGuard::new(five_in_a_row()).unwrap().leak();
    let host = Host::hanging();
    let client = {
        let host = host.clone();
        ServiceBuilder::new()
            .layer(guard.layer())
            .service(service_fn(move |_| host.clone().answer()))
    };
    guard
        .hosts()
        .command(&origin(), |host| host.trip())
        .unwrap();
    let probed = guard.hosts().command(&origin(), |host| host.probe_now());
    assert!(probed.unwrap().is_some());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.spawn(client.clone().oneshot(get()));
    let until = std::time::Instant::now() + 30 * SECOND;
    while host.at_once.load(Relaxed) == 0 {
        assert!(std::time::Instant::now() < until, "it did not begin");
        std::thread::sleep(MS);
    }
    drop(runtime);
    assert_eq!(host.at_once.load(Relaxed), 0);
    // The slot is free, unless the machine took longer than the cancel limit: then it is open again.
    host.take(1);
    let another = tokio::runtime::Runtime::new().unwrap();
    while another.block_on(client.clone().oneshot(get())).is_err() {
        assert!(std::time::Instant::now() < until, "the probe is lost");
        std::thread::sleep(10 * MS);
    }
}
