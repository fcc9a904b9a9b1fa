// SPDX-License-Identifier: MIT OR Apache-2.0
//! The store: what each call does.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Counts, Failed, Filter, Job, JobId, JobRow, Line, NewJob, Put, Right, Save, Saved,
    Status, Store, StoreError, micros, since,
};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::error::{error, words};
use crate::open::open;
use crate::row::{change, change_all, job, now, text};
use crate::thread::{Does, Thread};

/// Jobs in an SQLite file. Clones are the same store.
///
/// A thread of its own has the connection, and the runtime is never blocked; calls that arrive while it commits are committed
/// together. Acknowledged changes survive a crash of the process, and a power cut as well, except for claims: the
/// workers that held them are gone, too.
///
/// Its tables are named `atomic_breaker_*`, so the file may be that of the application: then a job is kept in [the
/// application's own transaction](Self::put_in). The file is switched to SQLite's write-ahead log; it must be on a
/// local file system, not a network one.
///
/// If the file is deleted, moved or replaced while it is open, calls are errors until it is put back or opened again: nothing
/// is acknowledged that would be lost. (On Windows an open file cannot be deleted.)
///
/// Times are those of the machine's clock. If that is set forward, jobs become due and leases end that much sooner; if
/// it is set back, that much later.
#[derive(Clone)]
pub struct SqliteStore {
    thread: Thread,
    path: PathBuf,
}

impl SqliteStore {
    /// Opens a file, and creates it if it does not exist. Each store of `":memory:"` has its own database, which ends
    /// with it.
    ///
    /// Blocks while the file is opened, and for up to 5 s while another process writes to it.
    ///
    /// # Errors
    /// [`StoreError`] names the file and what is wrong with it: it is not an SQLite file, is of another version of this
    /// crate, cannot be written, or its folder does not exist.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let wrong = |words| StoreError::new(format!("{}: {words}", path.display()));
        let (connection, files) = open(path).map_err(|error| wrong(words(&error)))?;
        let thread = Thread::start(connection, files);
        let none = |error| wrong(format!("no thread for its connection: {error}"));
        Ok(Self {
            thread: thread.map_err(none)?,
            path: path.to_owned(),
        })
    }

    /// Keeps a job within a transaction of the caller's, on the caller's connection to the same file, which a store
    /// must have opened before. The job exists once that is committed, and never did if it is rolled back. Workers find
    /// it by their [poll](atomic_breaker_steps::StepsBuilder::poll), those of this process at once when they are
    /// [woken](atomic_breaker_steps::Steps::wake) after the commit.
    ///
    /// Begin the transaction as `Immediate`: one that reads before it writes is rejected by SQLite if another
    /// connection writes in between.
    ///
    /// ```
    /// use atomic_breaker_steps_sqlite::{SqliteStore, rusqlite::{Connection, TransactionBehavior}};
    /// use atomic_breaker_steps::Workflow;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("atomic-breaker-steps-sqlite-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("jobs.db");
    /// # let orders: Workflow<u64> = Workflow::new("order").step("bill", "billing", async |order| Ok(order));
    /// let store = SqliteStore::open(&path)?;
    ///
    /// let mut connection = Connection::open(&path)?;
    /// connection.execute("CREATE TABLE orders (amount INTEGER)", [])?;
    /// let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    /// transaction.execute("INSERT INTO orders VALUES (?1)", [42])?;
    /// let order = transaction.last_insert_rowid() as u64;
    /// SqliteStore::put_in(&transaction, &orders.job(order.to_string(), &order)?)?;
    /// transaction.commit()?;
    /// # drop((store, connection));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`StoreError`]: no job is kept.
    pub fn put_in(
        transaction: &rusqlite::Transaction<'_>,
        job: &NewJob,
    ) -> Result<Put, StoreError> {
        let put = now().and_then(|now| put(transaction, job, None, now));
        put.map_err(|error| StoreError::new(words(&error)))
    }
}

