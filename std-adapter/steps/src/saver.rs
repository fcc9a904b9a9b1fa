//! Saves the results of jobs: all that arrive while one save is under way go together in the next.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use super::Right;
use super::job_observer::{Asked, Watched};
use super::store::{Change, Save, Saved, Store};

/// How many are saved together at most.
const TOGETHER: usize = 256;

/// The pause after the first save that failed; doubled each time.
const PAUSE: Duration = Duration::from_millis(100);

/// A save whose result is awaited; there is none if it failed.
struct Waiting {
    save: Save,
    answer: oneshot::Sender<Saved>,
    /// When the lease is over.
    until: Instant,
}

/// Ends when it is dropped.
pub(super) struct Saver {
    waiting: mpsc::Sender<Waiting>,
    lease: Duration,
}

impl Saver {
    pub(super) fn new<D: Store>(store: Arc<Watched<D>>, lease: Duration, runtime: &Handle) -> Self {
        let (waiting, mut taken) = mpsc::channel(TOGETHER);
        runtime.spawn(async move {
            let mut together = Vec::new();
            while taken.recv_many(&mut together, TOGETHER).await > 0 {
                save(&store, std::mem::take(&mut together)).await;
            }
        });
        Self { waiting, lease }
    }

    /// `None` if it could not be saved before the lease was over: then the job goes to another worker.
    pub(super) async fn save(&self, right: Right, change: Change) -> Option<Saved> {
        let save = Save { right, change };
        let mut pauses = Pauses::within(self.lease);
        let until = pauses.until;
        loop {
            let (answer, saved) = oneshot::channel();
            let save = save.clone();
            let waiting = Waiting {
                save,
                answer,
                until,
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

/// The pauses before a store that failed is asked again: each is twice the one before.
pub(super) struct Pauses {
    next: Duration,
    pub(super) until: Instant,
}

impl Pauses {
    pub(super) fn within(time: Duration) -> Self {
        Self {
            next: PAUSE,
            until: Instant::now() + time,
        }
    }

    /// Pauses; `false` if the time would be over then.
    pub(super) async fn next(&mut self) -> bool {
        if Instant::now() + self.next >= self.until {
            return false;
        }
        sleep(self.next).await;
        self.next *= 2;
        true
    }
}

/// If a save was done but its answer was lost, the right is no longer held when the save is repeated, as each save ends
/// the right, except one that keeps it.
async fn save<D: Store>(store: &Watched<D>, together: Vec<Waiting>) {
    let until = together.iter().map(|each| each.until).max();
    let saves: Vec<Save> = together.iter().map(|each| each.save.clone()).collect();
    if let Some(all) = saved(store, until, &saves).await {
        for (each, saved) in together.into_iter().zip(all) {
            // The caller may have gone.
            let _ = each.answer.send(saved);
        }
    } else if together.len() > 1 {
        // One that the database does not accept must not block the others.
        for each in together {
            let one = std::slice::from_ref(&each.save);
            if let Some([one, ..]) = saved(store, Some(each.until), one).await.as_deref() {
                let _ = each.answer.send(*one);
            }
        }
    }
}

async fn saved<D: Store>(
    store: &Watched<D>,
    until: Option<Instant>,
    saves: &[Save],
) -> Option<Vec<Saved>> {
    let limit = until?.saturating_duration_since(Instant::now());
    let answer = store.ask_within(limit, Asked::Save, |store| store.save(saves));
    answer.await.ok()
}
