//! Saves the results of jobs.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker_steps::{Change, Save, Saved, Status, kept, micros};
use tokio_postgres::Row;

use crate::error::PostgresStoreError as Fault;
use crate::pool::Session;
use crate::sql::Sql;

/// One statement, unless a job occurs twice: then several in one transaction.
pub(crate) async fn save(
    session: &mut Session,
    sql: &Sql,
    saves: &[Save],
) -> Result<Vec<Saved>, Fault> {
    let parts = parts(saves);
    let mut results = Vec::with_capacity(saves.len());
    if parts.len() > 1 {
        session.client.batch_execute("BEGIN").await?;
    }
    for part in &parts {
        let columns = Columns::new(part)?;
        let rows = columns.save(session, sql).await?;
        let first = results.len();
        results.resize(first + part.len(), Saved::default());
        for row in &rows {
            let place = row.get::<_, i64>("place").cast_unsigned() as usize - 1;
            results[first + place] = Saved {
                is_held: true,
                tell: row.get("tell"),
            };
        }
    }
    if parts.len() > 1 {
        session.client.batch_execute("COMMIT").await?;
    }
    Ok(results)
}

/// Split in the same order, with no job twice in any part.
fn parts(saves: &[Save]) -> Vec<&[Save]> {
    let mut parts = Vec::new();
    let mut first = 0;
    let mut seen = HashSet::with_capacity(saves.len());
    for (at, save) in saves.iter().enumerate() {
        if !seen.insert(save.right.id) {
            parts.push(&saves[first..at]);
            first = at;
            seen.clear();
            seen.insert(save.right.id);
        }
    }
    if first < saves.len() {
        parts.push(&saves[first..]);
    }
    parts
}

/// An array for each column.
#[derive(Default)]
struct Columns<'a> {
    id: Vec<i64>,
    fence: Vec<i64>,
    status: Vec<&'static str>,
    step: Vec<Option<&'a str>>,
    lane: Vec<Option<&'a str>>,
    state: Vec<Option<&'a str>>,
    /// In microseconds; `None` if it ends.
    due: Vec<Option<i64>>,
    tries: Vec<i64>,
    /// Whether it is held up, as [`Changed`] has it.
    held: Vec<&'static str>,
    is_next: Vec<bool>,
    error: Vec<Option<String>>,
    tell: Vec<bool>,
}

/// What changes in one job, by columns.
struct Changed<'a> {
    status: Status,
    next: Option<(&'a str, &'a str)>,
    state: Option<&'a str>,
    due: Option<Duration>,
    error: Option<&'a str>,
    is_try: bool,
    /// `no` longer held up, or as it `was`; or given back by a worker that `knows` it, or to which it is `unknown`.
    held: &'static str,
    tell: bool,
}

impl<'a> Changed<'a> {
    fn new(change: &'a Change) -> Self {
        let nothing = Self {
            status: Status::Waiting,
            next: None,
            state: None,
            due: None,
            error: None,
            is_try: false,
            held: "no",
            tell: false,
        };
        match change {
            Change::Next {
                step,
                lane,
                state,
                keep,
            } => Self {
                status: if keep.is_some() {
                    Status::Running
                } else {
                    Status::Waiting
                },
                next: Some((step, lane)),
                state: Some(state),
                due: Some(keep.unwrap_or(Duration::ZERO)),
                ..nothing
            },
            Change::Done { state } => Self {
                status: Status::Done,
                state: Some(state),
                ..nothing
            },
            Change::Again {
                due_in,
                error,
                tell,
            } => Self {
                due: Some(*due_in),
                error: Some(error),
                is_try: true,
                tell: *tell,
                ..nothing
            },
            Change::Back { due_in } => Self {
                due: Some(*due_in),
                held: "was",
                ..nothing
            },
            Change::HeldUp {
                due_in,
                is_known,
                error,
                tell,
            } => Self {
                due: Some(*due_in),
                error: Some(error),
                held: if *is_known { "knows" } else { "unknown" },
                tell: *tell,
                ..nothing
            },
            Change::End {
                status,
                error,
                is_try,
                tell,
            } => Self {
                status: *status,
                error: Some(error),
                held: if *status == Status::Parked {
                    "was"
                } else {
                    "no"
                },
                is_try: *is_try,
                tell: *tell,
                ..nothing
            },
        }
    }
}

impl<'a> Columns<'a> {
    fn new(saves: &'a [Save]) -> Result<Self, Fault> {
        let mut columns = Self::default();
        for Save { right, change } in saves {
            let changed = Changed::new(change);
            columns.id.push(right.id.get());
            columns.fence.push(right.fence);
            columns.status.push(changed.status.name());
            columns.step.push(changed.next.map(|(step, _)| step));
            columns.lane.push(changed.next.map(|(_, lane)| lane));
            columns.state.push(changed.state);
            columns.due.push(changed.due.map(micros).transpose()?);
            columns.tries.push(i64::from(changed.is_try));
            columns.is_next.push(changed.next.is_some());
            columns.error.push(changed.error.map(kept));
            columns.tell.push(changed.tell);
            columns.held.push(changed.held);
        }
        Ok(columns)
    }

    async fn save(&self, session: &mut Session, sql: &Sql) -> Result<Vec<Row>, Fault> {
        session
            .query(
                &sql.save,
                &[
                    &self.id,
                    &self.fence,
                    &self.status,
                    &self.step,
                    &self.lane,
                    &self.state,
                    &self.due,
                    &self.tries,
                    &self.is_next,
                    &self.error,
                    &self.tell,
                    &self.held,
                ],
            )
            .await
    }
}
