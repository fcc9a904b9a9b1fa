// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`atomic-breaker`](atomic_breaker) circuit breakers for HTTP and gRPC: what responses say about the server that sent
//! them, and everything around an HTTP client in the right order: [`ClientGuard`].
//!
//! ```
//! use atomic_breaker_http::{Breaker, Config, HttpClassifier, breaker};
//! use atomic_breaker_server::CallError;
//! use http::Response;
//! use std::io;
//!
//! static PAYMENTS: Breaker = breaker(Config::new());
//! static HTTP: HttpClassifier = HttpClassifier::new();
//!
//! # async fn send() -> io::Result<Response<String>> { Ok(Response::default()) }
//! async fn pay() -> Result<Response<String>, CallError<io::Error>> {
//!     PAYMENTS.call_async_with(HTTP, || send()).await
//! }
//! # let _ = pay();
//! ```
//!
//! # What it has
//!
//! | you have | use |
//! |---|---|
//! | hyper, reqwest or another client of tower's, and want the whole set: deadline, retries, a breaker per host, time limits | [`ClientGuard`], with its [`ClientConfig`] |
//! | a client whose responses are `http::Response<_>` (hyper, a tower service) | [`call_async_with`](atomic_breaker::Breaker::call_async_with) and [`HttpClassifier`] |
//! | the same, and bodies should count | [`AnyPermit::run_async`](atomic_breaker_server::AnyPermit::run_async) and [`at_end_of_body`](HttpClassifier::at_end_of_body) |
//! | reqwest | `HttpClient`, or `BreakerMiddleware`: features `reqwest`, `reqwest-middleware` |
//! | another client with its own response type | [`HttpClassifier::response`] in a closure, with `&(r.status(), r.headers())` |
//! | a client that turns statuses into errors (`error_for_status`) | [`errors`](HttpClassifier::errors), or a "404" counts as if there had been no response |
//! | a response without a `Result`, such as in axum middleware | [`HttpClassifier::response`] |
//! | tonic | [`GrpcClassifier::at_end_of_body`] in a layer around the `Channel`, or [`GrpcClassifier::code`] in a closure |
//! | many hosts behind one client | [`PerHost`], by the [`Origin`] of each request |
//! | a custom protocol, such as one with a verdict at the end | [`HttpRules`] |
//! | callers of your own who must learn that a call was rejected | [`Unavailable`] |
//!
//! An error is kept as its `Display` text. Those of hyper-util do not name their cause: [`WithCauses`] does.
//!
//! The root has what the signatures here name, and what every program with a breaker needs. The rest is in
//! [`atomic_breaker_server`] and [`atomic_breaker_tower`].
//!
//! # What counts as what
//!
//! | result | counts as | why | to change it |
//! |---|---|---|---|
//! | 1xx, 2xx, 3xx, 600 and above | success | the server has responded | [`statuses`](HttpClassifier::statuses) |
//! | 408 | failure | the server, or a proxy, ran out of time | |
//! | 429 | [ignored](Scope::Quota), but a probe succeeds, [where probes are known](HttpClassifier); its `Retry-After` is for [its caller](HttpClassifier::retry_hint) | the server has responded; the quota of one tenant must not shut out the others | [`trip_on_429`](HttpClassifier::trip_on_429) |
//! | other 4xx | success | the server has responded, the request was wrong | [`statuses`](HttpClassifier::statuses) |
//! | 503 with `Retry-After` | failure; if the rules trip by it, or it is a probe's, it opens for at least that time, [at most 300 s](RetryAfter) | the server asks for it. On its own it opens nothing: it may be one overloaded instance of many | [`max_retry_after`](HttpClassifier::max_retry_after) |
//! | 501, 505, 507 | success | the server answers one request, and says no: five PROPFIND must not shut it for every GET | [`statuses`](HttpClassifier::statuses) |
//! | 511 | ignored | a network on the way wants a login first: the server was not asked | [`statuses`](HttpClassifier::statuses) |
//! | other 5xx | failure; a `Retry-After` is read only with 503, the only one of them for which RFC 9110 describes it | | [`statuses`](HttpClassifier::statuses) |
//! | `Err` | failure; with [`UsualErrors`] not for the caller's own mistakes, and a connection that was lost or refused its requests counts once for all of them | there was no response | [`errors`](HttpClassifier::errors) |
//! | truncated body | the head alone counts | to see it, something must wait for the body | [`at_end_of_body`](HttpClassifier::at_end_of_body) |
//! | gRPC, whose status is 200 whatever happened | see [`GrpcClassifier`] | the code comes in the trailers | [`codes`](GrpcClassifier::codes) |
//! | call dropped before its result | cancelled, [neutral while young](atomic_breaker_server::Permit#dropped) | its caller went away | [`Config::cancel_limit`](crate::Config::cancel_limit) |
//!
//! # A time limit belongs within
//!
//! A server that hangs sends no response, so there is nothing to classify: the timeout must be an error *inside* the
//! call, see [`call_async`](atomic_breaker::Breaker::call_async). For a body that hangs, it must be an error of the
//! body or of the client: a `timeout` around the reading drops the body, which [cancels](ReportingBody).
//! [`Config::slow_call`](crate::Config::slow_call) counts what is dropped too late.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `http2`, on unless switched off | whose fault an error of an HTTP/2 connection is, and which one it was |
//! | `serde` | [`ClientConfig`] from a file |
//! | `reqwest` | `HttpClient`: reqwest beneath [`ClientGuard`] or other layers; errors that name the cause but no URL |
//! | `reqwest-middleware` | `BreakerMiddleware`: a breaker for all requests or one per host, and a time limit, beneath the retries |
//!
//! # Where to read on
//!
//! [The page on HTTP and gRPC clients] shows each client, with timeouts, retries and tests.
#![doc = ""]
#![doc = concat!("[The page on HTTP and gRPC clients]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/http.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