fn put(connection: &Connection, new: &NewJob, lease: Option<Duration>, now: i64) -> Result<Put> {
    let row = JobRow::new(new, lease, now).map_err(error)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO atomic_breaker_job (kind, key, step, lane, state, status, due, first_due, fence, is_alone)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (kind, key) DO NOTHING
         RETURNING id",
    )?;
    let values = (
        &row.kind,
        &row.key,
        &row.step,
        &row.lane,
        &row.state,
        row.status.name(),
        row.due,
        row.first_due,
        row.fence,
        row.is_alone,
    );
    let id = insert.query_one(values, |row| row.get(0)).optional()?;
    if let Some(id) = id.map(JobId::new) {
        return Ok(Put::New(id, row.right(id)));
    }
    let mut select = connection
        .prepare_cached("SELECT * FROM atomic_breaker_job WHERE kind = ?1 AND key = ?2")?;
    let (id, found) = select.query_one((&new.kind, &new.key), job)?;
    Ok(Put::Exists(found.job(id, now)))
}

fn next_due(connection: &Connection, lane: &str, now: i64) -> Result<Option<Duration>> {
    let mut select = connection.prepare_cached(
        "SELECT min(due) FROM atomic_breaker_job WHERE lane = ?1 AND ended IS NULL",
    )?;
    let next: Option<i64> = select.query_one([lane], |row| row.get(0))?;
    Ok(next.map(|due| since(due, now)))
}

