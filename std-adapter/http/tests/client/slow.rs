// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that answers too late.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, ClientConfig, ClientGuard, Config, KeyedObserver, Origin, State, TokioClock,
};
use atomic_breaker_server::{Present, Resource, Transition};
use atomic_breaker_tower::BreakerLayer;
use http::{Request, Response, Uri};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const RULES: Config = Config::new()
    .consecutive_failures(2)
    .slow_call(Duration::from_millis(1_500));
const SHOWN: &str = "too slow: took 2s, limit 1.5s";

/// "200 OK", after two seconds.
async fn answer<Q>(_: Q) -> Result<Response<String>, Infallible> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(Response::new(String::new()))
}

/// The events that logs and pages are notified of.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl KeyedObserver<Origin> for Told {
    fn opened(&self, _: &Origin, _: &Transition, _: Present<'_>, words: &str) {
        self.0.lock().unwrap().push(words.to_owned());
    }
}

#[tokio::test(start_paused = true)]
async fn the_reason_is_how_long_it_took_and_not_its_status() {
    let plan = ClientConfig::new().tries(1).breaker(RULES);
    let told = Told::default();
    let guard: &'static ClientGuard<TokioClock> = ClientGuard::with(plan, TokioClock, told.clone())
        .unwrap()
        .leak();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(answer));
    let uri = Uri::from_static("http://a.example");
    let get = || client.clone().oneshot(Request::get(&uri).body(()).unwrap());
    for _ in 0..2 {
        assert_eq!(get().await.unwrap().status(), 200);
    }
    let rejection = get().await.unwrap_err().to_string();
    assert!(rejection.contains(SHOWN), "{rejection}");
    assert_eq!(*told.0.lock().unwrap(), [SHOWN]);
}

#[tokio::test(start_paused = true)]
async fn with_one_breaker_for_all_as_well() {
    let server = Arc::new(Resource::new(Breaker::new(RULES, TokioClock)));
    let client = BreakerLayer::new(Arc::clone(&server));
    let client = ServiceBuilder::new()
        .layer(client.report(atomic_breaker_http::HttpClassifier::new()))
        .service(service_fn(answer));
    for _ in 0..2 {
        assert!(client.clone().oneshot(()).await.is_ok());
    }
    assert_eq!(server.breaker().state(), State::Open);
    assert_eq!(&*server.last_failure().get().unwrap().text, SHOWN);
}

/// Answers in the time of the path, in milliseconds, and counts nothing.
async fn answer_in_time_of_path(request: Request<()>) -> Result<Response<String>, Infallible> {
    let ms: u64 = request.uri().path()[1..].parse().unwrap();
    tokio::time::sleep(Duration::from_millis(ms)).await;
    Ok(Response::new(String::new()))
}

/// As many calls at once that take 1.5 s, and others that are fast before them.
async fn with_slow_and_fast(slow: u32, fast: u32) -> State {
    let guard = ClientGuard::new(ClientConfig::new().tries(1)).unwrap();
    let guard = guard.leak();
    let service = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(answer_in_time_of_path));
    let mut calls = tokio::task::JoinSet::new();
    for ms in
        std::iter::repeat_n(10, fast as usize).chain(std::iter::repeat_n(1_500, slow as usize))
    {
        let uri: Uri = format!("http://a.example/{ms}").parse().unwrap();
        calls.spawn(service.clone().oneshot(Request::get(uri).body(()).unwrap()));
    }
    while let Some(answer) = calls.join_next().await {
        assert_eq!(answer.unwrap().unwrap().status(), 200);
    }
    let host = Origin::from_uri(&Uri::from_static("http://a.example/")).unwrap();
    guard.hosts().state(&host)
}

#[tokio::test]
async fn by_default_a_slow_host_opens_when_four_fifths_of_its_tries_are_slow() {
    let [fewer, enough, too_few] =
        [(31, 9), (32, 8), (19, 0)].map(|(slow, fast)| with_slow_and_fast(slow, fast));
    let states = tokio::join!(fewer, enough, too_few);
    assert_eq!(states, (State::Closed, State::Open, State::Closed));
}
