// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes jobs: tries them again, or cancels them.

use atomic_breaker_server::redact::printable;
use atomic_breaker_steps::{Job, JobId, Status, Store};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::super::response::Problem;
use super::super::{Operator, text};
use super::asked::{OfSteps, StoreTurn, limit};
use super::read::{absent, shown};

/// A change as it is requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobRequest {
    pub(crate) of: String,
    #[serde(deserialize_with = "id")]
    id: JobId,
    r#do: JobCommand,
    /// The status when the operator looked.
    status: Option<Status>,
}

/// Reads an id as the list shows it, or as a number.
fn id<'de, D: Deserializer<'de>>(id: D) -> Result<JobId, D::Error> {
    let error = "id must be a whole number: use the one in the list";
    let id = match Value::deserialize(id)? {
        Value::Number(id) => id.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    id.map(JobId::new).ok_or_else(|| D::Error::custom(error))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum JobCommand {
    RetryNow,
    Cancel,
}

impl JobCommand {
    /// The reason why it cannot be done to a job with this status.
    const fn hindrance(self) -> &'static str {
        match self {
            Self::RetryNow => "only a job that waits, is parked or is dead can be tried again",
            Self::Cancel => "only a job that is neither done nor cancelled can be cancelled",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::RetryNow => "it is due now, with as many tries as a new one",
            Self::Cancel => "it is cancelled; a step that runs can no longer save what it does",
        }
    }
}

impl<D: Store> OfSteps<D> {
    /// Does what is requested.
    pub(super) async fn obey(
        &self,
        operator: &Operator,
        request: &JobRequest,
    ) -> Result<Value, Problem> {
        let (id, command) = (request.id, request.r#do);
        let read = || {
            self.ask(StoreTurn::First, limit(), move |steps| async move {
                steps.store().job(id).await
            })
        };
        let job = read().await?.ok_or_else(|| absent(id))?;
        if request.status.is_some_and(|seen| seen != job.status) {
            let status = job.status.name();
            return Err(Problem::conflict(format!(
                "it has changed since you looked: it is {status} now; look again"
            )));
        }
        let done = self.ask(StoreTurn::First, limit(), move |steps| async move {
            match command {
                JobCommand::RetryNow => steps.store().retry_now(id).await,
                JobCommand::Cancel => steps.store().cancel(id).await,
            }
        });
        let done = done.await;
        self.changed();
        let is_done = done.map_err(|problem| {
            log(operator, request, &job, "it may or may not be done");
            problem.add("; it may or may not be done: look again")
        })?;
        if is_done {
            if command == JobCommand::RetryNow {
                self.steps.wake(&job.lane);
            }
            log(operator, request, &job, command.done());
        }
        // If the store returns it.
        let after = read().await.ok().flatten();
        if !is_done {
            let status = after.as_ref().map_or(job.status, |job| job.status).name();
            let error = format!("it is {status}: {}", command.hindrance());
            return Err(Problem::conflict(error));
        }
        let after = after.as_ref().map(shown);
        Ok(json!({ "changed": true, "text": command.done(), "job": after }))
    }
}

fn log(operator: &Operator, request: &JobRequest, job: &Job, what: &str) {
    tracing::event!(
        target: "atomic_breaker::admin",
        tracing::Level::INFO,
        circuit_breaker.name = printable(&request.of),
        circuit_breaker.job = job.id.get(),
        circuit_breaker.kind = printable(&job.kind),
        circuit_breaker.key = printable(&job.key),
        circuit_breaker.command = text::of_command(request.r#do),
        circuit_breaker.operator = printable(operator.name()),
        "{what}"
    );
}
