//! A tonic client behind a breaker, which judges by `grpc-status`.
//!
//! ```console
//! cargo run --manifest-path std-adapter/examples/tonic/Cargo.toml
//! ```
//!
//! Starts a server on this machine that works, fails, hangs and works again, asks it six times each time, and prints the
//! answers. Takes about a second.
//!
//! | file | what |
//! |---|---|
//! | `main` | **the layers around the channel: read this first** |
//! | `server` | a server that can be told to fail |

mod server;

use std::error::Error;
use std::time::{Duration, Instant};

use atomic_breaker_std::http::GrpcClassifier;
use atomic_breaker_std::tower::{BreakerLayer, TimeLimitLayer};
use atomic_breaker_std::{Breaker, Config, ServiceError, State, Timed, breaker};
use server::{Mood, Server};
use tokio::time::sleep;
use tonic::Status;
use tonic::transport::{self, Channel};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::ServiceBuilder;

/// Short times, so that the example is short.
static SERVER: Breaker = breaker(
    Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_millis(300))
        .jitter_percent(20),
);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start().await?;
    let channel = Channel::from_shared(server.url())?.connect_lazy();
    let channel = ServiceBuilder::new()
        // tonic takes a `Status` for what it is; another error would be UNKNOWN.
        .map_err(status)
        .layer(BreakerLayer::new(&SERVER).report(GrpcClassifier::new()))
        // Inside, so that a server that hangs fails.
        .layer(TimeLimitLayer::new(Duration::from_millis(100)))
        .service(channel);
    let mut client = HealthClient::new(channel);

    for mood in [Mood::Works, Mood::Fails, Mood::Hangs, Mood::Works] {
        server.set(mood);
        println!("{mood:?}");
        for _ in 0..6 {
            let (begin, calls) = (Instant::now(), server.calls());
            let answer = client.check(HealthCheckRequest::default()).await;
            let text = match answer {
                Ok(answer) => format!("{:?}", answer.into_inner().status()),
                Err(status) => format!("{:?}: {}", status.code(), status.message()),
            };
            let (time, calls) = (begin.elapsed().as_millis(), server.calls() - calls);
            println!("  {time:>3} ms, {calls} sent: {text}");
        }
        sleep(SERVER.snapshot().retry_in().unwrap_or_default()).await;
    }
    match SERVER.snapshot().state() {
        State::Closed => Ok(()),
        other => Err(format!("it works again, and the breaker is {other}").into()),
    }
}

/// What the caller of a method sees.
fn status(error: ServiceError<Timed<transport::Error>>) -> Status {
    match error {
        ServiceError::Rejected(rejection) => Status::unavailable(rejection.to_string()),
        ServiceError::Failed(Timed::TimedOut) => Status::deadline_exceeded("timed out"),
        ServiceError::Failed(Timed::Failed(error)) => Status::from_error(error.into()),
    }
}
