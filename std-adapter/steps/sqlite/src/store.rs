//! The store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Counts, Failed, Filter, Job, JobId, NewJob, Put, Right, Row, Save, Saved, Store,
    StoreError,
};

use crate::error::{Fault, SqliteStoreError, words};
use crate::open::open;
use crate::thread::{Does, Thread};
use crate::{claim, operate, put, row};

/// Jobs in an SQLite file. Clones are the same store.
///
/// One thread owns the connection, and the runtime is never blocked; calls that arrive while it commits are committed
/// together. Acknowledged changes survive a crash of the process, and a power cut as well, except for claims: the
/// workers that held them are gone, too.
///
/// Its tables are named `atomic_breaker_*`, so the file may be that of the application: then a job is kept in [the
/// application's own transaction](Self::put_in). The file is switched to SQLite's write-ahead log; it must be on a
/// local file system, not a network one.
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
    /// [`SqliteStoreError`] names the file and what is wrong with it: it is not an SQLite file, is of a newer version
    /// of this crate, cannot be written, or its folder does not exist.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteStoreError> {
        let path = path.as_ref();
        let wrong = |fault| SqliteStoreError::new(path, fault);
        let connection = open(path).map_err(wrong)?;
        let thread = Thread::start(connection);
        Ok(Self {
            thread: thread.map_err(|error| {
                wrong(Fault::Other(format!(
                    "no thread for its connection: {error}"
                )))
            })?,
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
    /// use atomic_breaker_sqlite::{SqliteStore, rusqlite::{Connection, TransactionBehavior}};
    /// use atomic_breaker_steps::Workflow;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("atomic-breaker-sqlite-{}", std::process::id()));
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
        let put = put::put(transaction, job, None);
        put.map_err(|error| StoreError::new(words(&error)))
    }

    async fn change(
        &self,
        id: JobId,
        change: fn(&mut Row, i64) -> bool,
    ) -> Result<bool, StoreError> {
        let change = move |connection: &_| {
            let now = row::now()?;
            let changed = row::change(connection, id, |row| change(row, now))?;
            Ok(changed.unwrap_or(false))
        };
        self.thread.ask(Does::Write, change).await
    }
}

impl Store for SqliteStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let job = job.clone();
        let put = move |connection: &_| put::put(connection, &job, lease);
        self.thread.ask(Does::Write, put).await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let lane = lane.to_owned();
        let claim = move |connection: &_| claim::claim(connection, &lane, most, lease);
        self.thread.ask(Does::Claim, claim).await
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        let rights = rights.to_vec();
        let renew = move |connection: &_| claim::renew(connection, &rights, lease);
        self.thread.ask(Does::Claim, renew).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let saves = saves.to_vec();
        let save = move |connection: &_| claim::save(connection, &saves);
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
        let unpark =
            move |connection: &_| operate::unpark(connection, &kind, &steps, parked_before, most);
        self.thread.ask(Does::Write, unpark).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let find = move |connection: &_| {
            let row = row::find(connection, id)?;
            let now = row::now()?;
            Ok(row.map(|row| row.job(id, now)))
        };
        self.thread.ask(Does::Read, find).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let filter = filter.clone();
        let list = move |connection: &_| operate::list(connection, &filter, most);
        self.thread.ask(Does::Read, list).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        let history = move |connection: &_| operate::history(connection, id);
        self.thread.ask(Does::Read, history).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.change(id, Row::retry_now).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.change(id, Row::cancel).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.thread.ask(Does::Read, operate::counts).await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        let forget = move |connection: &_| operate::forget(connection, ended_before, most);
        self.thread.ask(Does::Write, forget).await
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
