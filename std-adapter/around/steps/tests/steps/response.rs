// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decision of HTTP responses about the steps that requested them.

use std::sync::Arc;

use atomic_breaker_http::{Breaker, Config, Failure, HttpClassifier, Outcome, State, TokioClock};
use atomic_breaker_steps::{Lane, MemoryStore, Ran, Status, Steps, Store, Workflow, step_result};
use http::Response;

use super::support::schedule;

static HTTP: HttpClassifier = HttpClassifier::new();

async fn after(response: Response<()>) -> (Status, i64, String, State) {
    after_by(&HTTP, Config::new(), response).await
}

/// The job, its error and the lane's breaker after one response.
async fn after_by(
    http: &'static HttpClassifier,
    rules: Config,
    response: Response<()>,
) -> (Status, i64, String, State) {
    let breaker = Arc::new(Breaker::new(rules, TokioClock));
    let head = response.into_parts().0;
    let step = move |state: ()| {
        let answer = step_result(http, &head);
        async move { answer.map(|()| state) }
    };
    let workflow = Workflow::new("mail")
        .step("send", "mail server", step)
        .schedule(schedule(9));
    let store = MemoryStore::new();
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("mail server").guarded(Arc::clone(&breaker)))
        .workflow(&workflow)
        .build()
        .unwrap();
    let id = match steps.run(&workflow, "m-1", &()).await.unwrap() {
        Ran::Done(()) => return (Status::Done, 0, String::new(), breaker.state()),
        Ran::Later { id, .. } => id,
        Ran::Ended { id, .. } => id.unwrap(),
    };
    let job = store.job(id).await.unwrap().unwrap();
    let history = store.history(id).await.unwrap();
    let error = history[0].error.clone();
    (job.status, job.due_in_ms / 1000, error, breaker.state())
}

fn answer(status: u16, retry_after: Option<u16>) -> Response<()> {
    let mut response = Response::builder().status(status);
    if let Some(seconds) = retry_after {
        response = response.header("retry-after", seconds);
    }
    response.body(()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_response_is_done_or_again_or_never() {
    for status in [200, 201, 202, 204, 303] {
        let (job, ..) = after(answer(status, None)).await;
        assert_eq!(job, Status::Done, "{status}");
    }
    for status in [500, 502, 503, 408, 429] {
        let (job, due, error, breaker) = after(answer(status, None)).await;
        assert_eq!((job, due), (Status::Waiting, 1), "{status}");
        assert!(error.starts_with(&status.to_string()), "{error}");
        assert_eq!(breaker, State::Closed);
    }
    for status in [301, 304, 400, 401, 404, 409, 422, 501, 505] {
        let (job, _, error, breaker) = after(answer(status, None)).await;
        assert_eq!((job, breaker), (Status::Dead, State::Closed), "{status}");
        assert!(error.starts_with(&status.to_string()), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_rests_its_lane_and_a_used_up_quota_its_job() {
    let often = Config::new().consecutive_failures(1);
    for (rules, is) in [(often, State::Open), (Config::new(), State::Closed)] {
        let (job, due, _, breaker) = after_by(&HTTP, rules, answer(503, Some(60))).await;
        assert_eq!((job, due, breaker), (Status::Waiting, 60, is));
    }
    let (job, due, _, breaker) = after(answer(429, Some(60))).await;
    assert_eq!((job, due, breaker), (Status::Waiting, 60, State::Closed));
    // Only these two say when to retry.
    let (job, due, ..) = after(answer(500, Some(60))).await;
    assert_eq!((job, due), (Status::Waiting, 1));
}

/// There may be room later, and a network lets it through after a login; of the server neither says anything.
#[tokio::test(start_paused = true)]
async fn no_room_and_a_login_of_a_network_are_tried_again_uncounted() {
    let often = Config::new().consecutive_failures(1);
    for status in [507, 511] {
        let (job, due, error, breaker) = after_by(&HTTP, often, answer(status, None)).await;
        assert_eq!((job, due, breaker), (Status::Waiting, 1, State::Closed));
        assert!(error.starts_with(&status.to_string()), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_used_up_quota_counts_nothing_unless_all_calls_share_it() {
    static SHARED: HttpClassifier = HttpClassifier::new().trip_on_429(true);
    static FAILS: HttpClassifier = HttpClassifier::new().statuses(|_| Failure::new().into());
    let often = Config::new().consecutive_failures(1);
    for (http, hint, is) in [
        (&HTTP, None, State::Closed),
        (&HTTP, Some(60), State::Closed),
        (&SHARED, None, State::Open),
        (&SHARED, Some(60), State::Open),
        (&FAILS, None, State::Open),
        (&FAILS, Some(60), State::Open),
    ] {
        let (job, .., breaker) = after_by(http, often, answer(429, hint)).await;
        assert_eq!((job, breaker), (Status::Waiting, is), "{http:?}, {hint:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_counts_as_heavily_as_the_classifier_says() {
    static HEAVY: HttpClassifier = HttpClassifier::new().statuses(|status| match status.as_u16() {
        500 => Failure::with_weight(3).into(),
        501 => Failure::with_weight(0).into(),
        502 => Failure::tripping().into(),
        _ => Failure::new().into(),
    });
    let rules = |most| Config::new().consecutive_failures(most);
    for (status, rules, is) in [
        (500, rules(3), State::Open),
        (500, rules(4), State::Closed),
        (501, rules(1), State::Closed),
        (502, rules(100), State::Open),
        (503, rules(2), State::Closed),
    ] {
        let (job, .., breaker) = after_by(&HEAVY, rules, answer(status, None)).await;
        assert_eq!((job, breaker), (Status::Waiting, is), "{status}");
    }
}

static IGNORES: HttpClassifier = HttpClassifier::new().statuses(|_| Outcome::Ignored);

#[tokio::test(start_paused = true)]
async fn of_what_is_ignored_only_a_used_up_quota_is_tried_again() {
    for (status, is) in [
        (200, Status::Done),
        (404, Status::Dead),
        (503, Status::Dead),
        (429, Status::Waiting),
    ] {
        let (job, _, _, breaker) = after_by(&IGNORES, Config::new(), answer(status, None)).await;
        assert_eq!((job, breaker), (is, State::Closed), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_the_classifier_holds() {
    let (_, due, ..) = after(answer(429, Some(9_999))).await;
    assert_eq!(due, 300);
}
