// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server that responds as a test tells it, behind a breaker and a layer that keeps requests.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, HttpClassifier, TokioClock};
use atomic_breaker_steps::{
    Filter, Job, JobId, Lane, MemoryStore, Steps, Store, Workflow,
    requests::{Answer, KeepBody, KeepConfig, KeepError, KeepService, KeptRequest},
};
use atomic_breaker_tower::BreakerLayer;
use http::{HeaderMap, Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::sleep;
use tower::{Layer, Service, ServiceExt};

use super::support::{Mailbox, schedule};

/// The next act of the server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Say {
    Status(u16),
    RetryAfter(u16, u32),
    Fail(&'static str),
    Take(Duration, u16),
}

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) line: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Returns 200 when its plan is used up.
#[derive(Clone, Default)]
pub(super) struct Server {
    pub(super) plan: Arc<Mutex<VecDeque<Say>>>,
    pub(super) seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(super) fn new(plan: impl IntoIterator<Item = Say>) -> Self {
        Self {
            plan: Arc::new(Mutex::new(plan.into_iter().collect())),
            seen: Arc::default(),
        }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Method, URI and body.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |seen: Seen| format!("{} {}", seen.line, String::from_utf8_lossy(&seen.body));
        self.seen().into_iter().map(line).collect()
    }
}

impl<B> Service<Request<B>> for Server
where
    B: Body<Data: Send, Error: std::fmt::Debug + Send> + Send + 'static,
{
    type Response = Response<String>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<String>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await;
            let body = body.map_err(|error| io::Error::other(format!("{error:?}")))?;
            server.seen.lock().unwrap().push(Seen {
                line: format!("{} {}", parts.method, parts.uri),
                headers: parts.headers,
                body: body.to_bytes().to_vec(),
            });
            let next = server.plan.lock().unwrap().pop_front();
            let mut response = Response::new("hello".to_owned());
            let status = match next.unwrap_or(Say::Status(200)) {
                Say::Status(status) => status,
                Say::RetryAfter(status, seconds) => {
                    let headers = response.headers_mut();
                    headers.insert("retry-after", seconds.into());
                    status
                }
                Say::Fail(why) => return Err(io::Error::other(why)),
                Say::Take(time, status) => {
                    sleep(time).await;
                    status
                }
            };
            *response.status_mut() = status.try_into().unwrap();
            Ok(response)
        })
    }
}

pub(super) type Shared = Arc<Breaker<TokioClock>>;

/// One process: its steps, and its client of the server, for requests with bodies of type `Q`.
pub(super) struct Process<Q: Body = String> {
    pub(super) breaker: Shared,
    pub(super) store: MemoryStore,
    pub(super) steps: Steps<MemoryStore>,
    pub(super) client: KeepService<MemoryStore, Q, String>,
    pub(super) mailbox: Mailbox,
}

pub(super) fn rules() -> Config {
    Config::new().open_for(Duration::from_secs(600)).probes(1)
}

impl<Q> Process<Q>
where
    Q: Body<Data: Send, Error: std::fmt::Debug + Send> + Unpin + Send + 'static,
{
    pub(super) fn new(server: &Server, keep: &KeepConfig) -> Self {
        Self::over(MemoryStore::new(), server, keep)
    }

    pub(super) fn over(store: MemoryStore, server: &Server, keep: &KeepConfig) -> Self {
        let later = keep.replay::<KeepBody<String>, _, _>("later", "server", server.clone());
        Self::with(store, server, keep, &later.schedule(schedule(9)))
    }

    pub(super) fn with(
        store: MemoryStore,
        server: &Server,
        keep: &KeepConfig,
        later: &Workflow<KeptRequest>,
    ) -> Self {
        let breaker = Arc::new(Breaker::new(rules(), TokioClock));
        let mailbox = Mailbox::default();
        let steps = Steps::builder(store.clone())
            .lane(Lane::new("server").at_once(1).guarded(Arc::clone(&breaker)))
            .workflow(later)
            .notifier(mailbox.clone())
            .build()
            .unwrap();
        let guarded = BreakerLayer::new(Arc::clone(&breaker)).report(HttpClassifier::new());
        let client = keep.layer(&steps, later).unwrap();
        Self {
            client: client.layer(guarded.layer(server.clone())),
            breaker,
            store,
            steps,
            mailbox,
        }
    }

    pub(super) async fn send(
        &self,
        request: Request<Q>,
    ) -> Result<Answer<Response<String>>, KeepError> {
        self.client.clone().oneshot(request).await
    }

    pub(super) async fn job(&self, id: JobId) -> Job {
        self.store.job(id).await.unwrap().unwrap()
    }

    pub(super) async fn jobs(&self) -> Vec<Job> {
        let jobs = self.store.list(&Filter::default(), 1_000).await;
        jobs.unwrap()
    }
}

pub(super) fn post(path: &str, key: &str, body: &str) -> Request<String> {
    Request::post(format!("https://server.example{path}"))
        .header("idempotency-key", key)
        .header("content-type", "text/plain")
        .body(body.to_owned())
        .unwrap()
}

pub(super) fn kept<R: std::fmt::Debug>(answer: Result<Answer<R>, KeepError>) -> JobId {
    match answer {
        Ok(Answer::Kept(job)) => job,
        other => panic!("{other:?}"),
    }
}

pub(super) fn now<R: std::fmt::Debug>(answer: Result<Answer<R>, KeepError>) -> R {
    match answer {
        Ok(Answer::Now(response)) => response,
        other => panic!("{other:?}"),
    }
}
