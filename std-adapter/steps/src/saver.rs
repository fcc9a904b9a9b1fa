//! Saves the results of jobs: all that arrive while one save is under way go together in the next.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Right;
use super::caught::answer;
use super::job_observer::{Asked, JobObserver, text};
use super::store::{Change, Save, Saved, Store};

/// How many are saved together at most.
const TOGETHER: usize = 256;

/// The pause after the first save that failed; doubled each time.
const PAUSE: Duration = Duration::from_millis(100);

/// A save whose result is awaited.
struct Waiting {
    save: Save,
    answer: oneshot::Sender<Saved>,
    /// When the lease is over.
    until: Instant,
    /// When it is tried next.
    next: Instant,
    /// The pause if it fails then.
    pause: Duration,
}

/// Ends when it is dropped and all is saved.
pub(super) struct Saver {
    waiting: mpsc::Sender<Waiting>,
    lease: Duration,
}

impl Saver {
    pub(super) fn new<D: Store>(
        store: Arc<D>,
        observer: Arc<dyn JobObserver>,
        lease: Duration,
        runtime: &Handle,
    ) -> Self {
        let (waiting, taken) = mpsc::channel(TOGETHER);
        runtime.spawn(save_all(store, observer, taken));
        Self { waiting, lease }
    }

    /// `None` if it could not be saved before the lease was over: then the job goes to another worker.
    pub(super) async fn save(&self, right: Right, change: Change) -> Option<Saved> {
        let (answer, saved) = oneshot::channel();
        let now = Instant::now();
        let waiting = Waiting {
            save: Save { right, change },
            answer,
            until: now + self.lease,
            next: now,
            pause: PAUSE,
        };
        self.waiting.send(waiting).await.ok()?;
        saved.await.ok()
    }
}

/// Saves that failed wait for their next try, and do not delay the others.
async fn save_all<D: Store>(
    store: Arc<D>,
    observer: Arc<dyn JobObserver>,
    mut taken: mpsc::Receiver<Waiting>,
) {
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut is_open = true;
    while is_open || !waiting.is_empty() {
        let next = waiting.iter().map(|each| each.next).min();
        is_open = match next {
            Some(next) if is_open => {
                let come = taken.recv_many(&mut waiting, TOGETHER);
                timeout_at(next, come).await != Ok(0)
            }
            Some(next) => {
                sleep_until(next).await;
                false
            }
            None => taken.recv_many(&mut waiting, TOGETHER).await > 0,
        };
        let now = Instant::now();
        let due = waiting.extract_if(.., |each| each.next <= now);
        let mut together: Vec<_> = due.take(TOGETHER).collect();
        save(&*store, &observer, &mut together).await;
        let now = Instant::now();
        // Those that could not be saved yet, and still may be.
        for mut failed in together {
            failed.next = now + failed.pause;
            failed.pause *= 2;
            if failed.next < failed.until {
                waiting.push(failed);
            }
        }
    }
}

/// Leaves those that could not be saved. If a save was done but its answer was lost, the right is no longer held when
/// the save is repeated, as each save ends the right, except one that keeps it.
async fn save<D: Store>(store: &D, observer: &dyn JobObserver, together: &mut Vec<Waiting>) {
    let Some(until) = together.iter().map(|each| each.until).max() else {
        return;
    };
    let saves: Vec<Save> = together.iter().map(|each| each.save.clone()).collect();
    if let Some(all) = saved(store, observer, until, &saves).await {
        for (each, saved) in together.drain(..).zip(all) {
            // The caller may have gone.
            let _ = each.answer.send(saved);
        }
        return;
    }
    if saves.len() == 1 {
        return;
    }
    // One that the database does not accept must not block the others.
    for each in std::mem::take(together) {
        let one = std::slice::from_ref(&each.save);
        match saved(store, observer, each.until, one).await.as_deref() {
            Some([came, ..]) => {
                let _ = each.answer.send(*came);
            }
            _ => together.push(each),
        }
    }
}

async fn saved<D: Store>(
    store: &D,
    observer: &dyn JobObserver,
    until: Instant,
    saves: &[Save],
) -> Option<Vec<Saved>> {
    match timeout_at(until, answer(|| store.save(saves))).await {
        Ok(Ok(all)) => {
            observer.store_answered();
            return Some(all);
        }
        Ok(Err(error)) => observer.store_failed(Asked::Save, &text(error)),
        Err(_) => observer.store_failed(Asked::Save, "no answer before the lease was over"),
    }
    None
}
