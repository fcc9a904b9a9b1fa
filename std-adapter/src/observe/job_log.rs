//! Logs what an operator must know of durable steps: few events of each kind, however many jobs there are.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::steps::{Asked, Job, JobObserver, Status, Stuck};
use crate::words::printable;

/// How many events of one kind are logged per second.
const MOST: u64 = 10;

/// The interval at which a failing store is logged.
const STORE_EACH: Duration = Duration::from_secs(60);

/// Logs what an operator must know of durable [steps](crate::steps) as events of `tracing`, target
/// `atomic_breaker::steps`: jobs that ended without success or were lost, messages to a person that failed, a store that
/// fails. Pass it to [`StepsBuilder::observer`](crate::steps::StepsBuilder::observer).
///
/// ```
/// use atomic_breaker_std::observe::JobLog;
/// use atomic_breaker_std::steps::{Lane, MemoryStore, Steps, Workflow};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| Ok(to));
/// let steps = Steps::builder(MemoryStore::new())
///     .lane(Lane::new("mail"))
///     .workflow(&welcome)
///     .observer(JobLog::new())
///     .build()?;
/// # drop(steps);
/// # Ok(()) }
/// ```
///
/// Of each kind of event at most ten are logged per second, and a store that fails once a minute; the next event of the
/// same kind says how many were left out. `docs/observability.md` in the repository lists the events and their fields.
#[derive(Debug, Default)]
pub struct JobLog {
    ended: Sparse,
    lost: Sparse,
    unkept: Sparse,
    told: Sparse,
    /// Lanes for which it was logged that steps are in their own way.
    in_their_own_way: Mutex<HashSet<String>>,
    store: Mutex<Store>,
    /// The failure of the store was logged, and its recovery not yet. No other memory depends on it.
    is_store_down: AtomicBool,
}

#[derive(Debug, Default)]
struct Store {
    logged: Option<Instant>,
    left_out: u64,
}

macro_rules! warn_of {
    ($job:expr, $left_out:expr, $error:expr, $($message:tt)*) => {
        tracing::event!(
            target: "atomic_breaker::steps",
            tracing::Level::WARN,
            circuit_breaker.job = kept($job),
            circuit_breaker.kind = printable(&$job.kind),
            circuit_breaker.key = printable(&$job.key),
            circuit_breaker.step = printable(&$job.step),
            circuit_breaker.lane = printable(&$job.lane),
            circuit_breaker.events_left_out = some($left_out),
            error = $error,
            $($message)*
        )
    };
}

impl JobLog {
    /// A log of all jobs of this process, or, with one for each, of one store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl JobObserver for JobLog {
    fn ended(&self, job: &Job, status: Status, error: &str) {
        if !matches!(status, Status::Dead | Status::Parked) {
            return;
        }
        if let Some(left_out) = self.ended.take() {
            warn_of!(
                job,
                left_out,
                printable(error),
                "a job is {}",
                status.name()
            );
        }
    }

    fn lost(&self, job: &Job) {
        if let Some(left_out) = self.lost.take() {
            let none: Option<&str> = None;
            warn_of!(
                job,
                left_out,
                none,
                "the right to a job was gone before what came of it was saved"
            );
        }
    }

    fn unkept(&self, job: &Job, error: &str) {
        if let Some(left_out) = self.unkept.take() {
            warn_of!(
                job,
                left_out,
                printable(error),
                "what was to become a job is neither done nor kept, and its caller has gone"
            );
        }
    }

    /// Once for each lane.
    fn in_its_own_way(&self, job: &Job) {
        if lock(&self.in_their_own_way).insert(job.lane.clone()) {
            let none: Option<&str> = None;
            warn_of!(
                job,
                0,
                none,
                "a call within the step was rejected while the step was the probe of its lane: if both have the same \
                 breaker, failures count twice; use `Lane::guarded_within`"
            );
        }
    }

    fn told(&self, stuck: &Stuck, error: Option<&str>) {
        let Some(error) = error else { return };
        if let Some(left_out) = self.told.take() {
            warn_of!(
                &stuck.job,
                left_out,
                printable(error),
                "nobody could be told that a job is {}",
                stuck.status.name()
            );
        }
    }

    fn store_failed(&self, asked: Asked, error: &str) {
        let left_out = {
            let mut store = lock(&self.store);
            let now = Instant::now();
            if store.logged.is_some_and(|at| now - at < STORE_EACH) {
                store.left_out += 1;
                return;
            }
            store.logged = Some(now);
            std::mem::take(&mut store.left_out)
        };
        self.is_store_down.store(true, Ordering::Relaxed);
        tracing::event!(
            target: "atomic_breaker::steps",
            tracing::Level::WARN,
            circuit_breaker.operation = asked.name(),
            circuit_breaker.events_left_out = some(left_out),
            error = printable(error),
            "the store of jobs fails"
        );
    }

    fn store_answered(&self) {
        let is_down = &self.is_store_down;
        if is_down.load(Ordering::Relaxed) && is_down.swap(false, Ordering::Relaxed) {
            tracing::event!(
                target: "atomic_breaker::steps",
                tracing::Level::INFO,
                "the store of jobs answers"
            );
        }
    }
}

/// Which events of one kind are logged: the first ones in each second.
#[derive(Debug, Default)]
struct Sparse(Mutex<Second>);

#[derive(Debug, Default)]
struct Second {
    began: Option<Instant>,
    logged: u64,
    left_out: u64,
}

impl Sparse {
    /// Whether to log this event: if so, how many were left out since the last one that was logged.
    fn take(&self) -> Option<u64> {
        let mut second = lock(&self.0);
        let now = Instant::now();
        if second
            .began
            .is_none_or(|began| now - began >= Duration::from_secs(1))
        {
            second.began = Some(now);
            second.logged = 0;
        }
        if second.logged == MOST {
            second.left_out += 1;
            return None;
        }
        second.logged += 1;
        Some(std::mem::take(&mut second.left_out))
    }
}

/// The job's number; none for a call that is kept only if it does not succeed.
fn kept(job: &Job) -> Option<i64> {
    Some(job.id.get()).filter(|id| *id != 0)
}

fn some(count: u64) -> Option<u64> {
    (count != 0).then_some(count)
}

/// A panic under the lock leaves the data consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
