// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store and the one in memory, given the same random calls: they must answer alike.

use std::time::Duration;

use atomic_breaker_steps::{
    Change, Claimed, Counts, Failed, Filter, Job, JobId, MemoryStore, NewJob, Put, Right, Save,
    Status, StepError, Store, Workflow,
};
use fastrand::Rng;

use super::number;

const HOUR: Duration = Duration::from_secs(3_600);

/// Of a job or a right: that of the store in memory, and that of the other one.
type Both<T> = [T; 2];

/// The store in memory, the other one, and what they have given out.
struct Pair<'a, S> {
    memory: MemoryStore,
    other: &'a S,
    random: Rng,
    ids: Vec<Both<JobId>>,
    rights: Vec<Both<Right>>,
}

/// Makes random calls, 1,000 unless `ATOMIC_BREAKER_CALLS` says how many. They follow from `ATOMIC_BREAKER_SEED`, which is
/// another one in each run unless set, and printed. The store must be empty.
pub async fn answers_like_the_store_in_memory(store: &impl Store) {
    let calls = number("ATOMIC_BREAKER_CALLS", 1_000);
    let seed = number("ATOMIC_BREAKER_SEED", fastrand::u64(..));
    println!("ATOMIC_BREAKER_SEED={seed}");
    let mut pair = Pair {
        memory: MemoryStore::new(),
        other: store,
        random: Rng::with_seed(seed),
        ids: Vec::new(),
        rights: Vec::new(),
    };
    for _ in 0..calls {
        pair.call().await;
    }
}

/// The answers of both stores.
macro_rules! both {
    ($pair:ident, |$store:ident, $at:ident| $call:expr) => {{
        let ($store, $at) = (&$pair.memory, 0);
        let memory = $call.await.unwrap();
        let ($store, $at) = ($pair.other, 1);
        [memory, $call.await.unwrap()]
    }};
}

/// Panics unless both are the same.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>([memory, other]: Both<T>) -> T {
    assert_eq!(memory, other, "in memory, and in the other store");
    memory
}

/// Times are compared to the hour, as all that are passed are none or an hour.
fn hours(time: Duration) -> Duration {
    HOUR * ((time + HOUR / 2).as_secs() / HOUR.as_secs()) as u32
}

/// A job without what differs from store to store.
fn rounded(mut job: Job) -> Job {
    let hour_ms = HOUR.as_millis() as i64;
    job.id = JobId::new(0);
    job.due_in_ms = (job.due_in_ms + hour_ms / 2).div_euclid(hour_ms);
    job.age = hours(job.age);
    job.held_up.time = hours(job.held_up.time);
    job.held_up.unknown = hours(job.held_up.unknown);
    job
}

fn rounded_line(mut line: Failed) -> Failed {
    line.ago = hours(line.ago);
    line
}

fn rounded_counts(mut counts: Counts) -> Counts {
    counts.oldest_due = counts.oldest_due.map(hours);
    counts
}

