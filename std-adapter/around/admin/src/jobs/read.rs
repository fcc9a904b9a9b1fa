// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs with their status: a page of them, or one with its failures.

use std::time::Duration;

use atomic_breaker_steps::{
    Filter, Job, JobId, LONGEST_KEY, LONGEST_NAME, Status, Steps, Store, StoreError,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::response::Problem;
use super::super::text;
use super::asked::{OfSteps, StoreTurn, limit};

const MOST: u32 = 100;
/// The number of failures of a job that are shown.
const HISTORY: usize = 100;
/// The most bytes of a state that are shown.
const STATE: usize = 16 * 1_024;

pub(super) fn absent(id: JobId) -> Problem {
    let error =
        format!("there is no job {id}: it was done or cancelled long ago, or never existed");
    Problem::not_found(error)
}

/// The jobs that are requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobsQuery {
    pub(crate) of: String,
    status: Option<Status>,
    kind: Option<String>,
    /// The key or id to look for.
    search: Option<String>,
    /// The id after which the page begins.
    after: Option<i64>,
    #[serde(default = "most")]
    limit: u32,
}

const fn most() -> u32 {
    MOST
}

impl JobsQuery {
    fn check(&self) -> Result<(), Problem> {
        let is_longer =
            |text: &Option<String>, most| text.as_ref().is_some_and(|text| text.len() > most);
        let error = if !(1..=MOST).contains(&self.limit) {
            "limit must be from 1 to 100: read the rest with after"
        } else if is_longer(&self.search, LONGEST_KEY) {
            "search must be at most 255 bytes: it is a whole key, or an id"
        } else if is_longer(&self.kind, LONGEST_NAME) {
            "kind must be at most 64 bytes"
        } else {
            return Ok(());
        };
        Err(Problem::bad_request(error))
    }
}

/// A job as it is shown.
pub(super) fn shown(job: &Job) -> Value {
    json!({
        // As text: it may exceed the integers that JavaScript can represent exactly.
        "id": job.id.to_string(),
        "kind": job.kind,
        "key": job.key,
        "step": job.step,
        "lane": job.lane,
        "status": job.status,
        "failures": job.failures,
        "due_in_ms": job.due_in_ms,
        "age_ms": ms(job.age),
        "is_told": job.is_told,
        "held_up_count": job.held_up.times,
        "held_up_ms": ms(job.held_up.time),
        "unknown_ms": ms(job.held_up.unknown),
        "state_bytes": job.state.len(),
    })
}

fn ms(time: Duration) -> u64 {
    time.as_millis() as u64
}

impl<D: Store> OfSteps<D> {
    /// Lists the jobs that are requested.
    pub(super) async fn list(&self, query: JobsQuery) -> Result<Value, Problem> {
        query.check()?;
        let mut filter = Filter::new();
        filter.status = query.status;
        filter.kind = query.kind;
        filter.after = query.after.map(JobId::new);
        let (most, search) = (query.limit, query.search);
        let is_search = search.is_some();
        let jobs = self.ask(StoreTurn::Read, limit(), move |steps| async move {
            match search {
                Some(search) => search_for(&steps, filter, &search).await,
                None => steps.store().list(&filter, most).await,
            }
        });
        let jobs = jobs.await?;
        let is_full = !is_search && jobs.len() >= most as usize;
        // Where to continue, if there may be more.
        let last = jobs.last().filter(|_| is_full);
        Ok(json!({
            "next_after": last.map(|job| job.id.to_string()),
            "jobs": jobs.iter().map(shown).collect::<Vec<_>>(),
        }))
    }

    /// A job with its failures, the latest last; if there are many, only the last ones.
    pub(super) async fn one(&self, id: i64) -> Result<Value, Problem> {
        let id = JobId::new(id);
        let both = self.ask(StoreTurn::Read, limit(), move |steps| async move {
            let Some(job) = steps.store().job(id).await? else {
                return Ok(None);
            };
            Ok(Some((job, steps.store().history(id).await?)))
        });
        let (job, history) = both.await?.ok_or_else(|| absent(id))?;
        let left_out = history.len().saturating_sub(HISTORY);
        let failures = history.iter().skip(left_out).map(|failed| {
            json!({
                "step": failed.step,
                "failures": failed.failures,
                "error": failed.error,
                "ago_ms": ms(failed.ago),
            })
        });
        let mut whole = shown(&job);
        whole["history"] = failures.collect();
        whole["history_count"] = json!(history.len());
        if self.shows_states {
            whole["state"] = json!(text::bounded(&job.state, STATE));
        }
        Ok(whole)
    }
}

/// Finds a job by its id, then by its key in each kind that is known here: both are fast lookups.
async fn search_for<D: Store>(
    steps: &Steps<D>,
    mut filter: Filter,
    search: &str,
) -> Result<Vec<Job>, StoreError> {
    let mut found = Vec::new();
    filter.after = None;
    if let Ok(id) = search.parse() {
        let job = steps.store().job(JobId::new(id)).await?;
        let fits = |job: &Job| {
            filter.status.is_none_or(|status| status == job.status)
                && filter.kind.as_ref().is_none_or(|kind| *kind == job.kind)
        };
        found.extend(job.filter(fits));
    }
    let known = steps.kinds();
    let kinds = match filter.kind.take() {
        None if !known.is_empty() => known.into_iter().map(|it| Some(it.to_owned())).collect(),
        kind => vec![kind],
    };
    filter.key = Some(search.to_owned());
    for kind in kinds {
        filter.kind = kind;
        for job in steps.store().list(&filter, MOST).await? {
            if found.iter().all(|known| known.id != job.id) {
                found.push(job);
            }
        }
    }
    Ok(found)
}
