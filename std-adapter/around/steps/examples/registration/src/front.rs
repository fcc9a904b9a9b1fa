// SPDX-License-Identifier: MIT OR Apache-2.0
//! The front end: a request waits a moment for its result, and its user may ask later how far it has come.
//!
//! | request | response |
//! |---|---|
//! | `POST /registrations` with an `Idempotency-Key`, and `{"address": "…", "card": "…"}` | 201 if it is done in time, otherwise 202, each with its `Location` |
//! | `GET /jobs/{ticket}` | 200: how far it has come; 404 if there is no such ticket, or it is forgotten |
//!
//! Both wait up to `?wait_ms=` milliseconds for the end, at most 10,000: 2,000 unless set for the first, 0 for the second.
//!
//! Ids of jobs are counted up: if they were enough, everyone could read the registration of everyone. So a **ticket** is an
//! id and 128 random bits that are kept in the state, and any other one is answered as if there were no such job. Whoever
//! has the address may read it, so it is neither logged nor cached. A service whose users sign in needs no ticket:
//! it compares the user with the one that the state names.
//!
//! A user without a response repeats the request, with the same key, and gets the same ticket. So the key is a secret, too:
//! the client draws it at random for each registration.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_steps::{EnqueueError, JobId, JobProgress, Status, Steps, Store, Workflow};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::registration::Registration;

/// The time for which a request for a registration waits for its result, unless it says otherwise.
const MOMENT: Duration = Duration::from_secs(2);

/// No request waits longer, so that servers and proxies need not wait for it when they stop.
const LONGEST: Duration = Duration::from_secs(10);

/// So many requests may wait; others are answered at once.
const WAITING: usize = 1_000;

/// The length of a key: of random ones, no shorter one is hard to guess.
const KEY: std::ops::RangeInclusive<usize> = 16..=128;

/// The length of a token, in hexadecimal digits.
const TOKEN: usize = 32;

struct Front<D> {
    steps: Steps<D>,
    registrations: Workflow<Registration>,
    waiting: Semaphore,
}

pub(crate) fn router<D: Store>(steps: Steps<D>, registrations: Workflow<Registration>) -> Router {
    let waiting = Semaphore::new(WAITING);
    Router::new()
        .route("/registrations", post(register::<D>))
        .route("/jobs/{ticket}", get(job::<D>))
        .layer(DefaultBodyLimit::max(16 * 1_024))
        .with_state(Arc::new(Front {
            steps,
            registrations,
            waiting,
        }))
}

#[derive(Deserialize)]
struct Wait {
    wait_ms: Option<u64>,
}

impl Wait {
    fn or(&self, default: Duration) -> Duration {
        let wait = self.wait_ms.map_or(default, Duration::from_millis);
        wait.min(LONGEST)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct User {
    address: String,
    card: String,
}

/// The part of a registration that a user may know: neither the card, nor errors, whose words are for people who run
/// the service.
#[derive(Serialize)]
struct Report<'a> {
    status: &'a str,
    step: &'a str,
    steps_done: Option<usize>,
    failures: u32,
    due_in_ms: Option<u128>,
    /// Known long before all is done: its user may sign in.
    account: Option<&'a str>,
}

async fn register<D: Store>(
    State(front): State<Arc<Front<D>>>,
    Query(wait): Query<Wait>,
    headers: HeaderMap,
    Json(user): Json<User>,
) -> Response {
    let key = headers.get("idempotency-key");
    let key = key.and_then(|key| key.to_str().ok()).unwrap_or_default();
    if !KEY.contains(&key.len()) {
        let says = "set the header Idempotency-Key to 16 to 128 random characters";
        return (StatusCode::BAD_REQUEST, says).into_response();
    }
    let Ok(token) = new_token() else {
        return busy();
    };
    let User { address, card } = user;
    let user = Registration::new(address, card, token);
    let kept = front.steps.enqueue(&front.registrations, key, &user).await;
    let id = match kept {
        Ok(id) => id,
        Err(EnqueueError::Job(error)) => {
            return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
        }
        Err(_) => return busy(),
    };
    // If it existed before, this is that one, with the token it got then.
    let Some(job) = front.wait(id, wait.or(MOMENT)).await else {
        return busy();
    };
    if (&job.state.address, &job.state.card) != (&user.address, &user.card) {
        let says = "this Idempotency-Key is that of another registration: use a new one";
        return (StatusCode::UNPROCESSABLE_ENTITY, says).into_response();
    }
    let code = match job.status {
        Status::Done => StatusCode::CREATED,
        Status::Dead | Status::Cancelled => StatusCode::UNPROCESSABLE_ENTITY,
        // A parked one goes on when a person has seen to it.
        _ => StatusCode::ACCEPTED,
    };
    let location = format!("/jobs/{id}-{}", job.state.token);
    (code, [(header::LOCATION, location)], report(&job)).into_response()
}

async fn job<D: Store>(
    State(front): State<Arc<Front<D>>>,
    Query(wait): Query<Wait>,
    Path(ticket): Path<String>,
) -> Response {
    let Some((id, token)) = read(&ticket) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    // Before it waits: who has no ticket keeps nothing busy.
    let found = front.steps.progress(&front.registrations, id).await;
    let job = match found {
        Ok(Some(job)) if is_same(&job.state.token, token) => job,
        Ok(_) => return StatusCode::NOT_FOUND.into_response(),
        Err(_) => return busy(),
    };
    let limit = wait.or(Duration::ZERO);
    if job.status.is_final() || limit.is_zero() {
        return report(&job).into_response();
    }
    match front.wait(id, limit).await {
        Some(job) => report(&job).into_response(),
        None => busy(),
    }
}

impl<D: Store> Front<D> {
    /// `None` if that cannot be found out now.
    async fn wait(&self, id: JobId, limit: Duration) -> Option<JobProgress<Registration>> {
        let place = self.waiting.try_acquire();
        let limit = place.as_ref().map_or(Duration::ZERO, |_| limit);
        let job = self.steps.wait_done(&self.registrations, id, limit).await;
        job.ok().flatten()
    }
}

fn report(job: &JobProgress<Registration>) -> impl IntoResponse {
    let report = Report {
        status: job.status.name(),
        step: &job.step,
        steps_done: job.steps_done,
        failures: job.failures,
        due_in_ms: job.due_in.map(|due_in| due_in.as_millis()),
        account: job.state.account.as_deref(),
    };
    ([(header::CACHE_CONTROL, "no-store")], Json(report)).into_response()
}

/// The store does not answer: asking again does no harm.
fn busy() -> Response {
    let hint = [(header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, hint).into_response()
}

/// 128 bits from the operating system.
fn new_token() -> Result<String, getrandom::Error> {
    let (one, other) = (getrandom::u64()?, getrandom::u64()?);
    Ok(format!("{one:016x}{other:016x}"))
}

/// The id and the token of a ticket.
fn read(ticket: &str) -> Option<(JobId, &str)> {
    let (id, token) = ticket.split_once('-')?;
    let id = id.parse().ok().map(JobId::new)?;
    (token.len() == TOKEN).then_some((id, token))
}

/// Takes as long for any two texts of this length, so that its time gives no digit away.
fn is_same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
}

#[cfg(test)]
#[path = "front_tests.rs"]
mod tests;
