// SPDX-License-Identifier: MIT OR Apache-2.0
//! The HTTP requests that may be sent twice.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use atomic_breaker_http::{
    Breaker, BudgetConfig, Config, HttpClassifier, MayRepeat, RetryBudget, TokioClock,
};
use atomic_breaker_tower::{BreakerLayer, RetryConfig, RetryLayer, RetryPolicy};
use http::{HeaderValue, Method, Request, Response};
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt, service_fn};

/// Rules that never trip, so that nothing but the policy decides.
const LENIENT: Config = Config::new().consecutive_failures(65_535);

/// A full budget of 100 tokens that only successes fill.
fn budget() -> &'static RetryBudget {
    let config = BudgetConfig::new().max_tokens(100).tokens_per_second(0);
    Box::leak(Box::new(RetryBudget::with(config)))
}

const KEY: &str = "Idempotency-Key";

fn may_repeat<B>(request: &Request<B>) -> bool {
    RetryPolicy::<_, Response<()>, io::Error>::may_repeat(&HttpClassifier::new(), request)
}

fn post_with(keys: &[&[u8]]) -> Request<&'static str> {
    let mut request = Request::post("/").body("a").unwrap();
    for key in keys {
        let value = HeaderValue::from_bytes(key).unwrap();
        request.headers_mut().append(KEY, value);
    }
    request
}

#[test]
fn methods_that_are_idempotent_may_be_repeated() {
    let may = |method: &str| {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        may_repeat(&Request::builder().method(method).body(()).unwrap())
    };
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        assert!(may(method), "{method}");
    }
    for method in ["POST", "PATCH", "CONNECT", "get", "Put", "MKCOL", "GETS"] {
        assert!(!may(method), "{method}");
    }
}

#[test]
fn a_key_allows_a_post_if_it_is_one_and_not_garbled() {
    let keys: [&[u8]; 5] = [
        b"8e03978e-40d5-43dd-bc93-6894a57f9324",
        b"\"8e03978e\"",
        b"a",
        b" a\t",
        b"0",
    ];
    for key in keys {
        assert!(may_repeat(&post_with(&[key])), "{key:?}");
    }
    let hostile: [&[&[u8]]; 10] = [
        &[],
        &[b""],
        &[b"   "],
        &[b"\t"],
        &[b"\"\""],
        &[b"\" \""],
        &[b"a", b"b"],
        &[b"a", b"a"],
        &[b"a, b"],
        &["schl\u{fc}ssel".as_bytes()],
    ];
    for keys in hostile {
        assert!(!may_repeat(&post_with(keys)), "{keys:?}");
    }
    for bytes in [&b"\xFF"[..], b"\x80\xFE", b"a\xA0"] {
        assert!(!may_repeat(&post_with(&[bytes])), "{bytes:?}");
    }
}

#[test]
fn what_the_caller_says_takes_precedence() {
    let mut request = post_with(&[]);
    request.extensions_mut().insert(MayRepeat(true));
    assert!(may_repeat(&request));
    let mut request = post_with(&[b"key"]);
    request.extensions_mut().insert(MayRepeat(false));
    assert!(!may_repeat(&request));
    let get = Request::get("/counts").extension(MayRepeat(false)).body(());
    assert!(!may_repeat(&get.unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_post_is_sent_once_unless_it_has_a_key() {
    static SERVER: Breaker<TokioClock> = Breaker::new(LENIENT, TokioClock);
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    // What most users write first.
    let client = ServiceBuilder::new()
        .layer(RetryLayer::new(
            RetryConfig::new(),
            budget(),
            HttpClassifier::new(),
        ))
        .layer(BreakerLayer::new(&SERVER))
        .service(service_fn(|_: Request<&'static str>| async {
            CALLS.fetch_add(1, Ordering::Relaxed);
            Err::<Response<()>, _>(io::Error::other("connection reset"))
        }));
    let get = Request::get("/").body("").unwrap();
    for (request, calls) in [(post_with(&[]), 1), (post_with(&[b"key"]), 3), (get, 3)] {
        CALLS.store(0, Ordering::Relaxed);
        assert!(client.oneshot(request).await.is_err());
        assert_eq!(CALLS.load(Ordering::Relaxed), calls);
    }
}

/// The policy judges as the classifier of the breaker does, without further settings.
#[tokio::test(start_paused = true)]
async fn responses_that_are_failures_are_tried_again_after_the_time_that_they_ask_for() {
    static SERVER: Breaker<TokioClock> = Breaker::new(LENIENT, TokioClock);
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    for (status, retry_after, calls, least_s) in [
        (502, None, 3, 0),
        (404, None, 1, 0),
        (200, None, 1, 0),
        // The breaker ignores it, and yet its caller may try again.
        (429, None, 3, 0),
        (429, Some("2"), 3, 4),
        (429, Some("100"), 1, 0),
    ] {
        let client = ServiceBuilder::new()
            .layer(RetryLayer::new(
                RetryConfig::new(),
                budget(),
                HttpClassifier::new(),
            ))
            .layer(BreakerLayer::new(&SERVER).report(HttpClassifier::new()))
            .service(service_fn(move |_: Request<&'static str>| async move {
                CALLS.fetch_add(1, Ordering::Relaxed);
                let mut response = Response::builder().status(status);
                if let Some(seconds) = retry_after {
                    response = response.header("retry-after", seconds);
                }
                Ok::<_, io::Error>(response.body(()).unwrap())
            }));
        CALLS.store(0, Ordering::Relaxed);
        let begin = Instant::now();
        let get = Request::get("/").body("").unwrap();
        let response = client.oneshot(get).await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(CALLS.load(Ordering::Relaxed), calls, "{status}");
        let took_s = begin.elapsed().as_secs();
        assert!(
            took_s >= least_s && took_s <= least_s + 4,
            "{status}: {took_s} s"
        );
    }
}