impl<S: Store> Pair<'_, S> {
    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.usize(..of.len())]
    }

    fn time(&mut self) -> Duration {
        self.any(&[Duration::ZERO, Duration::ZERO, HOUR])
    }

    fn id(&mut self) -> Both<JobId> {
        let at = self.random.usize(..=self.ids.len());
        let never = [JobId::new(i64::MAX); 2];
        self.ids.get(at).copied().unwrap_or(never)
    }

    fn job(&mut self) -> NewJob {
        let (kind, lane) = (self.any(&["kind", "other"]), self.any(&["a", "b"]));
        let key = self.random.u32(..30).to_string();
        let workflow = Workflow::new(kind).step("first", lane, async |state: String| {
            Ok::<_, StepError>(state)
        });
        let job = workflow.job(key, &"0".to_owned()).unwrap();
        job.delay(self.time())
    }

    fn change(&mut self) -> Change {
        let (time, lane) = (self.time(), self.any(&["a", "b"]));
        let error = self.any(&["refused", "a\0b", ""]).to_owned();
        let state = self.any(&["1", "\"a\\u0000b\""]).to_owned();
        let change = match self.random.u32(..10) {
            0 => Change::next("second", lane, state, None),
            1 => Change::next("second", lane, state, Some(time)),
            2 => Change::done(state),
            3 => Change::back(time),
            4 => Change::again(time, error),
            5..8 => Change::held_up(time, self.random.bool(), error),
            8 => Change::dead(error),
            _ => Change::parked(error),
        };
        change.tell(self.random.bool())
    }

    async fn call(&mut self) {
        match self.random.u32(..20) {
            0..4 => self.put().await,
            4..8 => self.claim().await,
            8..14 => self.save().await,
            14 => self.renew().await,
            15 => self.unpark().await,
            16 => {
                let id = self.id();
                same(both!(self, |store, at| store.retry_now(id[at])));
            }
            17 => {
                let id = self.id();
                same(both!(self, |store, at| store.cancel(id[at])));
            }
            18 => {
                let before = self.time();
                same(both!(self, |store, _at| store.forget(before, 99)));
            }
            _ => {}
        }
        self.look().await;
    }

    async fn put(&mut self) {
        let (job, time) = (self.job(), self.time());
        let lease = self.random.bool().then_some(time);
        match both!(self, |store, _at| store.put(&job, lease)) {
            [Put::New(one, right), Put::New(other, other_right)] => {
                assert_eq!(right.is_some(), other_right.is_some(), "{job:?}");
                self.ids.push([one, other]);
                let rights = right.zip(other_right);
                self.rights.extend(rights.map(|(one, other)| [one, other]));
            }
            [Put::Exists(one), Put::Exists(other)] => drop(same([one, other].map(rounded))),
            answers => panic!("{job:?}: {answers:?}"),
        }
    }

    async fn claim(&mut self) {
        let (lane, most, lease) = (self.any(&["a", "b"]), self.random.u32(1..5), self.time());
        let [memory, other] = both!(self, |store, _at| store.claim(lane, most, lease));
        let claimed = |jobs: &[Claimed]| {
            let jobs = jobs.iter().cloned();
            let jobs = jobs.map(|it| (rounded(it.job), it.is_lost, it.fault));
            jobs.collect::<Vec<_>>()
        };
        same([&memory, &other].map(|claim| claimed(&claim.jobs)));
        // Without a lease some are due again at once, which a store may see or not.
        if !lease.is_zero() {
            same([&memory, &other].map(|claim| claim.next_due.map(hours)));
        }
        let rights = memory.jobs.iter().zip(&other.jobs);
        self.rights
            .extend(rights.map(|(one, other)| [one.right, other.right]));
    }

    /// Rights, most of them late ones.
    fn some_rights(&mut self) -> Vec<Both<Right>> {
        let (count, most) = (self.random.usize(1..4), self.any(&[4, 4, 4, 1_000]));
        let late = self.rights.len().saturating_sub(most);
        let mut rights = self.rights[late..].to_vec();
        self.random.shuffle(&mut rights);
        rights.truncate(count);
        rights
    }

    async fn save(&mut self) {
        let rights = self.some_rights().into_iter();
        let saves: Vec<_> = rights.map(|right| (right, self.change())).collect();
        let saves = [0, 1].map(|at| {
            let of = |(right, change): &(Both<Right>, Change)| Save {
                right: right[at],
                change: change.clone(),
            };
            saves.iter().map(of).collect::<Vec<_>>()
        });
        let results = same(both!(self, |store, at| store.save(&saves[at])));
        let [memory, other] = saves;
        for ((one, other), result) in memory.iter().zip(&other).zip(results) {
            if result.is_held && one.change.status == Status::Running {
                let rights = [one.right, other.right];
                self.rights.push(rights.map(Right::after_step));
            }
        }
    }

    async fn renew(&mut self) {
        let lease = self.time();
        for right in self.some_rights() {
            same(both!(self, |store, at| store.renew(right[at], lease)));
        }
    }

    async fn unpark(&mut self) {
        let (kind, before) = (self.any(&["kind", "other"]), self.time());
        // Of several steps, a store may choose whose jobs come first.
        let (steps, most): (&[_], _) = self.any(&[
            (&["first"], 1),
            (&["second"], 2),
            (&["first", "second"], 99),
        ]);
        same(both!(self, |store, _at| store.unpark(kind, steps, before, most)));
    }

    async fn look(&mut self) {
        let (id, lane) = (self.id(), self.any(&["a", "b"]));
        let jobs = both!(self, |store, at| store.job(id[at]));
        same(jobs.map(|job| job.map(rounded)));
        let lines = both!(self, |store, at| store.history(id[at]));
        same(lines.map(|lines| lines.into_iter().map(rounded_line).collect::<Vec<_>>()));
        same(both!(self, |store, _at| store.counts()).map(rounded_counts));
        let next_due = both!(self, |store, _at| store.next_due(lane));
        same(next_due.map(|due| due.map(hours)));
        let status = self.any(&Status::ALL);
        let (kind, key) = (self.any(&["kind", "other"]), self.random.u32(..30));
        let is_set = [(); 4].map(|()| self.random.bool());
        let filter = |at: usize| {
            let mut filter = Filter::new();
            filter.status = is_set[0].then_some(status);
            filter.kind = is_set[1].then(|| kind.to_owned());
            filter.key = (is_set[2] && is_set[3]).then(|| key.to_string());
            filter.after = is_set[3].then_some(id[at]);
            filter
        };
        let most = self.any(&[1, 5, 99]);
        let listed = both!(self, |store, at| store.list(&filter(at), most));
        same(listed.map(|jobs| jobs.into_iter().map(rounded).collect::<Vec<_>>()));
    }
}
