// SPDX-License-Identifier: MIT OR Apache-2.0
//! Days with a host that fails and recovers in many ways, and callers of any patience: it trips while it fails, and
//! serves soon after. Seeds are random and printed.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Config, Origin, TokioClock,
};
use http::{Method, Request, Response, StatusCode, Uri};
use tokio::time::{Instant, sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::{five_in_a_row, is_served};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

type Guard = &'static ClientGuard<TokioClock>;

#[derive(Clone, Copy, Debug)]
enum Ill {
    Hangs,
    Refuses,
    Answers(u16),
    /// 503, with a `Retry-After` of that many seconds.
    Asks(u32),
    /// Takes longer than what counts as slow.
    Slow(Duration),
}

#[derive(Default)]
struct Host {
    ill: Mutex<Option<Ill>>,
    takes_ms: AtomicU64,
    reached: AtomicU32,
    checked: AtomicU32,
}

impl Host {
    /// Whatever comes to its mind, whether it is well or not.
    async fn lie(self: Arc<Self>) -> io::Result<Response<String>> {
        self.checked.fetch_add(1, Relaxed);
        let mut response = Response::new(String::new());
        match fastrand::u32(0..8) {
            0 => return pending().await,
            1 => return Err(io::Error::other("refused")),
            2 => *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE,
            3 => sleep(fastrand::u32(..6_000) * MS).await,
            _ => {}
        }
        Ok(response)
    }

    async fn answer(self: Arc<Self>) -> io::Result<Response<String>> {
        self.reached.fetch_add(1, Relaxed);
        let ill = *self.ill.lock().unwrap();
        let mut response = Response::new(String::new());
        match ill {
            None => sleep(Duration::from_millis(self.takes_ms.load(Relaxed))).await,
            Some(Ill::Hangs) => return pending().await,
            Some(Ill::Refuses) => return Err(io::Error::other("refused")),
            Some(Ill::Answers(status)) => {
                sleep(100 * MS).await;
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
            }
            Some(Ill::Asks(seconds)) => {
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response.headers_mut().insert("retry-after", seconds.into());
            }
            Some(Ill::Slow(time)) => sleep(time).await,
        }
        Ok(response)
    }
}

fn origin() -> Origin {
    Origin::from_uri(&Uri::from_static("http://a.example/")).unwrap()
}

/// The time for which a caller waits: anything from leaving at once to waiting for the deadline.
fn patience() -> Duration {
    Duration::from_millis(match fastrand::u32(0..4) {
        0 => fastrand::u64(0..50),
        1 => fastrand::u64(50..1_000),
        2 => fastrand::u64(1_000..5_000),
        _ => 11_000,
    })
}

fn request() -> Request<()> {
    let method = fastrand::choice([Method::GET, Method::POST]).unwrap();
    let request = Request::builder().method(method);
    request.uri("http://a.example/").body(()).unwrap()
}

/// Makes calls for that long. Returns how long after the start the host was last shut out, and how many patient
/// callers that came after `bound` were not served.
async fn call(
    client: &ClientService<(), Response<ClientBody<String, Guard>>, io::Error>,
    guard: Guard,
    time: Duration,
    bound: Duration,
) -> (Duration, u32) {
    let (begin, mut last) = (Instant::now(), Duration::ZERO);
    let unserved = Arc::new(AtomicU32::new(0));
    while begin.elapsed() < time {
        let (patience, late) = (patience(), begin.elapsed() > bound);
        let answer = timeout(patience, client.clone().oneshot(request()));
        let unserved = Arc::clone(&unserved);
        tokio::spawn(async move {
            let is_served = matches!(answer.await, Ok(Ok(response)) if response.status() == 200);
            let counts = late && patience > 10 * SECOND;
            unserved.fetch_add(u32::from(counts && !is_served), Relaxed);
        });
        sleep(fastrand::u32(1..1_000) * MS).await;
        if !is_served(guard.hosts().state(&origin())) {
            last = begin.elapsed();
        }
    }
    // All that began has ended.
    sleep(15 * SECOND).await;
    (last, unserved.load(Relaxed))
}

/// A repair that succeeds, fails, hangs or panics.
async fn repair(_: Arc<Origin>, trips: u8) -> io::Result<()> {
    assert!(trips > 0, "asked about a host that is well");
    match fastrand::u32(0..8) {
        0 => pending().await,
        1 => panic!("on purpose"),
        2 => Err(io::Error::other("beyond repair")),
        3 => {
            sleep(fastrand::u32(..6_000) * MS).await;
            Ok(())
        }
        _ => Ok(()),
    }
}

async fn days(rules: Config, bound: Duration) {
    days_beside(five_in_a_row().breaker(rules), bound, false).await;
}

/// With health checks that lie, whose repairs fail as well, the host is still not called often, and is served as soon.
async fn days_beside(config: ClientConfig, bound: Duration, has_lies: bool) {
    let seed = fastrand::u64(..);
    let rules = config.breaker_config();
    // As failures: a slow host that is called twice a second has too few calls for a share.
    let slow_ms = rules.slow_call_ms.unwrap_or(1_500);
    let config = config.breaker(rules.slow_call(slow_ms * MS));
    println!("seed {seed}, {config:?}");
    fastrand::seed(seed);
    let guard = ClientGuard::with(config, TokioClock, ()).unwrap().leak();
    let host = Arc::new(Host::default());
    let client = {
        let host = Arc::clone(&host);
        let service = service_fn(move |request: Request<()>| {
            let host = Arc::clone(&host);
            async move {
                match request.uri().path() {
                    "/health" => host.lie().await,
                    _ => host.answer().await,
                }
            }
        });
        ServiceBuilder::new().layer(guard.layer()).service(service)
    };
    if has_lies {
        let check = guard.health_check("/health").unwrap().every(SECOND);
        tokio::spawn(check.run_repairing(client.clone(), repair));
    }
    // That of a healthy host.
    let slowest = (slow_ms - 100) * MS;
    for round in 0..20 {
        let ill = match fastrand::u32(0..5) {
            0 => Ill::Hangs,
            1 => Ill::Refuses,
            2 => Ill::Answers(fastrand::choice([500, 502, 503, 504, 508, 520, 599]).unwrap()),
            3 => Ill::Asks(fastrand::u32(1..30)),
            _ => Ill::Slow(slowest + 600 * MS),
        };
        *host.ill.lock().unwrap() = Some(ill);
        host.reached.store(0, Relaxed);
        let minutes = fastrand::u32(1..20);
        let (last, _) = call(&client, guard, minutes * MINUTE, Duration::MAX).await;
        let reached = host.reached.load(Relaxed);
        // After a lie it is closed until it has failed again.
        let closed = if has_lies {
            25 * SECOND
        } else {
            Duration::ZERO
        };
        assert!(
            last + closed >= minutes * MINUTE,
            "{round}: {ill:?} did not trip"
        );
        // Those of the time until it trips, and with their retries; then a few probes for each open time; and those after
        // a lie, of which there are about six until there is one in a minute.
        let lies = if has_lies { 6 + minutes } else { 0 };
        assert!(
            reached >= 2 && reached <= 40 * (1 + lies) + 20 * minutes,
            "{round}: {reached} by {ill:?}"
        );
        let takes = fastrand::u32(1..1_000) * slowest / 1_000;
        host.takes_ms.store(takes.as_millis() as u64, Relaxed);
        *host.ill.lock().unwrap() = None;
        let (last, unserved) = call(&client, guard, 10 * MINUTE, bound).await;
        assert!(last <= bound, "{round}: shut for {last:?} after {ill:?}");
        assert_eq!(unserved, 0, "{round}: after {ill:?}");
    }
    assert_eq!(host.checked.load(Relaxed) > 0, has_lies);
}

/// An open time of half a minute and a fifth, a try of the last probe, a second without callers and one more.
const BACK: Duration = Duration::from_secs(36 + 3 + 2);

#[tokio::test(start_paused = true)]
async fn with_the_defaults() {
    days(five_in_a_row().breaker_config(), BACK).await;
}

#[tokio::test(start_paused = true)]
async fn with_several_probes() {
    let rules = five_in_a_row().breaker_config().probes(3).close_after(5);
    // Five successes, of tries of one and a half seconds, asked for by a caller a second at least.
    days(rules, BACK + 12 * SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn with_a_gradual_return() {
    let rules = five_in_a_row().breaker_config();
    days(rules.gradual_return(10, MINUTE), BACK + MINUTE + 2 * SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn with_failures_counted_within_a_time() {
    let rules = five_in_a_row().breaker_config();
    days(rules.failures_within(5, 10 * SECOND), BACK).await;
}

#[tokio::test(start_paused = true)]
async fn with_health_checks_that_lie_and_repairs_that_fail() {
    days_beside(five_in_a_row(), BACK, true).await;
}

/// A healthy host may take twenty times as long as its first probe may.
#[tokio::test(start_paused = true)]
async fn with_a_short_limit_of_probes_and_hosts_that_are_slow() {
    let rules = five_in_a_row().breaker_config().slow_call(2_400 * MS);
    let config = five_in_a_row().breaker(rules).probe_limit(115 * MS);
    days_beside(config, BACK, false).await;
}
