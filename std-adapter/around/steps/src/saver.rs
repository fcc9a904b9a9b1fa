// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saves the results of jobs: all that arrive while one save is under way go together in the next.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::change::{Change, Save, Saved};
use crate::database::{Database, Pauses};
use crate::job::Right;
use crate::job_observer::Asked;
use crate::store::Store;

/// The largest number of jobs that are saved together.
const TOGETHER: usize = 256;

/// A save whose result is awaited; there is none if it failed.
struct Waiting {
    save: Save,
    answer: oneshot::Sender<Saved>,
    /// The time at which the lease is over.
    until: Instant,
}

/// Sends saves to a task, which ends when this is dropped.
pub(crate) struct Saver {
    waiting: mpsc::Sender<Waiting>,
    lease: Duration,
}

impl Saver {
    pub(crate) fn new<D: Store>(
        database: Arc<Database<D>>,
        lease: Duration,
        runtime: &Handle,
    ) -> Self {
        let (waiting, mut taken) = mpsc::channel(TOGETHER);
        runtime.spawn(async move {
            let mut together = Vec::new();
            while taken.recv_many(&mut together, TOGETHER).await > 0 {
                save(&database, std::mem::take(&mut together)).await;
            }
        });
        Self { waiting, lease }
    }

    /// `None` if it could not be saved before the lease was over: then the job goes to another worker.
    pub(crate) async fn save(&self, right: Right, change: Change) -> Option<Saved> {
        let save = Save { right, change };
        let mut pauses = Pauses::within(self.lease);
        loop {
            let (answer, saved) = oneshot::channel();
            let waiting = Waiting {
                save: save.clone(),
                answer,
                until: pauses.until,
            };
            self.waiting.send(waiting).await.ok()?;
            if let Ok(saved) = saved.await {
                return Some(saved);
            }
            if !pauses.next().await {
                return None;
            }
        }
    }
}

/// If a save was done but its answer was lost, the right is no longer held when the save is repeated, as each save ends
/// the right. One that keeps the job is known by the right that follows, and answered as the first time.
async fn save<D: Store>(database: &Database<D>, together: Vec<Waiting>) {
    let until = together.iter().map(|each| each.until).max();
    let saves: Vec<Save> = together.iter().map(|each| each.save.clone()).collect();
    if let Some(all) = saved(database, until, &saves).await {
        for (each, saved) in together.into_iter().zip(all) {
            // The caller may have gone.
            let _ = each.answer.send(saved);
        }
    } else if together.len() > 1 {
        // One that the database does not accept must not block the others.
        for each in together {
            let one = std::slice::from_ref(&each.save);
            if let Some([one, ..]) = saved(database, Some(each.until), one).await.as_deref() {
                let _ = each.answer.send(*one);
            }
        }
    }
}

async fn saved<D: Store>(
    database: &Database<D>,
    until: Option<Instant>,
    saves: &[Save],
) -> Option<Vec<Saved>> {
    let limit = until?.saturating_duration_since(Instant::now());
    let answer = database.ask_within(limit, Asked::Save, |store| store.save(saves));
    answer.await.ok()
}
