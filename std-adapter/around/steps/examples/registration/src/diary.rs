// SPDX-License-Identifier: MIT OR Apache-2.0
//! The diary of each process, for the table and the picture: a line for each of its actions.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use atomic_breaker::{Observer, Rejected, Transition};
use atomic_breaker_steps::{
    Change, Claim, Counts, CountsAs, Failed, Filter, Job, JobId, NewJob, Put, Right, Save, Saved,
    Status, Store, StoreError,
};

/// The file of a process.
#[derive(Clone)]
pub(crate) struct Diary {
    file: Arc<File>,
    begin_us: u64,
}

/// The system's clock, which all processes share; setting it meanwhile spoils the picture and nothing else.
pub(crate) fn unix_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

impl Diary {
    /// Its times start this many microseconds after 1970.
    pub(crate) fn open(path: &Path, begin_us: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            file: Arc::new(file),
            begin_us,
        })
    }

    fn now_us(&self) -> u64 {
        unix_us().saturating_sub(self.begin_us)
    }

    pub(crate) fn note(&self, what: &str) -> io::Result<()> {
        self.note_at(self.now_us(), what)
    }

    /// Written at once: a process that is killed leaves whole lines, except possibly the last.
    fn note_at(&self, at: u64, what: &str) -> io::Result<()> {
        let line = format!("{at} {} {what} .\n", std::process::id());
        (&*self.file).write_all(line.as_bytes())
    }

    /// A diary that cannot be written to must not stop work.
    fn try_note(&self, what: &str) {
        let _ = self.note(what);
    }
}

/// The transitions of a lane's breaker.
pub(crate) struct LaneDiary {
    lane: &'static str,
    diary: Diary,
}

impl LaneDiary {
    pub(crate) fn new(lane: &'static str, diary: &Diary) -> Self {
        Self {
            lane,
            diary: diary.clone(),
        }
    }
}

impl Observer for LaneDiary {
    fn transition(&self, transition: &Transition) {
        self.diary
            .try_note(&format!("lane {} {}", self.lane, transition.to));
    }

    fn rejected(&self, _: Rejected) {
        self.diary.try_note(&format!("rejected {}", self.lane));
    }
}

/// A store that records claims and saves.
pub(crate) struct WithDiary<S>(pub(crate) S, pub(crate) Diary);

/// Names of steps have spaces.
fn word(step: &str) -> String {
    step.replace(' ', "_")
}

impl<S: Store> Store for WithDiary<S> {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let put = self.0.put(job, lease).await?;
        if let Put::New(id, right) = &put {
            let what = if right.is_some() { "claimed" } else { "waits" };
            self.1.try_note(&format!("{what} {id} {}", word(&job.step)));
        }
        Ok(put)
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        self.0.next_due(lane).await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let claim = self.0.claim(lane, most, lease).await?;
        for claimed in &claim.jobs {
            let (id, step) = (claimed.right.id, word(&claimed.job.step));
            let what = if claimed.is_lost { "found" } else { "claimed" };
            self.1.try_note(&format!("{what} {id} {step}"));
        }
        Ok(claim)
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        self.0.renew(right, lease).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        // Before another process can claim the saved job.
        let at = self.1.now_us();
        let all = self.0.save(saves).await?;
        for (save, _) in saves.iter().zip(&all).filter(|(_, saved)| saved.is_held) {
            let id = save.right.id;
            let Change {
                status,
                next,
                due_in,
                counts_as,
                ..
            } = &save.change;
            let what = match (next, due_in, counts_as) {
                (Some((step, _)), ..) if *status == Status::Running => {
                    format!("goes-on {id} {}", word(step))
                }
                (Some((step, _)), ..) => format!("next {id} {}", word(step)),
                (None, None, _) => format!("{} {id}", status.name()),
                (None, Some(due_in), counts_as) => {
                    let what = match counts_as {
                        CountsAs::Succeeded | CountsAs::Failed => "again",
                        CountsAs::Nothing => "back",
                        CountsAs::Rejected | CountsAs::Unknown => "held-up",
                    };
                    format!("{what} {id} {}", due_in.as_millis())
                }
            };
            let _ = self.1.note_at(at, &what);
        }
        Ok(all)
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        self.0.unpark(kind, steps, parked_before, most).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        self.0.list(filter, most).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.0.history(id).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.0.retry_now(id).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.0.cancel(id).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.0.counts().await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        self.0.forget(ended_before, most).await
    }
}
