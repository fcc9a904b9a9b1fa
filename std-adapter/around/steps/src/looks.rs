// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looks for the jobs of a lane, and claims those that its breaker would admit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::in_progress::Batch;
use super::inner::Inner;
use super::lane::Full;
use super::room::{Begin, Room};
use super::{Asked, Claimed, Schedule, Store, StoreError};

/// The largest number of jobs that are claimed at a time.
const TOGETHER: usize = 64;

/// The longest pause before a store that failed is asked again, unless jobs are polled less often.
const ASKED_AGAIN: Duration = Duration::from_secs(30);

/// Stops between two claims only: jobs that were claimed are run.
pub(super) async fn work<D: Store>(
    inner: Arc<Inner<D>>,
    room: Arc<Room>,
    stops: watch::Receiver<bool>,
    claimed: Batch,
) {
    let mut looks = Looks {
        inner,
        room,
        claimed,
        is_due: false,
        holds: false,
        failures: 0,
    };
    // The worker itself holds the sender until it stops.
    while !*stops.borrow() && stops.has_changed().is_ok() {
        let pause = looks.look().await.unwrap_or_else(|_| looks.failed());
        let room = &looks.room;
        let pauses = async {
            match pause {
                NextLook::Room => room.has_room().await,
                NextLook::Asleep(time) => sleep(time).await,
                NextLook::Until(time) => {
                    let time = time.max(Duration::from_millis(1));
                    let _ = timeout(time, room.came.notified()).await;
                }
            }
        };
        until_stopped(stops.clone(), pauses).await;
    }
}

/// The step before the next look.
enum NextLook {
    /// Waits until there is room, if there is none.
    Room,
    /// Waits that long: a job that comes changes nothing, as the breaker rejects it.
    Asleep(Duration),
    /// Waits that long, or until a job comes.
    Until(Duration),
}

/// A worker's search for the jobs of a lane.
///
/// A job that is due is looked for first, without the breaker: a lane without jobs takes no probe. Then the breaker is
/// asked how many it would admit, and as many are claimed. Only when the store has answered, each job asks for its
/// permit; a job that is rejected then is put back as it was. So no permit waits for a store.
struct Looks<D> {
    inner: Arc<Inner<D>>,
    room: Arc<Room>,
    claimed: Batch,
    /// A job was due when the store last said so.
    is_due: bool,
    /// Jobs were put back as calls had taken their places: calls in quick succession must not keep a job waiting
    /// forever, so the next claim holds its places.
    holds: bool,
    /// The number of times in a row that the store has failed.
    failures: u32,
}

impl<D: Store> Looks<D> {
    async fn look(&mut self) -> Result<NextLook, StoreError> {
        let poll = spread(self.inner.times.poll);
        if let Some(later) = self.due(poll).await? {
            return Ok(NextLook::Until(later));
        }
        let most = TOGETHER.min(self.room.lane.at_once as usize);
        let (most, full) = self.room.could_start(most);
        if most > 0 {
            return self.claim(most, full, poll).await;
        }
        Ok(until_not(&full, poll))
    }

    /// Returns `None` if a job is due, as far as is known; otherwise how long until that is worth asking. A lane
    /// without a breaker has nothing to lose by a claim.
    async fn due(&mut self, poll: Duration) -> Result<Option<Duration>, StoreError> {
        if self.is_due || !self.room.lane.is_guarded() {
            return Ok(None);
        }
        let (lane, database) = (self.room.lane.name, &self.inner.database);
        let lease = self.inner.times.lease;
        let next = database.ask_within(lease, Asked::NextDue, |it| it.next_due(lane));
        let next = next.await?.unwrap_or(Duration::MAX);
        self.failures = 0;
        self.is_due = next.is_zero();
        Ok((!self.is_due).then_some(next.min(poll)))
    }

    /// Claims this many at most, and starts what was claimed, or puts it back at once. An answer after the lease is worth
    /// nothing.
    async fn claim(
        &mut self,
        most: usize,
        mut full: Full,
        poll: Duration,
    ) -> Result<NextLook, StoreError> {
        let asked = Instant::now();
        let mut places = Vec::new();
        if self.holds {
            places.extend((0..most).map_while(|_| self.room.place()));
        }
        let (lane, lease) = (self.room.lane.name, self.inner.times.lease);
        let database = &self.inner.database;
        let claim =
            database.ask_within(lease, Asked::Claim, |it| it.claim(lane, most as u32, lease));
        let claim = claim.await?;
        let patience = self.inner.times.patience().saturating_sub(asked.elapsed());
        self.failures = 0;
        let fewer = claim.jobs.len() < most;
        self.is_due = !fewer || claim.next_due.is_some_and(|next| next.is_zero());
        // What was put back may not be due again yet.
        self.holds &= claim.jobs.is_empty();
        let mut puts_back = false;
        for claimed in claim.jobs {
            let place = places.pop().or_else(|| self.room.place());
            let begin = place.map_or(Begin::Not(Full::Room), |place| self.room.begin(place));
            let begin = match begin {
                Begin::Not(why) => {
                    (self.is_due, puts_back) = (true, true);
                    self.holds |= matches!(why, Full::Room);
                    full = why;
                    None
                }
                begin => Some(begin),
            };
            self.spawn(claimed, begin, patience);
        }
        Ok(if puts_back || !fewer {
            until_not(&full, poll)
        } else {
            NextLook::Until(claim.next_due.map_or(poll, |next| next.min(poll)))
        })
    }

    /// Runs a job in a task of its own. Without a `begin` there is no room for it.
    fn spawn(&self, claimed: Claimed, begin: Option<Begin>, patience: Duration) {
        let (inner, room) = (Arc::clone(&self.inner), Arc::clone(&self.room));
        drop(self.claimed.begin().spawn(async move |batch| {
            let start = match begin {
                Some(begin) => room.begin_soon(begin, patience, &batch).await,
                None => None,
            };
            inner.run(start, claimed, &batch).await
        }));
    }

    /// The store has failed: the next look first asks it whether a job is due, and no breaker.
    fn failed(&mut self) -> NextLook {
        let poll = self.inner.times.poll;
        let pause = Schedule::new().held_up(poll, self.failures, ASKED_AGAIN);
        self.failures += 1;
        self.is_due = false;
        NextLook::Until(pause)
    }
}

/// Decides when it is worth asking again.
fn until_not(full: &Full, poll: Duration) -> NextLook {
    match full {
        Full::Room => NextLook::Room,
        Full::Rejected(rejection) => {
            let wait = rejection.retry_in().unwrap_or(poll);
            NextLook::Asleep(wait.max(Duration::from_millis(10)).min(poll))
        }
        Full::Panicked(_) => NextLook::Until(poll),
    }
}

/// Works until it is done, or the worker stops.
pub(super) async fn until_stopped(
    mut stops: watch::Receiver<bool>,
    work: impl Future<Output = ()>,
) {
    tokio::select! {
        // The sender is gone when the worker is.
        _ = stops.wait_for(|is_stopped| *is_stopped) => {}
        () = work => {}
    }
}

/// Up to a tenth sooner or later, so that workers do not ask in lockstep.
pub(super) fn spread(time: Duration) -> Duration {
    time.mul_f64(0.9 + 0.2 * fastrand::f64())
}
