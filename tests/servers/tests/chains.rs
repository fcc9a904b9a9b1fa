// SPDX-License-Identifier: MIT OR Apache-2.0
//! Three services in a row: what a service answers while one of its dependencies is down decides whether its callers shut out
//! all of it.
//!
//! The front calls the shop through a [`ClientGuard`], by host or by route, with its defaults or with rules that open at half of
//! the calls, as those of many others. The shop has two routes: one needs the
//! payments, which are down for a minute, the other needs nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{ClientConfig, ClientGuard, TokioClock, Unavailable};
use atomic_breaker_server::{Breaker, Config, Ratio};
use http::{Request, Response, StatusCode};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt, service_fn};

/// The answer of the shop when a call to the payments was rejected.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// 503 with `Retry-After`.
    OfWholeService,
    /// 503 alone, which is the default.
    Plain,
    /// 424.
    FailedDependency,
}

#[derive(Clone)]
struct Shop {
    payments: Arc<Breaker<TokioClock>>,
    are_payments_down: Arc<AtomicBool>,
    answer: Answer,
}

impl Shop {
    fn handle(&self, path: &str) -> Response<String> {
        if path == "/catalogue" {
            return Response::new("shoes".to_owned());
        }
        let paid = self.payments.call(|| {
            if self.are_payments_down.load(Relaxed) {
                return Err(io::Error::other("no answer"));
            }
            Ok("paid".to_owned())
        });
        let error = match paid {
            Ok(paid) => return Response::new(paid),
            Err(error) => error,
        };
        match (Unavailable::from_error(&error), self.answer) {
            (Some(it), Answer::OfWholeService) => it.of_whole_service().response(),
            (Some(it), Answer::Plain) => it.response(),
            (Some(it), Answer::FailedDependency) => {
                it.status(StatusCode::FAILED_DEPENDENCY).response()
            }
            // The calls before it opens, and probes.
            (None, answer) => {
                let mut response = Response::new(error.to_string());
                *response.status_mut() = match answer {
                    Answer::FailedDependency => StatusCode::FAILED_DEPENDENCY,
                    _ => StatusCode::BAD_GATEWAY,
                };
                response
            }
        }
    }
}

/// Requests of the front for the catalogue while the payments are down, and how many of them were answered.
#[derive(Debug)]
struct Seen {
    catalogue: u32,
    answered: u32,
}

/// The scope of the front's breakers, and their rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The host, by rules that open at half of the calls.
    HalfOfHost,
    /// The host, by the defaults.
    Host,
    /// The host and the path, by rules that open at half of the calls.
    HalfOfRoute,
}

impl By {
    fn config(self) -> ClientConfig {
        let config = ClientConfig::new().tries(1);
        let ratio = Ratio::percent(50).within(Duration::from_secs(10));
        match self {
            Self::Host => config,
            Self::HalfOfHost | Self::HalfOfRoute => config.breaker(
                Config::new()
                    .consecutive_failures(5)
                    .failure_ratio(ratio.min_calls(20))
                    .open_for(Duration::from_secs(1))
                    .exponential(2, Duration::from_secs(30))
                    .max_retry_after(Duration::from_secs(60))
                    .jitter_percent(20),
            ),
        }
    }
}

/// Ten requests a second; of ten, so many are payments.
async fn outage(answer: Answer, by: By, payments_of_ten: u32) -> Seen {
    let shop = Shop {
        payments: Arc::new(Breaker::new(Config::new(), TokioClock)),
        are_payments_down: Arc::default(),
        answer,
    };
    let down = Arc::clone(&shop.are_payments_down);
    let guard = ClientGuard::by_key(by.config(), TokioClock, ()).unwrap();
    let client = guard
        .leak()
        .layer()
        .keyed(move |request: &Request<()>| match by {
            By::Host | By::HalfOfHost => request.uri().authority().map(ToString::to_string),
            By::HalfOfRoute => Some(request.uri().to_string()),
        })
        .layer(service_fn(move |request: Request<()>| {
            let shop = shop.clone();
            async move { Ok::<_, io::Error>(shop.handle(request.uri().path())) }
        }));
    let began = Instant::now();
    let mut seen = Seen {
        catalogue: 0,
        answered: 0,
    };
    for number in 0.. {
        let second = began.elapsed().as_secs();
        if second >= 90 {
            break;
        }
        down.store((20..80).contains(&second), Relaxed);
        let is_payment = number * 7 % 10 < payments_of_ten;
        let path = if is_payment { "payments" } else { "catalogue" };
        let uri = format!("http://shop.example/{path}");
        let request = Request::get(uri).body(()).unwrap();
        let response = client.clone().oneshot(request).await;
        if !is_payment && (20..80).contains(&second) {
            seen.catalogue += 1;
            let is_answered = response.is_ok_and(|response| response.status() == 200);
            seen.answered += u32::from(is_answered);
        }
        sleep(Duration::from_millis(100)).await;
    }
    seen
}

/// One run may differ much from the next where half of the requests fail, as open times have jitter.
const RUNS: u32 = 15;

/// The table of `docs/http.md`, with `--nocapture`: means, which differ a little from run to run.
#[tokio::test(start_paused = true)]
async fn a_dependency_that_few_requests_need_shuts_out_none_of_the_others() {
    let shares = [1, 3, 5, 8];
    for (answer, by) in [
        (Answer::OfWholeService, By::HalfOfHost),
        (Answer::Plain, By::HalfOfHost),
        (Answer::FailedDependency, By::HalfOfHost),
        (Answer::OfWholeService, By::HalfOfRoute),
        (Answer::Plain, By::HalfOfRoute),
        (Answer::OfWholeService, By::Host),
        (Answer::Plain, By::Host),
    ] {
        let mut percents = Vec::new();
        for share in shares {
            let (mut answered, mut catalogue) = (0, 0);
            for _ in 0..RUNS {
                let seen = outage(answer, by, share).await;
                answered += seen.answered;
                catalogue += seen.catalogue;
            }
            percents.push(answered * 100 / catalogue);
        }
        println!("| {answer:?}, by {by:?} | {percents:?} |");
        let [tenth, third, half, most] = percents[..] else {
            unreachable!("one for each share");
        };
        match answer {
            Answer::OfWholeService | Answer::Plain if by == By::HalfOfHost => {
                assert_eq!((tenth, third), (100, 100), "{half} {most}");
            }
            _ => assert_eq!(percents, [100; 4]),
        }
    }
}