// The modules, in the order in which to read them:
// - `origin`: `Origin`, a host as a key
// - `causes`, `client_error`: an error with its causes, and inside errors that wrap others; why there is no response
// - `connection`: the connection that a call was on
// - `head`, `retry_after`, `rate_limit`: heads of responses; `Retry-After` and push-back; when a quota is full again
// - `errors`, `usual_errors`: what errors say, and whom they concern
// - `rules`: `HttpRules`, what the responses of a protocol say; `AtHead`
// - `body`, `at_end`: bodies that report at their end; `AtEnd`
// - `body_waker`: when a body last woke its reader
// - `timed_body`: `BodyLimits`, how long a host may keep the reader of a body waiting
// - `classifier`, `retries`: `HttpClassifier`; which requests may be sent twice, and when
// - `grpc`: `GrpcClassifier`; calls with a limit of their own
// - `unavailable`: `Unavailable`, what to answer one's own callers
// - `per_host`: `PerHost`, the breaker of a request's host
// - `callers_limit` (`reqwest`): the time limit that a request carries, as its deadline
// - `client`: `ClientGuard`, all of it around a client
// - `reqwest` (`reqwest`): the same for reqwest, and a middleware

mod at_end;
mod body;
mod body_waker;
#[cfg(feature = "reqwest")]
mod callers_limit;
mod causes;
mod classifier;
mod client;
#[cfg(feature = "reqwest")]
mod client_error;
mod connection;
mod errors;
mod grpc;
mod head;
mod origin;
mod per_host;
mod rate_limit;
#[cfg(feature = "reqwest")]
mod reqwest;
mod retries;
mod retry_after;
mod rules;
mod timed_body;
mod unavailable;
mod usual_errors;

#[cfg(feature = "reqwest-middleware")]
pub use self::reqwest::{BreakerMiddleware, rejection_of};
#[cfg(feature = "reqwest")]
pub use self::reqwest::{HttpClient, NotRepeatable, ReqwestErrors, repeatable};
pub use at_end::{AtEnd, WholeResponse};
#[doc(no_inline)]
pub use atomic_breaker_server::{
    Breaker, Clock, Config, ConnectionId, Failure, Guard, KeyedObserver, OnRetry, Outcome, Ratio,
    Registry, Rejection, RetryObserver, Scope, ServiceError, State, StdClock, Timed, TokioClock,
    TryEvent, breaker,
};
#[doc(no_inline)]
pub use atomic_breaker_tower::{Backoff, BudgetConfig, RetryBudget};
pub use body::ReportingBody;
#[cfg(feature = "reqwest")]
pub use bytes::Bytes;
pub use causes::{RequestError, WithCauses, text_of};
pub use classifier::HttpClassifier;
pub use client::{
    ClientBody, ClientConfig, ClientConfigError, ClientGuard, ClientLayer, ClientResponse,
    ClientService, HealthCheck, Hosts, Probe,
};
#[cfg(feature = "reqwest")]
pub use client_error::ClientError;
pub use errors::ErrorRule;
pub use grpc::{
    GrpcClassifier, GrpcCode, GrpcDeadlineBody, GrpcDeadlineFuture, GrpcDeadlineLayer,
    GrpcDeadlineService,
};
pub use head::ResponseHead;
pub use origin::{Origin, OriginError};
pub use per_host::PerHost;
pub use retries::{Deadline, MayRepeat, ResendCount, idempotency_key};
pub use retry_after::RetryAfter;
pub use rules::{AtHead, Head, HttpRules};
pub use timed_body::{BodyError, BodyLimit, BodyLimits, TimedBody};
pub use unavailable::Unavailable;
pub use usual_errors::UsualErrors;

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
