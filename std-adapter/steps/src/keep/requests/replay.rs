//! Sends a request again.

use std::sync::{Mutex, PoisonError};

use http::{Request, Response};
use tower::util::Oneshot;
use tower_service::Service;

use super::{KeepConfig, KeptRequest};
use crate::Workflow;
use crate::error::BoxError;

impl KeepConfig {
    /// The workflow that sends kept requests again: its kind and its lane, both kept with each job, and the client,
    /// which adds what is not kept, such as `authorization`. It has one step, and its schedule may be set.
    ///
    /// | the result | the job |
    /// |---|---|
    /// | 2xx, "303 See Other" | done |
    /// | 5xx, 408, 429, an error: any failure by the [classifier](Self::classify) | tried again by the schedule, not before its `Retry-After` |
    /// | the rejection of a breaker | due when it said; that was no try |
    /// | any other status; an error that is the request's own fault | dead: a person is told |
    ///
    /// The `Retry-After` of a 503 also applies to the lane's breaker; that of a 429 does not, as with
    /// [`HttpClassifier`](atomic_breaker_http::HttpClassifier). The body of the response is dropped.
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
}
