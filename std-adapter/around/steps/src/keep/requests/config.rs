// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that are kept, the parts of them, and their number.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use atomic_breaker_http::{ErrorRule, HttpClassifier, UsualErrors};
use http::header::HeaderName;
use http::request::Parts;
use http::{Request, Response};
use tower::util::Oneshot;
use tower_service::Service;

use super::KeptRequest;
use super::rule::{may_be_kept, usual_key};
use crate::error::{BoxError, StepsError, wrong};
use crate::response::Judge;
use crate::workflow::Workflow;

/// The largest body, in bytes: as base64 it leaves a third of the largest state to headers and URI.
const LARGEST_BODY: usize = 512 << 10;

const SECRETS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "x-auth-token",
];

const OF_A_CONNECTION: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

type May = dyn Fn(&Parts) -> bool + Send + Sync;
type Key = dyn Fn(&Parts) -> String + Send + Sync;

/// The requests that are kept, their parts, and their number. Each configuration belongs to one kind of job.
///
/// | | unless set |
/// |---|---|
/// | [`keep_if`](Self::keep_if): which | those with an `Idempotency-Key` whose method is none of GET, HEAD, OPTIONS and TRACE |
/// | [`header`](Self::header): which of their headers | `content-type`, `content-encoding`, `idempotency-key` |
/// | [`query`](Self::query): with which query | only requests without one are kept |
/// | [`largest_body`](Self::largest_body) | 64 KiB |
/// | [`most`](Self::most): how many | 10,000 |
/// | [`key`](Self::key): there is one job for each | the `Idempotency-Key` with method and URI, otherwise one of its own |
/// | [`classify`](Self::classify): what is a temporary failure | 5xx but for 501 and 505, 408, 429 and errors that are not the caller's own |
///
/// **Kept requests are not encrypted**, path and body included. User name and password of a URI are never kept. Headers
/// that are not allowed are not sent again, so allow those that the server needs, and let the client of the replay add
/// secrets.
///
/// **Kept requests are sent later**, after all that was sent since: of two PUTs the older one may come last. Do not
/// keep requests whose order matters.
#[derive(Clone)]
#[must_use]
pub struct KeepConfig {
    pub(super) may: Arc<May>,
    pub(super) key: Arc<Key>,
    /// Their names in lower case, and whether they may be kept though they are secrets.
    pub(super) headers: Vec<(String, bool)>,
    /// Any, if there is no list.
    pub(super) queries: Option<Vec<String>>,
    pub(super) largest_body: usize,
    pub(super) most: usize,
    pub(super) judge: Judge,
}

impl KeepConfig {
    /// The defaults of the table.
    pub fn new() -> Self {
        let headers = ["content-type", "content-encoding", "idempotency-key"];
        Self {
            may: Arc::new(may_be_kept),
            key: Arc::new(usual_key),
            headers: headers.map(|name| (name.to_owned(), false)).to_vec(),
            queries: Some(Vec::new()),
            largest_body: 64 << 10,
            most: 10_000,
            judge: Judge::new(HttpClassifier::new().errors(UsualErrors)),
        }
    }

    /// Sets the requests that may be kept, in place of those with an `Idempotency-Key`. They are sent again, perhaps
    /// more than once, and later than others: the server must tolerate that.
    pub fn keep_if(mut self, may: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        self.may = Arc::new(may);
        self
    }

    /// Keeps this header, too. [`layer`](Self::layer) refuses the names of secrets (`authorization`,
    /// `proxy-authorization`, `cookie`, `set-cookie`, `x-api-key`, `x-auth-token`), and those that belong to one
    /// connection. A request in which the value of this header is marked as sensitive is not kept.
    pub fn header(mut self, name: &str) -> Self {
        self.headers.push((name.to_ascii_lowercase(), false));
        self
    }

    /// Keeps this header, too, even though it is a secret: anyone who can read the store can read it.
    pub fn secret_header(mut self, name: &str) -> Self {
        self.headers.push((name.to_ascii_lowercase(), true));
        self
    }

    /// Allows this name in the query of requests that are kept, with its values; as written, without decoding. A
    /// request with any other name in it is not kept.
    pub fn query(mut self, name: &str) -> Self {
        if let Some(names) = &mut self.queries {
            names.push(name.to_owned());
        }
        self
    }

    /// Keeps requests with any query, even though it may contain secrets: anyone who can read the store can read them.
    pub fn any_query(mut self) -> Self {
        self.queries = None;
        self
    }

