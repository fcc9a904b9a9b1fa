// SPDX-License-Identifier: MIT OR Apache-2.0
//! tonic clients of two hosts, with a breaker per host, which judges by `grpc-status`.
//!
//! ```console
//! cargo run --manifest-path std-adapter/http/examples/tonic/Cargo.toml
//! ```
//!
//! Starts two servers on this machine. One works all the time; the other works, fails, asks not to be tried again, hangs
//! and works again. Asks each of them six times in each state, and prints the responses: the healthy one is served
//! throughout. Takes about a second.
//!
//! | file | what |
//! |---|---|
//! | `main` | **the layers around the channel: read this first** |
//! | `retry` | retries of a method that may be called twice, with a budget; its tests |
//! | `server` | a server that can be told to fail |

mod retry;
mod server;

use std::error::Error;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use atomic_breaker_http::{
    AtEnd, Config, GrpcClassifier, GrpcDeadlineLayer, Origin, PerHost, Registry, ServiceError,
    State, Timed, UsualErrors, WithCauses,
};
use atomic_breaker_tower::TryLayer;
use server::{Mood, Server};
use tokio::time::sleep;
use tonic::Status;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::{Bytes, StdError};
use tonic::transport::{self, Channel, Uri};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::{Service, ServiceBuilder, ServiceExt};

/// Outlives the requests: the breakers of all hosts. Short times, so that the example is short.
static HOSTS: LazyLock<Registry<Origin>> = LazyLock::new(|| {
    let rules = Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_millis(300))
        .jitter_percent(20);
    Registry::new(rules).expect("constant rules")
});

/// A call to a server that hangs fails after this time.
const TRY_LIMIT: Duration = Duration::from_millis(100);

/// A connection that is lost counts once, however many calls were on it.
const GRPC: AtEnd<GrpcClassifier<UsualErrors>, UsualErrors> = GrpcClassifier::new()
    .errors(UsualErrors)
    .at_end_of_body()
    .body_errors(UsualErrors);

/// A client whose requests name their host: with `HealthClient::new` their URIs are paths alone, and `PerHost` rejects
/// them, as it cannot tell the hosts apart.
fn client(
    url: Uri,
) -> HealthClient<
    impl GrpcService<
        Body,
        ResponseBody: tonic::codegen::Body<Data = Bytes, Error: Into<StdError> + Send> + Send,
        Error: Into<StdError>,
    > + Clone,
> {
    let channel = Channel::builder(url.clone())
        // Detects a connection that accepts requests and never responds again, and ends it.
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(5))
        .keep_alive_while_idle(true)
        .connect_lazy();
    let channel = ServiceBuilder::new()
        // tonic recognises a `Status`; another error would be UNKNOWN.
        .map_err(status)
        // A caller whose own `set_timeout` passes leaves; its try goes on, to the trailers, which say how it went.
        .layer(GrpcDeadlineLayer::new(TRY_LIMIT))
        .layer(TryLayer::new(PerHost::new(&*HOSTS), TRY_LIMIT).report(GRPC))
        // The error of the `Channel` does not name its cause, and the breaker keeps its text.
        .map_err(WithCauses)
        .service(channel);
    HealthClient::with_origin(channel, url)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let hosts = [
        ("healthy", Server::start().await?),
        ("sick", Server::start().await?),
    ];
    let urls: [Uri; 2] = [hosts[0].1.url().parse()?, hosts[1].1.url().parse()?];
    let mut clients = urls.clone().map(|url| retry::check(client(url)));

    let moods = [
        Mood::Works,
        Mood::Fails,
        Mood::PushesBack(-1),
        Mood::Hangs,
        Mood::Works,
    ];
    for mood in moods {
        hosts[1].1.set(mood);
        println!("the sick host: {mood:?}");
        for ((name, server), client) in hosts.iter().zip(&mut clients) {
            for _ in 0..6 {
                let (begin, calls) = (Instant::now(), server.calls());
                let request = HealthCheckRequest::default();
                let answer = client.ready().await?.call(request).await;
                let text = match &answer {
                    Ok(answer) => format!("{:?}", answer.get_ref().status()),
                    Err(ServiceError::Rejected(rejection)) => rejection.to_string(),
                    Err(ServiceError::Failed(status)) => {
                        format!("{:?}: {}", status.code(), status.message())
                    }
                };
                let (time, calls) = (begin.elapsed().as_millis(), server.calls() - calls);
                println!("  {name:>7}: {time:>3} ms, {calls} sent: {text}");
                if *name == "healthy" {
                    answer?;
                }
            }
        }
        let sick = HOSTS.entry(&Origin::from_uri(&urls[1])?);
        let rest = sick.and_then(|entry| entry.snapshot.retry_in());
        sleep(rest.unwrap_or_default()).await;
    }
    match HOSTS.state(&Origin::from_uri(&urls[1])?) {
        State::Closed => Ok(()),
        other => Err(format!("it works again, and its breaker is {other}").into()),
    }
}

/// The result that the caller of a method sees.
fn status(error: ServiceError<Timed<WithCauses<transport::Error>>>) -> Status {
    match error {
        // A mistake in this program, not an outage.
        ServiceError::Rejected(rejection) if rejection.is_without_key() => {
            Status::internal(rejection.to_string())
        }
        ServiceError::Rejected(rejection) => {
            let mut status = Status::unavailable(rejection.to_string());
            // For `retry`, which must tell it from what a server says.
            status.set_source(Arc::new(rejection));
            status
        }
        ServiceError::Failed(Timed::TimedOut) => Status::deadline_exceeded("timed out"),
        ServiceError::Failed(Timed::Failed(WithCauses(error))) => Status::from_error(error.into()),
    }
}
