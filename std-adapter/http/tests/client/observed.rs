// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers of tries that failed, with their hosts: also of those whose caller has left.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Config, Failure, OnRetry, Origin,
    Outcome, TokioClock, TryEvent,
};
use atomic_breaker_server::RetryEvent::{self, Cancelled, NoTryLeft, Recovered, Sent};
use http::{Request, Response};
use tokio::time::{sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const MS: Duration = Duration::from_millis(1);

type Guard = &'static ClientGuard<TokioClock>;
type Client = ClientService<(), Response<ClientBody<String, Guard>>, io::Error>;
type Seen = Arc<Mutex<Vec<(String, TryEvent)>>>;

/// A guard that opens no breaker, and what its observer was notified of.
fn guard(config: ClientConfig) -> (Guard, Seen) {
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    let observer = OnRetry(move |host: &Origin, event: &TryEvent| {
        noted.lock().unwrap().push((host.to_string(), *event));
    });
    let config = config.breaker(Config::new().consecutive_failures(60_000));
    let guard = ClientGuard::with(config, TokioClock, ()).unwrap();
    (guard.retry_observer(observer).leak(), seen)
}

fn events(seen: &Seen) -> Vec<(u32, RetryEvent)> {
    let seen = seen.lock().unwrap();
    let events = seen.iter().map(|(_, event)| (event.number, event.event));
    events.collect()
}

/// A client of a host that takes a tenth of a second, and then answers with each of these statuses in turn.
fn client(guard: Guard, statuses: &[u16]) -> Client {
    let left = Arc::new(Mutex::new(statuses.to_vec()));
    let service = service_fn(move |_: Request<()>| {
        let status = left.lock().unwrap().remove(0);
        async move {
            sleep(100 * MS).await;
            let response = Response::builder().status(status).body(String::new());
            response.map_err(io::Error::other)
        }
    });
    ServiceBuilder::new().layer(guard.layer()).service(service)
}

fn get() -> Request<()> {
    Request::get("http://a.example/").body(()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_failed_try_is_told_with_its_host() {
    let (guard, seen) = guard(ClientConfig::new());
    let answer = client(guard, &[503, 429, 200]).oneshot(get()).await;
    assert_eq!(answer.unwrap().status(), 200);
    assert_eq!(events(&seen), [(1, Sent), (2, Sent), (3, Recovered)]);
    let seen = seen.lock().unwrap();
    for (host, event) in seen.iter() {
        assert_eq!(host, "http://a.example");
        assert!(
            (97_000..100_000).contains(&event.millitokens.expect("a budget")),
            "{event:?}"
        );
    }
    assert_eq!(seen[0].1.outcome, Outcome::from(Failure::new()));
    assert!(!seen[0].1.pause.is_zero());
}

/// As often as it is counted.
#[tokio::test(start_paused = true)]
async fn a_try_that_fails_when_its_caller_has_left_is_told_once() {
    for (statuses, leaves_after, expected) in [
        (&[503][..], 50, vec![(1, Cancelled)]),
        (&[200], 50, vec![]),
        // In the second try, after a pause of at most a tenth of a second; or in the pause.
        (&[503, 503], 10_000, vec![(1, Sent), (2, NoTryLeft)]),
        (&[429], 50, vec![(1, Cancelled)]),
        (&[404], 50, vec![]),
    ] {
        let (guard, seen) = guard(ClientConfig::new().tries(2));
        let call = client(guard, statuses).oneshot(get());
        let _ = timeout(leaves_after * MS, call).await;
        sleep(10_000 * MS).await;
        assert_eq!(events(&seen), expected, "{statuses:?}");
        let counts = guard.retries();
        for event in RetryEvent::ALL {
            let told = expected.iter().filter(|(_, told)| *told == event).count();
            assert_eq!(counts.of(event), told as u64, "{event}");
        }
    }
    // Retries are not wanted.
    let (guard, seen) = guard(ClientConfig::new().tries(1));
    let _ = timeout(50 * MS, client(guard, &[503]).oneshot(get())).await;
    sleep(10_000 * MS).await;
    assert_eq!(events(&seen), []);
}

/// Whenever the caller leaves: before a try has failed, in a pause, in the next try, or not at all.
#[tokio::test(start_paused = true)]
async fn each_failed_try_is_told_once_whenever_its_caller_leaves() {
    for leaves_after in 0..70 {
        let (guard, seen) = guard(ClientConfig::new());
        let call = client(guard, &[503; 3]).oneshot(get());
        let _ = timeout((leaves_after * 10 + 5) * MS, call).await;
        sleep(10_000 * MS).await;
        let events = events(&seen);
        let (last, before) = events.split_last().unwrap();
        assert!(before.iter().all(|(_, event)| *event == Sent), "{events:?}");
        assert!(matches!(last.1, Cancelled | NoTryLeft), "{events:?}");
        let numbers: Vec<_> = events.iter().map(|(number, _)| *number).collect();
        let expected: Vec<_> = (1..=events.len() as u32).collect();
        assert_eq!(numbers, expected);
    }
}

/// The outer guard's try has left, the inner one's has not: its caller is the outer try.
#[tokio::test(start_paused = true)]
async fn of_two_guards_each_tells_what_concerns_its_own_callers() {
    let ((outer, of_outer), (inner, of_inner)) = (
        guard(ClientConfig::new()),
        guard(ClientConfig::new().tries(2)),
    );
    let below = client(inner, &[503, 503]);
    let below = below.map_response(|response| response.map(|_| String::new()));
    let below = below.map_err(io::Error::other);
    let client = ServiceBuilder::new().layer(outer.layer()).service(below);
    assert!(timeout(50 * MS, client.oneshot(get())).await.is_err());
    sleep(10_000 * MS).await;
    assert_eq!(events(&of_outer), [(1, Cancelled)]);
    assert_eq!(events(&of_inner), [(1, Sent), (2, NoTryLeft)]);
}
