//! Saves what came of jobs: whatever comes while one save is under way goes together in the next.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

use super::Right;
use super::caught::answer;
use super::store::{Change, Save, Saved, Store};
use super::watch::{Asked, Watch};

/// How many go together at most.
const TOGETHER: usize = 256;

/// The pause after the first save that failed; doubled each time.
const PAUSE: Duration = Duration::from_millis(100);

type Waiting = (Save, oneshot::Sender<Saved>);

/// Ends when it is dropped and all is saved.
pub(super) struct Saver(mpsc::Sender<Waiting>);

impl Saver {
    pub(super) fn new<D: Store>(
        store: Arc<D>,
        watch: Arc<Watch>,
        lease: Duration,
        runtime: &Handle,
    ) -> Self {
        let (waiting, taken) = mpsc::channel(TOGETHER);
        runtime.spawn(save_all(store, watch, lease, taken));
        Self(waiting)
    }

    /// `None` if it could not be saved before the lease was over: then the job goes to somebody else.
    pub(super) async fn save(&self, right: Right, change: Change) -> Option<Saved> {
        let (saved, answer) = oneshot::channel();
        self.0.send((Save { right, change }, saved)).await.ok()?;
        answer.await.ok()
    }
}

async fn save_all<D: Store>(
    store: Arc<D>,
    watch: Arc<Watch>,
    lease: Duration,
    mut taken: mpsc::Receiver<Waiting>,
) {
    let mut together = Vec::new();
    while taken.recv_many(&mut together, TOGETHER).await > 0 {
        save(&*store, &watch, Instant::now() + lease, &mut together).await;
        // Those that could not be saved.
        together.clear();
    }
}

/// Until all are saved, or the lease is over. What was saved without an answer is not held any more when it is saved
/// again, as the right ends with each save but that which keeps it.
async fn save<D: Store>(store: &D, watch: &Watch, until: Instant, together: &mut Vec<Waiting>) {
    let mut pause = PAUSE;
    loop {
        let saves: Vec<Save> = together.iter().map(|(save, _)| save.clone()).collect();
        if let Some(all) = saved(store, watch, until, &saves).await {
            for ((_, answer), saved) in together.drain(..).zip(all) {
                // Whoever asked may have gone.
                let _ = answer.send(saved);
            }
            return;
        }
        // One that the database does not take must not keep the others.
        for (save, answer) in std::mem::take(together) {
            match saved(store, watch, until, std::slice::from_ref(&save))
                .await
                .as_deref()
            {
                Some([one, ..]) => {
                    let _ = answer.send(*one);
                }
                _ => together.push((save, answer)),
            }
        }
        if together.is_empty() || Instant::now() + pause >= until {
            return;
        }
        sleep(pause).await;
        pause *= 2;
    }
}

async fn saved<D: Store>(
    store: &D,
    watch: &Watch,
    until: Instant,
    saves: &[Save],
) -> Option<Vec<Saved>> {
    match timeout_at(until, answer(store.save(saves))).await {
        Ok(Ok(all)) => {
            watch.store_answered();
            return Some(all);
        }
        Ok(Err(error)) => watch.store_failed(Asked::Save, &error),
        Err(_) => watch.store_failed(Asked::Save, &"no answer before the lease was over"),
    }
    None
}
