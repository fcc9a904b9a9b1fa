// SPDX-License-Identifier: MIT OR Apache-2.0
//! Worker processes that are killed at random, and a database that may be restarted: every job is done, each of its
//! steps is saved once, and each right is given to one process.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use atomic_breaker_steps::{
    Filter, JobId, Lane, Schedule, Status, StepError, Steps, Store, Workflow,
};

use super::diary::Diary;
use super::number;

const PLACE: &str = "ATOMIC_BREAKER_STORM_PLACE";
const DIARY: &str = "ATOMIC_BREAKER_STORM_DIARY";

/// The number of times that a job may be lost with its worker: more often than happens here.
const TRIES: u32 = 1_000;

pub struct Storm {
    pub name: &'static str,
    pub processes: usize,
    /// The directory of the diaries.
    pub folder: PathBuf,
    /// The value that [`place`] returns in the workers.
    pub place: String,
}

/// The location of the database, in a worker process.
pub fn place() -> Option<String> {
    std::env::var(PLACE).ok()
}

fn workflow() -> Workflow<Vec<String>> {
    let step = |name: &'static str| {
        async move |mut done: Vec<String>| {
            done.push(name.to_owned());
            Ok::<_, StepError>(done)
        }
    };
    let schedule = Schedule::new()
        .first(Duration::from_millis(10))
        .growth(1.0)
        .tries(TRIES);
    Workflow::new("storm")
        .step("first", "a", step("first"))
        .step("second", "b", step("second"))
        .schedule(schedule)
}

/// Works until it is killed.
pub async fn work(store: impl Store) {
    let diary = std::env::var_os(DIARY).expect("a path for the diary");
    let steps = Steps::builder(Diary::new(store, Path::new(&diary)))
        .lane(Lane::new("a").at_once(64))
        .lane(Lane::new("b").at_once(64))
        .workflow(&workflow())
        .lease(Duration::from_secs(1))
        .poll(Duration::from_millis(50))
        .build()
        .unwrap();
    let _worker = steps.work();
    std::future::pending::<()>().await;
}

/// Ends with the process's own handle, even after a panic.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Storm {
    /// `restart` is called once, when about a third is done.
    pub async fn run<S: Store + Clone>(self, store: S, restart: impl AsyncFnOnce()) {
        let jobs = number("ATOMIC_BREAKER_STORM", 1_000);
        let seed = number("ATOMIC_BREAKER_SEED", fastrand::u64(..));
        let mut random = fastrand::Rng::with_seed(seed);
        println!(
            "{}: {jobs} jobs, {} processes, seed {seed}",
            self.name, self.processes
        );
        let began = Instant::now();
        let limit = Duration::from_secs(60) + Duration::from_millis(10) * jobs as u32;
        let mut restart = Some(restart);
        let mut kills = 0;
        let mut workers: Vec<_> = (0..self.processes).map(|at| self.worker(at)).collect();
        let keeping = tokio::spawn(keep(store.clone(), jobs));
        loop {
            // The first kill happens while workers are busy, however fast they are.
            let pause = if kills == 0 { 1 } else { random.u64(50..500) };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            // The database does not respond while it restarts.
            let counts = store.counts().await.unwrap_or_default();
            let done = counts.of(Status::Done);
            if done == jobs {
                break;
            }
            assert!(
                began.elapsed() < limit,
                "{done} of {jobs} after {limit:?}: {counts:?}"
            );
            if done == 0 && kills == 0 {
                continue;
            }
            let at = random.usize(..self.processes);
            let status = workers[at].0.try_wait().unwrap();
            assert!(status.is_none(), "a worker ended by itself: {status:?}");
            workers[at] = self.worker(at);
            kills += 1;
            if done > jobs / 3
                && let Some(restart) = restart.take()
            {
                restart().await;
            }
        }
        keeping.await.unwrap();
        drop(workers);
        let rights = self.check(&store, jobs).await;
        let took = began.elapsed();
        println!(
            "{}: {jobs} jobs of two steps done in {took:.1?}, each step saved once; {kills} processes killed, \
             {rights} rights given, each to one",
            self.name
        );
        assert!(kills > 0, "too few jobs to kill a worker");
    }

    fn worker(&self, at: usize) -> Worker {
        let child = Command::new(std::env::current_exe().unwrap())
            .env(PLACE, &self.place)
            .env(DIARY, self.diary(at))
            .stdout(Stdio::null())
            .spawn();
        Worker(child.unwrap())
    }

    fn diary(&self, at: usize) -> PathBuf {
        self.folder.join(format!("diary-{at}"))
    }

    /// The number of rights that were given.
    async fn check(&self, store: &impl Store, jobs: u64) -> usize {
        let (mut claimed, mut saved) = (HashSet::new(), HashSet::new());
        for at in 0..self.processes {
            let diary = std::fs::read_to_string(self.diary(at)).unwrap_or_default();
            for line in diary.lines() {
                let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
                // The last line of a process that was killed while it wrote.
                let [what, id, fence, step] = &words[..] else {
                    continue;
                };
                let is_first = match &**what {
                    "claimed" => claimed.insert((id.clone(), fence.clone())),
                    _ => saved.insert((id.clone(), step.clone())),
                };
                assert!(is_first, "twice: {line}");
            }
        }
        let mut filter = Filter::default();
        let mut seen = 0;
        loop {
            let page = store.list(&filter, 1_000).await.unwrap();
            let Some(last) = page.last() else { break };
            filter.after = Some(JobId::new(last.id.get()));
            for job in page {
                assert_eq!(job.state, r#"["first","second"]"#, "{job:?}");
                seen += 1;
            }
        }
        assert_eq!(seen, jobs);
        claimed.len()
    }
}

/// Keeps this many jobs, retrying each until the store confirms it.
async fn keep<S: Store + Clone>(store: S, jobs: u64) {
    let workflow = workflow();
    let mut keepers = tokio::task::JoinSet::new();
    for keeper in 0..64 {
        let (store, workflow) = (store.clone(), workflow.clone());
        keepers.spawn(async move {
            for key in (keeper..jobs).step_by(64) {
                let job = workflow.job(key.to_string(), &Vec::new()).unwrap();
                while store.put(&job, None).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        });
    }
    while let Some(kept) = keepers.join_next().await {
        kept.unwrap();
    }
}