    /// The largest body that is kept, in bytes: up to 512 KiB. That much of each request that may be kept is read
    /// before it is sent; the rest of a larger one follows as it arrives.
    pub const fn largest_body(mut self, bytes: usize) -> Self {
        self.largest_body = bytes;
        self
    }

    /// Sets the number of jobs of the lane that may exist and are neither done nor cancelled, 1 or more: jobs that
    /// wait, run, or have ended without success. So use the lane for these jobs only.
    ///
    /// They are counted while requests are to be kept: all jobs of the store at most once every 10 s, and this process
    /// counts what it keeps in between. If it is the only one, it keeps no more than that, through however many layers;
    /// with several processes each may keep as many more as the others did since its last count.
    ///
    /// Requests under way that may be kept count as well, as each goes on without its caller and holds its body: when
    /// the sum reaches this number, the next one ends with its caller, as it would without the layer, and is kept only
    /// if it fails before that and there is room then. So set it higher than what a busy service has under way.
    pub const fn most(mut self, jobs: usize) -> Self {
        self.most = jobs;
        self
    }

    /// The key of a request: there is one job for each key, for as long as it is kept; 1 to 255 bytes. **Where several
    /// tenants send their own `Idempotency-Key`, include the tenant**: `authorization` is not kept, so nothing else
    /// tells two such requests apart, and the second would be mistaken for the first.
    pub fn key(mut self, key: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Self {
        self.key = Arc::new(key);
        self
    }

    /// Sets the failures that are temporary, for the first try and the replays; and how long a `Retry-After` may be. A
    /// response that it ignores or calls a success is returned as it is, but a 429 that it ignores is a temporary
    /// failure, too, and so are a 507 and a 511 of either kind.
    pub fn classify<X>(mut self, http: HttpClassifier<X>) -> Self
    where
        X: ErrorRule<dyn Error + Send + Sync> + Send + Sync + 'static,
    {
        self.judge = Judge::new(http);
        self
    }

    /// The workflow that sends kept requests again: its kind and its lane, both kept with each job, and the client,
    /// which adds what is not kept, such as `authorization`. It has one step, and its schedule may be set.
    ///
    /// A response ends the step as [`step_result`](crate::step_result) says, by the [classifier](Self::classify); its
    /// body is dropped. An error is a failure, the rejection of a breaker, or the request's own fault: then the job is
    /// dead, and a person is notified.
    pub fn replay<Q, S, B>(
        &self,
        kind: &'static str,
        lane: &'static str,
        client: S,
    ) -> Workflow<KeptRequest>
    where
        S: Service<Request<Q>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        Q: From<Vec<u8>> + Send + 'static,
        B: Send + 'static,
    {
        let client = Mutex::new(client);
        let judge = self.judge.clone();
        Workflow::new(kind).step("send", lane, move |kept: KeptRequest| {
            let client = client.lock().unwrap_or_else(PoisonError::into_inner);
            let request = kept.request().clone().map(|body| Q::from(body.to_vec()));
            let sent = Oneshot::new(client.clone(), request);
            let judge = judge.clone();
            async move {
                let answer = sent.await.map_err(Into::into);
                judge.result(&answer)?;
                Ok(kept.done(answer.ok().map(|response| response.status())))
            }
        })
    }

    /// Checks that these settings make sense.
    pub(super) fn check(&self) -> Result<(), StepsError> {
        let bad = |name: &str, words| wrong(format!("{name:?} {words}"));
        for (name, is_secret) in &self.headers {
            let name = &**name;
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                return bad(name, "is not a header name: correct it");
            }
            if OF_A_CONNECTION.contains(&name) {
                let words = "belongs to one connection, and the client writes it: leave it out";
                return bad(name, words);
            }
            if SECRETS.contains(&name) && !is_secret {
                let words = "is a secret: let the client of the replay add it, or keep it by `secret_header`";
                return bad(name, words);
            }
        }
        let largest = self.largest_body;
        if !(1..=LARGEST_BODY).contains(&largest) {
            let words = format!("a largest body of {largest} bytes: set 1 to {LARGEST_BODY}");
            return wrong(words);
        }
        if self.most == 0 {
            return wrong("with `most` 0 nothing is kept: set at least 1");
        }
        Ok(())
    }
}

impl Default for KeepConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for KeepConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepConfig")
            .field("headers", &self.headers)
            .field("queries", &self.queries)
            .field("largest_body", &self.largest_body)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}
