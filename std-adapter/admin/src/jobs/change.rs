//! Changes jobs: tries them again, or cancels them.

use atomic_breaker_std::words::printable;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::super::Operator;
use super::super::answer::Problem;
use super::super::builder::Shown;
use super::read::Entry;
use super::{STATUSES, absent, of};
use atomic_breaker_std::steps::{Job, JobId, Status};

/// A change as it is requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    of: String,
    id: Id,
    r#do: Command,
    /// The status when the operator looked.
    #[serde(default)]
    status: Option<String>,
}

/// As the list shows it, or as a number.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "id must be a whole number: take that of the list"
)]
enum Id {
    Number(i64),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Command {
    RetryNow,
    Cancel,
}

impl Request {
    pub(super) fn read(body: &[u8]) -> Result<Self, Problem> {
        serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))
    }

    fn id(&self) -> Result<JobId, Problem> {
        let id = match &self.id {
            Id::Number(id) => Some(*id),
            Id::Text(text) => text.parse().ok(),
        };
        let error = "id must be a whole number: take that of the list";
        id.map(JobId::new).ok_or_else(|| wrong(error))
    }

    fn seen(&self) -> Result<Option<Status>, Problem> {
        let seen = self.status.as_deref();
        let seen = seen.map(|name| Status::of(name).ok_or_else(|| wrong(STATUSES)));
        seen.transpose()
    }
}

fn wrong(error: impl Into<String>) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error)
}

impl Command {
    const fn name(self) -> &'static str {
        match self {
            Self::RetryNow => "retry-now",
            Self::Cancel => "cancel",
        }
    }

    /// Why it cannot be done to a job with this status.
    const fn hindrance(self) -> &'static str {
        match self {
            Self::RetryNow => "one that waits, is parked or dead can be tried again",
            Self::Cancel => "one that is neither done nor cancelled can be cancelled",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::RetryNow => "it is due now, with as many tries as a new one",
            Self::Cancel => "it is cancelled; a step that runs cannot save what it does any more",
        }
    }
}

/// The result.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    changed: bool,
    text: &'static str,
    /// The job afterwards, if the store returned it.
    job: Option<Entry>,
}

pub(super) async fn obey(
    shown: &Shown,
    operator: &Operator,
    request: &Request,
) -> Result<Answer, Problem> {
    let (id, command, seen) = (request.id()?, request.r#do, request.seen()?);
    let steps = of(shown, &request.of)?;
    let read = async || {
        let read = steps.ask_first(move |jobs| async move { jobs.job(id).await });
        read.await
    };
    let job = read().await?.ok_or_else(|| absent(id))?;
    if seen.is_some_and(|seen| seen != job.status) {
        return Err(changed(&job));
    }
    let done = steps.ask_first(move |jobs| async move {
        match command {
            Command::RetryNow => jobs.retry_now(id).await,
            Command::Cancel => jobs.cancel(id).await,
        }
    });
    let done = done.await;
    steps.it.changed();
    let is_done = done.map_err(|problem| {
        log(operator, request, &job, "it may be done or not");
        problem.add("; it may be done or not: look again")
    })?;
    if is_done {
        if command == Command::RetryNow {
            steps.it.jobs.wake(&job.lane);
        }
        log(operator, request, &job, command.done());
    }
    let after = read().await.ok().flatten();
    if !is_done {
        let status = after.as_ref().map_or(job.status, |job| job.status);
        return Err(refused(command, status));
    }
    Ok(Answer {
        changed: true,
        text: command.done(),
        job: after.as_ref().map(Entry::new),
    })
}

fn changed(job: &Job) -> Problem {
    let status = job.status.name();
    let error = format!("it has changed since you looked: it is {status} now; look again");
    Problem::new(StatusCode::CONFLICT, error)
}

fn refused(command: Command, status: Status) -> Problem {
    let error = format!("it is {}: {}", status.name(), command.hindrance());
    Problem::new(StatusCode::CONFLICT, error)
}

fn log(operator: &Operator, request: &Request, job: &Job, what: &str) {
    tracing::event!(
        target: "atomic_breaker::admin",
        tracing::Level::INFO,
        circuit_breaker.name = printable(&request.of),
        circuit_breaker.job = job.id.get(),
        circuit_breaker.kind = printable(&job.kind),
        circuit_breaker.key = printable(&job.key),
        circuit_breaker.command = request.r#do.name(),
        circuit_breaker.operator = printable(operator.name()),
        "{what}"
    );
}
