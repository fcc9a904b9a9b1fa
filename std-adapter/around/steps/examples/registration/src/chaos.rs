// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts services and workers, makes the services misbehave, kills workers at random, and sends requests until all is
//! done.

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use atomic_breaker_steps::{Counts, Status, Store};
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};

use super::crew::{Process, Service};
use super::diary::{Diary, unix_us};
use super::scene::{REGISTRATIONS, SERVICES, begins_ms, mood_at};
use test_support::progress::{Progress, say};

const WORKERS: usize = 3;

/// All is done long before.
const LIMIT_MS: u64 = 90_000;

pub(crate) struct Chaos {
    pub(crate) folder: PathBuf,
    /// The location of the database, for the workers.
    pub(crate) place: String,
    /// The origin of the clock of all diaries, after 1970.
    pub(crate) begin_us: u64,
    pub(crate) diary: Diary,
}

impl Chaos {
    /// Runs until all registrations have ended. Those that have a result are not requested again.
    pub(crate) async fn run(
        &self,
        store: &impl Store,
        answered: &[u64],
    ) -> Result<(), Box<dyn Error>> {
        self.diary.note("began")?;
        let mut services = Vec::new();
        for (name, _) in SERVICES {
            services.push(self.service(name, 0).await?);
        }
        let (answers, mut come) = mpsc::unbounded_channel::<(u64, String)>();
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            workers.push(self.worker(&services, &answers, 0)?);
        }
        let mut to_ask: Vec<u64> = (1..=REGISTRATIONS).rev().collect();
        to_ask.retain(|number| !answered.contains(number));
        let mut asked: HashMap<u64, u32> = HashMap::new();
        let mut next_kill_ms = self.now_ms() + 1_500;
        let mut progress = Progress::new();
        let mut ticks = interval(Duration::from_millis(40));
        loop {
            ticks.tick().await;
            let now_ms = self.now_ms();
            for (service, (_, timeline)) in services.iter_mut().zip(SERVICES) {
                self.set(service, mood_at(timeline, now_ms)).await?;
            }
            while let Ok((number, answer)) = come.try_recv() {
                asked.remove(&number);
                if answer.starts_with("failed") {
                    to_ask.push(number);
                } else {
                    self.diary.note(&format!("answered {number} {answer}"))?;
                }
            }
            while let Some(number) = to_ask.pop_if(|number| begins_ms(*number) <= now_ms) {
                let worker = &mut workers[fastrand::usize(..WORKERS)];
                asked.insert(number, worker.id);
                worker.process.tell(&number.to_string()).await;
            }
            // A database that is busy at the moment is called again.
            let counts = store.counts().await.unwrap_or_default();
            if ended(&counts) == REGISTRATIONS && asked.is_empty() {
                break;
            }
            if now_ms >= next_kill_ms {
                next_kill_ms = now_ms + fastrand::u64(800..2_000);
                let fresh = self.worker(&services, &answers, 0)?;
                let killed = std::mem::replace(&mut workers[fastrand::usize(..WORKERS)], fresh);
                killed.process.kill().await?;
                self.diary.note(&format!("killed {}", killed.id))?;
                // Its users try again.
                to_ask.extend(
                    asked
                        .extract_if(|_, id| *id == killed.id)
                        .map(|(number, _)| number),
                );
                to_ask.sort_unstable_by(|one, other| other.cmp(one));
            }
            if progress.is_due() {
                progress.show(&line(now_ms, &counts, &services))?;
            }
            if now_ms > LIMIT_MS {
                return Err(format!("not done within {} s: {counts:?}", LIMIT_MS / 1_000).into());
            }
        }
        progress.end()?;
        for worker in workers {
            let Process { mut child, input } = worker.process;
            drop(input);
            let _ = timeout(Duration::from_secs(3), child.wait()).await;
        }
        Ok(())
    }

    /// Serves the front end until this process is killed.
    pub(crate) async fn serve(&self, port: u16) -> Result<(), Box<dyn Error>> {
        let mut services = Vec::new();
        for (name, _) in SERVICES {
            services.push(self.service(name, 0).await?);
        }
        let (answers, _come) = mpsc::unbounded_channel();
        let mut worker = self.worker(&services, &answers, port)?;
        say(&format!("The front end is at http://127.0.0.1:{port}."))?;
        let status = worker.process.child.wait().await?;
        Err(format!("the worker has ended: {status}").into())
    }

    fn now_ms(&self) -> u64 {
        unix_us().saturating_sub(self.begin_us) / 1_000
    }
}

/// The number of registrations that have reached their final state.
pub(crate) fn ended(counts: &Counts) -> u64 {
    let ended = Status::ALL.into_iter().filter(|status| status.is_final());
    ended.map(|status| counts.of(status)).sum()
}

fn line(now_ms: u64, counts: &Counts, services: &[Service]) -> String {
    let moods: Vec<_> = services
        .iter()
        .map(|service| format!("{} {:<5}", service.name, service.mood.name()))
        .collect();
    format!(
        "{:4.1} s  {:2} done, {:2} under way, {:2} wait   {}",
        now_ms as f64 / 1e3,
        counts.of(Status::Done),
        counts.of(Status::Running),
        counts.of(Status::Waiting),
        moods.join(", "),
    )
}
