//! Jobs with their status: a page of them, or one with its failures.

use atomic_breaker_steps::{Filter, Job, JobId, LONGEST_KEY, LONGEST_NAME, Status, StoreError};
use serde::{Deserialize, Serialize};

use super::super::response::Problem;
use super::super::shown::Shown;
use super::super::source::jobs::Jobs;
use super::super::text;
use super::{One, absent, of};

const MOST: u32 = 100;
/// How many failures of a job are shown.
const HISTORY: usize = 100;
/// The most bytes of a state that are shown.
const STATE: usize = 16 * 1_024;

/// Which jobs are requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    of: String,
    #[serde(default, deserialize_with = "super::status")]
    status: Option<Status>,
    kind: Option<String>,
    /// With this key or id.
    search: Option<String>,
    /// With a greater id than this.
    after: Option<i64>,
    #[serde(default = "most")]
    limit: u32,
}

const fn most() -> u32 {
    MOST
}

impl Query {
    pub(super) fn check(&self) -> Result<(), Problem> {
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

#[derive(Debug, Serialize)]
pub(super) struct Page {
    jobs: Vec<Entry>,
    /// Where to continue, if there may be more.
    next_after: Option<String>,
}

/// A job.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    /// As text: it may exceed the integers that JavaScript can represent exactly.
    id: String,
    kind: String,
    key: String,
    step: String,
    lane: String,
    status: &'static str,
    failures: u32,
    due_in_ms: i64,
    age_ms: u64,
    is_told: bool,
    /// How often in a row it was given back without a try.
    held_up_count: u32,
    /// How long ago the first time was.
    held_up_ms: u64,
    /// How long it has not been claimed by any worker that knows how to run it.
    unknown_ms: u64,
    state_bytes: usize,
}

impl From<Job> for Entry {
    fn from(job: Job) -> Self {
        Self {
            id: job.id.to_string(),
            status: job.status.name(),
            failures: job.failures,
            due_in_ms: job.due_in_ms,
            age_ms: job.age.as_millis() as u64,
            is_told: job.is_told,
            held_up_count: job.held_up.times,
            held_up_ms: job.held_up.time.as_millis() as u64,
            unknown_ms: job.held_up.unknown.as_millis() as u64,
            state_bytes: job.state.len(),
            kind: job.kind,
            key: job.key,
            step: job.step,
            lane: job.lane,
        }
    }
}

pub(super) async fn list(shown: &Shown, query: &Query) -> Result<Page, Problem> {
    let steps = of(shown, &query.of)?;
    let filter = Filter {
        status: query.status,
        kind: query.kind.clone(),
        key: None,
        after: query.after.map(JobId::new),
    };
    let (limit, search) = (query.limit, query.search.clone());
    let is_search = search.is_some();
    let jobs = steps.ask(move |jobs| async move {
        match search {
            Some(search) => search_for(&*jobs, filter, &search).await,
            None => jobs.list(&filter, limit).await,
        }
    });
    let jobs: Vec<_> = jobs.await?.into_iter().map(Entry::from).collect();
    let is_full = !is_search && jobs.len() >= limit as usize;
    let last = jobs.last().filter(|_| is_full);
    Ok(Page {
        next_after: last.map(|job| job.id.clone()),
        jobs,
    })
}

/// By its id, then by its key in each kind that is known here: both are fast lookups.
async fn search_for(
    jobs: &dyn Jobs,
    mut filter: Filter,
    search: &str,
) -> Result<Vec<Job>, StoreError> {
    let mut found = Vec::new();
    filter.after = None;
    if let Ok(id) = search.parse() {
        let job = jobs.job(JobId::new(id)).await?;
        let fits = |job: &Job| {
            filter.status.is_none_or(|status| status == job.status)
                && filter.kind.as_ref().is_none_or(|kind| *kind == job.kind)
        };
        found.extend(job.filter(fits));
    }
    let known = jobs.kinds();
    let kinds = match filter.kind.take() {
        None if !known.is_empty() => known.into_iter().map(|it| Some(it.to_owned())).collect(),
        kind => vec![kind],
    };
    filter.key = Some(search.to_owned());
    for kind in kinds {
        filter.kind = kind;
        let listed = jobs.list(&filter, MOST).await?;
        let is_new = |job: &Job| found.iter().all(|known| known.id != job.id);
        let new: Vec<_> = listed.into_iter().filter(is_new).collect();
        found.extend(new);
    }
    Ok(found)
}

/// A job with its failures.
#[derive(Debug, Serialize)]
pub(super) struct Whole {
    /// Its state, where states are shown, up to the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(flatten)]
    job: Entry,
    /// The failures, the latest last; if there are many, only the last ones.
    history: Vec<Failure>,
    /// The total number of failures.
    history_count: usize,
}

#[derive(Debug, Serialize)]
struct Failure {
    step: String,
    failures: u32,
    error: String,
    ago_ms: u64,
}

pub(super) async fn one(shown: &Shown, query: &One) -> Result<Whole, Problem> {
    let steps = of(shown, &query.of)?;
    let id = JobId::new(query.id);
    let both = steps.ask(move |jobs| async move {
        let Some(job) = jobs.job(id).await? else {
            return Ok(None);
        };
        Ok(Some((job, jobs.history(id).await?)))
    });
    let (job, history) = both.await?.ok_or_else(|| absent(id))?;
    let shows_states = steps.it.shows_states;
    let history_count = history.len();
    let left_out = history_count.saturating_sub(HISTORY);
    let history = history.into_iter().skip(left_out).map(|failed| Failure {
        step: failed.step,
        failures: failed.failures,
        error: failed.error,
        ago_ms: failed.ago.as_millis() as u64,
    });
    Ok(Whole {
        state: shows_states.then(|| text::bounded(&job.state, STATE)),
        job: Entry::from(job),
        history: history.collect(),
        history_count,
    })
}
