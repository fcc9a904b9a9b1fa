// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of one instance to the database of jobs, and the book that the database keeps of who saved what. A save that
//! was sent arrives even if its sender has given up, some much later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Counts, Failed, Filter, Job, JobId, NewJob, Put, Right, Save, Saved, Status, Store,
    StoreError,
};
use test_support::dice::Dice;
use test_support::faulty_store::FaultyStore;
use tokio::time::{Instant, sleep};

use crate::concerns::Matter;
use crate::net::{Life, Node};
use crate::plan::LEASE;
use crate::trace::{holds, note};
use crate::world::World;

/// So many percent of the saves are late, and as many are done twice.
const LATE: u64 = 10;

/// The answers of the database, by job.
#[derive(Default)]
pub(crate) struct Book(Mutex<BTreeMap<JobId, Entry>>);

#[derive(Default)]
struct Entry {
    fence: i64,
    /// The steps whose ends were saved.
    saved: Vec<String>,
}

impl Book {
    fn claimed(&self, right: Right) {
        let entries = &mut *self.0.lock().unwrap();
        let entry = entries.entry(right.id).or_default();
        let before = std::mem::replace(&mut entry.fence, right.fence);
        holds!(
            "one worker has the right",
            right.fence > before,
            "job {}: fence {} after {before}",
            right.id,
            right.fence
        );
    }

    /// `is_now`: the database has answered at once, so that no other worker can have got the right since.
    fn saved(&self, save: &Save, is_now: bool) {
        let entries = self.0.lock().unwrap();
        let last = entries.get(&save.right.id).map_or(0, |entry| entry.fence);
        drop(entries);
        if save.change.status == Status::Running && save.right.after_step().fence == last {
            // Its sender asks again, and is answered as the first time.
            return;
        }
        holds!(
            "one worker has the right",
            save.right.fence == last || !is_now,
            "job {}: saved with fence {} after {last}",
            save.right.id,
            save.right.fence
        );
        let after = match &save.change.next {
            Some((step, _)) => step.clone(),
            None if save.change.status == Status::Done => "done".to_owned(),
            None => return,
        };
        let entries = &mut *self.0.lock().unwrap();
        let entry = entries.entry(save.right.id).or_default();
        let id = save.right.id;
        if save.change.status == Status::Running {
            entry.fence = entry.fence.max(save.right.after_step().fence);
        }
        holds!(
            "each step is saved once",
            !entry.saved.contains(&after),
            "job {id}: {after} after {:?}",
            entry.saved
        );
        entry.saved.push(after);
    }

    /// The number of steps that were saved.
    pub(crate) fn steps(&self) -> u64 {
        let entries = self.0.lock().unwrap();
        entries.values().map(|entry| entry.saved.len() as u64).sum()
    }
}

/// The database, as one instance reaches it.
#[derive(Clone)]
pub(crate) struct Db {
    pub(crate) world: &'static World,
    pub(crate) life: Arc<Life>,
}

impl Db {
    fn disk(&self) -> &'static FaultyStore {
        &self.world.disk
    }

    async fn send<T>(
        &self,
        what: &str,
        handle: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let sent = self.world.net.send(&self.life, Node::DB, handle).await;
        let answer = sent.unwrap_or_else(|error| Err(StoreError::new(error)));
        if let Err(error) = &answer {
            note!("{} {what}: {error}", self.life.node);
        }
        answer
    }
}

impl Db {
    /// While something is wrong with the jobs, some saves wait in the database for up to three leases, and some are done
    /// once more after such a time.
    async fn write(&self, all: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let is_well = self.world.concerns.well_for(&[Matter::Jobs]).is_some();
        let chance = |dice: &mut Dice| dice.percent(if is_well { 0 } else { LATE });
        let late = || {
            self.world
                .draw(|dice| dice.ms(1..3 * LEASE.as_millis() as u32))
        };
        let (is_late, is_doubled) = (self.world.draw(chance), self.world.draw(chance));
        if is_late {
            sleep(late()).await;
        }
        let saved = self.write_now(all).await;
        if is_doubled {
            let (db, all, after) = (self.clone(), all.to_vec(), late());
            tokio::spawn(async move {
                sleep(after).await;
                let _ = db.write_now(&all).await;
            });
        }
        saved
    }

    async fn write_now(&self, all: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let began = Instant::now();
        let saved = self.disk().save(all).await?;
        for (save, _) in all.iter().zip(&saved).filter(|(_, saved)| saved.is_held) {
            note!(
                "{} saves {:?} {:?}",
                self.life.node,
                save.right,
                save.change.status
            );
            self.world.book.saved(save, began.elapsed().is_zero());
        }
        Ok(saved)
    }
}

impl Store for Db {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let put = async {
            let put = self.disk().put(job, lease).await;
            if let Ok(Put::New(_, Some(right))) = &put {
                self.world.book.claimed(*right);
            }
            put
        };
        self.send("put", put).await
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        self.send("next_due", self.disk().next_due(lane)).await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let claim = async {
            let claim = self.disk().claim(lane, most, lease).await?;
            for claimed in &claim.jobs {
                note!(
                    "{} claims {} {:?}",
                    self.life.node,
                    claimed.job.key,
                    claimed.right
                );
                self.world.book.claimed(claimed.right);
            }
            Ok(claim)
        };
        self.send("claim", claim).await
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        self.send("renew", self.disk().renew(right, lease)).await
    }

    async fn save(&self, all: &[Save]) -> Result<Vec<Saved>, StoreError> {
        // Sent: it arrives, whatever becomes of who sent it.
        let (db, all) = (self.clone(), all.to_vec());
        let sent = tokio::spawn(async move { db.send("save", db.write(&all)).await });
        let lost = |_| Err(StoreError::new("the process ends"));
        sent.await.unwrap_or_else(lost)
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        let unpark = self.disk().unpark(kind, steps, parked_before, most);
        self.send("unpark", unpark).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.send("job", self.disk().job(id)).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        self.send("list", self.disk().list(filter, most)).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.send("history", self.disk().history(id)).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.send("retry_now", self.disk().retry_now(id)).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.send("cancel", self.disk().cancel(id)).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.send("counts", self.disk().counts()).await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        self.send("forget", self.disk().forget(ended_before, most))
            .await
    }
}
