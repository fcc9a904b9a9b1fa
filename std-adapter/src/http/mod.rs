//! What HTTP and gRPC responses say about the server that sent them. Feature `http`.
//!
//! ```
//! use atomic_breaker_std::http::HttpClassifier;
//! use atomic_breaker_std::{Breaker, CallError, Config, breaker};
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
//! # What counts as what
//!
//! | result | counts as | why | to change it |
//! |---|---|---|---|
//! | 1xx, 2xx, 3xx, 600 and above | success | the server has answered | [`statuses`](HttpClassifier::statuses) |
//! | 408 | failure | the server, or a proxy, ran out of time | [`fails_on`](HttpClassifier::fails_on) |
//! | 429 | failure; its `Retry-After` is for [its caller](HttpClassifier::retry_hint) | the quota of one tenant must not shut out the others | [`trip_on_429`](HttpClassifier::trip_on_429) |
//! | other 4xx | success | the server has answered, the request was wrong | [`statuses`](HttpClassifier::statuses) |
//! | 503 with `Retry-After` | opens at once, at least for that time, [at most 300 s](RetryAfter) | the server asks for it | [`trip_on_503`](HttpClassifier::trip_on_503), [`max_retry_after`](HttpClassifier::max_retry_after) |
//! | 5xx | failure; a `Retry-After` is read only with 503, the only one of them for which RFC 9110 describes it | | [`fails_on`](HttpClassifier::fails_on) |
//! | `Err` | failure; with `UsualErrors` (feature `client`, `keep` or `reqwest`) not for the caller's own mistakes, and a connection that was lost or refused its requests counts once for all of them | there was no answer | [`errors`](HttpClassifier::errors), [`with_rules`](HttpClassifier::with_rules) |
//! | body that breaks off | the head alone counts | to see it, something must wait for the body | [`at_end_of_body`](HttpClassifier::at_end_of_body) |
//! | gRPC, whose status is 200 whatever happened | see [`GrpcClassifier`] | the code comes in the trailers | [`codes`](GrpcClassifier::codes) |
//! | call dropped before its result | cancelled, [neutral while young](crate::Permit#dropped) | its caller went away | [`Config::cancel_limit`](crate::Config::cancel_limit) |
//!
//! # Where it goes
//!
//! | you have | use |
//! |---|---|
//! | a client whose responses are `http::Response<_>` (hyper, a tower service) | [`call_async_with`](atomic_breaker::Breaker::call_async_with) and [`HttpClassifier`] |
//! | the same, and bodies should count | [`call_reported`](crate::call_reported) and [`at_end_of_body`](HttpClassifier::at_end_of_body) |
//! | reqwest | the module `reqwest`, feature of that name |
//! | another client with its own response type | [`HttpClassifier::response`] in a closure, with `&(r.status(), r.headers())` |
//! | a client that turns statuses into errors (`error_for_status`) | [`errors`](HttpClassifier::errors), or a "404" counts as if there had been no answer |
//! | a response without a `Result`, such as in axum middleware | [`HttpClassifier::response`] |
//! | tonic | [`GrpcClassifier`] in a layer around the `Channel`, or [`GrpcClassifier::code`] in a closure |
//! | a custom protocol with a verdict at the end | [`BodyRule`] |
//!
//! An error is kept as its `Display` text. Those of hyper-util do not name their cause: [`WithCauses`] does.
//!
//! # A time limit belongs within
//!
//! A server that hangs sends no answer, so there is nothing to classify: the timeout must be an error *inside* the
//! call, see [`call_async`](atomic_breaker::Breaker::call_async). For a body that hangs, it must be an error of the
//! body or of the client: a `timeout` around the reading drops the body, which [cancels](ReportingBody).
//! [`Config::slow_call`](crate::Config::slow_call) counts what is dropped too late.

mod at_end;
mod body;
#[cfg(all(feature = "retry", target_has_atomic = "64"))]
mod by_method;
mod causes;
#[cfg(any(feature = "client", feature = "reqwest"))]
mod chain;
mod classifier;
mod grpc;
mod head;
mod options;
mod origin;
#[cfg(all(feature = "registry", target_has_atomic = "64"))]
mod per_host;
mod reason;
#[cfg(all(feature = "retry", target_has_atomic = "64"))]
mod retry;
mod retry_after;
mod rules;
mod scope;
#[cfg(any(feature = "client", feature = "reqwest"))]
mod usual_errors;

#[cfg(feature = "reqwest")]
pub(crate) use at_end::OwnLimit;
pub use at_end::{AtEnd, HttpBodyRule};
pub use body::{BodyRule, ReportingBody};
#[cfg(all(feature = "retry", target_has_atomic = "64"))]
pub use by_method::{ByMethod, Deadline, MayRepeat, idempotency_key};
pub use causes::{WithCauses, text_of};
#[cfg(feature = "reqwest")]
pub(crate) use chain::causes_of;
pub use classifier::HttpClassifier;
pub use grpc::{
    CodeRule, GrpcAtHead, GrpcBodyRule, GrpcClassifier, GrpcCode, GrpcLimits, LimitedPermit,
    UsualCodes,
};
pub use head::ResponseHead;
pub use origin::{Origin, OriginError};
#[cfg(all(feature = "registry", target_has_atomic = "64"))]
pub use per_host::PerHost;
pub use reason::Reason;
#[cfg(all(feature = "retry", target_has_atomic = "64"))]
pub use retry::HttpRetryPolicy;
pub use retry_after::{PushBack, RetryAfter};
pub use rules::{ErrorRule, EveryError, FailsOn, StatusRule, UsualStatuses};
pub use scope::Scope;
#[cfg(all(feature = "reqwest-middleware", target_has_atomic = "64"))]
pub(crate) use scope::report_by;
#[cfg(any(feature = "client", feature = "reqwest"))]
pub use usual_errors::UsualErrors;
#[cfg(feature = "client")]
pub(crate) use usual_errors::scope_of;
#[cfg(any(feature = "client", feature = "reqwest-middleware"))]
pub(crate) use usual_errors::{Loss, loss_of};
