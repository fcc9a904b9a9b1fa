// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries of a method that may be called twice, above the breaker.

use std::error::Error as _;
use std::time::Duration;

use atomic_breaker_http::{Failure, Outcome, Rejection, RetryBudget, ServiceError};
use atomic_breaker_tower::{RetryConfig, RetryLayer, RetryPolicy};
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::{Bytes, StdError};
use tonic::{Response, Status};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tower::{Layer, Service, ServiceExt, service_fn};

use super::GRPC;

/// Of one host: at most a fifth of its calls are retries, so that they do not make an outage longer.
pub(crate) static BUDGET: RetryBudget = RetryBudget::new();

/// Up to three tries of `check`, with its messages rather than their bytes: these are streams, which cannot be sent twice.
pub(crate) fn check<S>(
    client: HealthClient<S>,
) -> impl Service<
    HealthCheckRequest,
    Response = Response<HealthCheckResponse>,
    Error = ServiceError<Status>,
> + Clone
where
    S: GrpcService<Body, Error: Into<StdError>> + Clone,
    S::ResponseBody:
        tonic::codegen::Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    let made = service_fn(move |call: Call<HealthCheckRequest>| {
        let mut client = client.clone();
        async move { client.check(call.into_request()).await.map_err(by_source) }
    });
    RetryLayer::new(RetryConfig::new(), &BUDGET, Always)
        .layer(made)
        .map_request(|message| Call { message, retry: 0 })
}

/// A message, and how many times it has been sent before.
#[derive(Clone)]
struct Call<M> {
    message: M,
    retry: u32,
}

impl<M> Call<M> {
    /// With the header by which [gRPC's retries](https://github.com/grpc/proposal/blob/master/A6-client-retries.md) tell
    /// the server.
    fn into_request(self) -> tonic::Request<M> {
        let mut request = tonic::Request::new(self.message);
        if self.retry > 0 {
            let header = "grpc-previous-rpc-attempts";
            request.metadata_mut().insert(header, self.retry.into());
        }
        request
    }
}

/// Every request may be sent twice.
#[derive(Clone, Copy)]
struct Always;

impl<M, T> RetryPolicy<Call<M>, T, Status> for Always {
    fn may_repeat(&self, _: &Call<M>) -> bool {
        true
    }

    fn before_retry(&self, call: &mut Call<M>, retry: u32) {
        call.retry = retry;
    }

    /// Classifies the result as the breaker below does.
    fn classify(&self, result: &Result<T, Status>) -> Outcome {
        match result {
            Ok(_) => Outcome::Success,
            // Made here and not by the server: a timeout, a lost connection.
            Err(status) if status.source().is_some() => Failure::new().into(),
            Err(status) => {
                let (code, metadata) = (status.code() as i32, status.metadata());
                GRPC.rules().code(code.into(), metadata.as_ref())
            }
        }
    }

    /// No sooner than the server asks, and not at all if it asks so.
    fn retry_after(&self, result: &Result<T, Status>) -> Option<Duration> {
        let metadata = result.as_ref().err()?.metadata();
        GRPC.rules().retry_hint(metadata.as_ref())
    }
}

/// A rejection was never sent: the retry waits for the breaker, without a token.
fn by_source(status: Status) -> ServiceError<Status> {
    let source = status.source().and_then(|source| source.downcast_ref());
    match source {
        Some(rejection) => ServiceError::Rejected(Rejection::clone(rejection)),
        None => ServiceError::Failed(status),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tower::ServiceExt;

    use super::*;
    use crate::server::{Mood, Server};

    async fn ask(server: &Server) -> Result<Response<HealthCheckResponse>, ServiceError<Status>> {
        let client = crate::client(server.url().parse().unwrap());
        check(client).oneshot(HealthCheckRequest::default()).await
    }

    #[tokio::test]
    async fn a_call_that_fails_is_tried_three_times() {
        let server = Server::start().await.unwrap();
        server.set(Mood::Fails);
        assert!(matches!(ask(&server).await, Err(ServiceError::Failed(_))));
        let attempts = server.previous_attempts();
        let attempts: Vec<_> = attempts.iter().map(Option::as_deref).collect();
        assert_eq!(
            attempts,
            [None, Some("1"), Some("2")],
            "as the server is told"
        );
    }

    #[tokio::test]
    async fn a_server_that_asks_not_to_try_again_is_called_once() {
        let server = Server::start().await.unwrap();
        server.set(Mood::PushesBack(-1));
        assert!(matches!(ask(&server).await, Err(ServiceError::Failed(_))));
        assert_eq!(server.calls(), 1);
    }

    #[tokio::test]
    async fn a_server_that_asks_for_time_gets_it() {
        for mood in [Mood::PushesBack(150), Mood::Limits(150)] {
            let server = Server::start().await.unwrap();
            server.set(mood);
            let begin = Instant::now();
            let (result, ()) = tokio::join!(ask(&server), async {
                while server.calls() == 0 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                server.set(Mood::Works);
            });
            result.unwrap();
            assert_eq!(server.calls(), 2);
            assert!(begin.elapsed() >= Duration::from_millis(150));
        }
    }

    #[tokio::test]
    async fn a_quota_that_is_used_up_shuts_out_nobody() {
        let server = Server::start().await.unwrap();
        server.set(Mood::Limits(-1));
        for calls in 1..=20 {
            assert!(matches!(ask(&server).await, Err(ServiceError::Failed(_))));
            assert_eq!(server.calls(), calls, "not tried again, nor rejected");
        }
    }
}