impl Store for SqliteStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let job = job.clone();
        let put = move |connection: &Connection, now| put(connection, &job, lease, now);
        self.thread.ask(Does::Write, put).await
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        let lane = lane.to_owned();
        let next = move |connection: &Connection, now| next_due(connection, &lane, now);
        self.thread.ask(Does::Read, next).await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let lane = lane.to_owned();
        let claim = move |connection: &Connection, now| {
            let mut select = connection.prepare_cached(
                "SELECT * FROM atomic_breaker_job WHERE lane = ?1 AND ended IS NULL AND due <= ?2
                 ORDER BY due, id LIMIT ?3",
            )?;
            let due = select.query_map((&lane, now, most), job)?;
            let mut due = due.collect::<Result<Vec<_>>>()?;
            let claim = |due: &mut _| JobRow::claim(due, lease, now);
            let jobs = change_all(connection, &mut due, claim)?;
            let next_due = if jobs.len() < most as usize {
                next_due(connection, &lane, now)?
            } else {
                None
            };
            Ok(Claim { jobs, next_due })
        };
        self.thread.ask(Does::Claim, claim).await
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        let renew = move |jobs: &Connection, now| {
            change(jobs, right.id, |row| row.renew(right, lease, now))
        };
        self.thread.ask(Does::Claim, renew).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let saves = saves.to_vec();
        let save = move |connection: &Connection, now| {
            let results = saves.iter().map(|save| {
                let id = save.right.id;
                change(connection, id, |row| {
                    row.save(save.right, &save.change, now)
                })
            });
            results.collect()
        };
        self.thread.ask(Does::Write, save).await
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        let kind = kind.to_owned();
        let steps: Vec<_> = steps.iter().map(|&step| step.to_owned()).collect();
        let unpark = move |connection: &Connection, now| {
            let mut select = connection.prepare_cached(
                "SELECT * FROM atomic_breaker_job WHERE status = 'parked' AND kind = ?1 AND step = ?2 AND ended <= ?3
                 ORDER BY id LIMIT ?4",
            )?;
            let mut left = most;
            for step in &steps {
                let parked = (&kind, step, before(now, parked_before), left);
                let mut parked = select.query_map(parked, job)?.collect::<Result<Vec<_>>>()?;
                left -= change_all(connection, &mut parked, |rows| {
                    let unpark = |row: &mut JobRow| row.unpark(&kind, &[step], parked_before, now);
                    rows.iter_mut()
                        .map(|(_, row)| u32::from(unpark(row)))
                        .sum::<u32>()
                })?;
            }
            Ok(u64::from(most - left))
        };
        self.thread.ask(Does::Write, unpark).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let filter = filter.clone();
        let list = move |connection: &Connection, now| {
            // Written so that the index of stuck jobs can be used, or that of kinds and keys.
            let status = match filter.status {
                None => String::new(),
                Some(Status::Waiting) => {
                    "AND (status = 'waiting' OR status = 'running' AND due <= ?5)".to_owned()
                }
                Some(Status::Running) => "AND status = 'running' AND due > ?5".to_owned(),
                Some(status) => format!("AND status = '{}'", status.name()),
            };
            let of = match (&filter.kind, &filter.key) {
                (Some(_), Some(_)) => "kind = ?2 AND key = ?3",
                _ => "(?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR key = ?3)",
            };
            let mut select = connection.prepare_cached(&format!(
                "SELECT * FROM atomic_breaker_job WHERE id > ?1 {status} AND {of} AND ?5 IS NOT NULL ORDER BY id LIMIT ?4"
            ))?;
            let after = filter.after.map_or(0, JobId::get);
            let jobs = select.query_map((after, &filter.kind, &filter.key, most, now), job)?;
            let jobs = jobs.map(|job| job.map(|(id, row)| row.job(id, now)));
            jobs.collect()
        };
        self.thread.ask(Does::Read, list).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        let history = move |connection: &Connection, now| {
            let mut select = connection
                .prepare_cached("SELECT * FROM atomic_breaker_failed WHERE job = ?1 ORDER BY id")?;
            let history = select.query_map([id.get()], |row| {
                let line = Line {
                    step: text(row, "step", &mut Vec::new())?,
                    failures: JobRow::count("failures", row.get("failures")?, &mut Vec::new()),
                    error: text(row, "error", &mut Vec::new())?,
                    at: row.get("at")?,
                };
                Ok(line.failed(now))
            })?;
            history.collect()
        };
        self.thread.ask(Does::Read, history).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        let retry = move |jobs: &Connection, now| change(jobs, id, |row| row.retry_now(now));
        self.thread.ask(Does::Write, retry).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        let cancel = move |jobs: &Connection, now| change(jobs, id, |row| row.cancel(now));
        self.thread.ask(Does::Write, cancel).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let counts = |connection: &Connection, now| {
            let mut select = connection.prepare_cached(
                "SELECT lane, status, count(*) AS jobs, count(since) AS due, min(since) AS first FROM (
                     SELECT lane, status, CASE
                         WHEN status = 'waiting' AND (due <= ?1 OR held_since IS NOT NULL) THEN coalesce(held_since, due)
                     END AS since FROM (
                         SELECT lane, due, held_since,
                             CASE WHEN status = 'running' AND due <= ?1 THEN 'waiting' ELSE status END AS status
                         FROM atomic_breaker_job
                     )
                 )
                 GROUP BY lane, status",
            )?;
            let groups = select.query_map([now], |row| {
                let [count, due] = [row.get::<_, i64>("jobs")?, row.get("due")?];
                let first: Option<i64> = row.get("first")?;
                Ok((
                    text(row, "lane", &mut Vec::new())?,
                    JobRow::status(&text(row, "status", &mut Vec::new())?, &mut Vec::new()),
                    count.cast_unsigned(),
                    due.cast_unsigned(),
                    first.map(|first| since(now, first)),
                ))
            })?;
            Ok(Counts::sum(groups.collect::<Result<Vec<_>>>()?))
        };
        self.thread.ask(Does::Read, counts).await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        let forget = move |connection: &Connection, now| {
            let mut delete = connection.prepare_cached(
                "DELETE FROM atomic_breaker_job WHERE id IN (
                     SELECT id FROM atomic_breaker_job
                     WHERE status IN ('done', 'cancelled') AND ended <= ?1
                     ORDER BY ended LIMIT ?2
                 )",
            )?;
            Ok(delete.execute((before(now, ended_before), most))? as u64)
        };
        self.thread.ask(Does::Write, forget).await
    }
}

/// The time that long ago; before everything if no clock counts that far.
fn before(now: i64, time: Duration) -> i64 {
    micros(time).map_or(i64::MIN, |time| now.saturating_sub(time))
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
