// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server that can be told to fail.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;
use tonic::codegen::BoxStream;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Its state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mood {
    Works,
    /// Responds with `UNAVAILABLE`, and the HTTP status 200.
    Fails,
    /// The same, and asks to be tried again after so many milliseconds; not at all if they are negative.
    PushesBack(i32),
    /// The same of a caller whose quota is used up: `RESOURCE_EXHAUSTED`.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests alone"))]
    Limits(i32),
    /// Accepts calls and never responds.
    Hangs,
}

/// Its state, and how many calls have reached it.
type Shared = Arc<Mutex<(Mood, Vec<Option<String>>)>>;

/// A server at a free port of this machine, until the program ends.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    shared: Shared,
}

impl Server {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Shared::new(Mutex::new((Mood::Works, Vec::new())));
        let service = HealthServer::new(Answers(Arc::clone(&shared)));
        let server = tonic::transport::Server::builder().add_service(service);
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        Ok(Self { address, shared })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).0 = mood;
    }

    pub(crate) fn calls(&self) -> usize {
        self.previous_attempts().len()
    }

    /// Returns the previous attempts that each call reported.
    pub(crate) fn previous_attempts(&self) -> Vec<Option<String>> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.1.clone()
    }
}

struct Answers(Shared);

#[tonic::async_trait]
impl Health for Answers {
    type WatchStream = BoxStream<HealthCheckResponse>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let attempts = request.metadata().get("grpc-previous-rpc-attempts");
        let attempts = attempts.and_then(|it| it.to_str().ok()).map(str::to_owned);
        let mood = {
            let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            shared.1.push(attempts);
            shared.0
        };
        match mood {
            Mood::Works => Ok(Response::new(HealthCheckResponse {
                status: ServingStatus::Serving.into(),
            })),
            Mood::Fails => Err(Status::unavailable("its database is gone")),
            Mood::PushesBack(ms) | Mood::Limits(ms) => {
                let mut status = match mood {
                    Mood::Limits(_) => Status::resource_exhausted("over its quota"),
                    _ => Status::unavailable("it is busy"),
                };
                let metadata = status.metadata_mut();
                metadata.insert("grpc-retry-pushback-ms", ms.into());
                Err(status)
            }
            Mood::Hangs => pending().await,
        }
    }

    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("only checks"))
    }
}
