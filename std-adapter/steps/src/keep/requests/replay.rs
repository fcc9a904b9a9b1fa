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
    /// A response ends the step as [`step_result`](crate::step_result) says, by the [classifier](Self::classify); its
    /// body is dropped. An error is a failure, the rejection of a breaker, or the request's own fault: then the job is
    /// dead, and a person is told.
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
