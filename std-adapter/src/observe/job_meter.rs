//! What is counted of jobs under one name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::meter::{MOST_NAMES, OTHER};
use crate::steps::{Asked, Counts, Status, Tried};

/// What is counted of jobs under one name, for the life of the program: counters must not fall, whatever is dropped and
/// created again. A job takes several database writes, so a lock is cheap in comparison.
#[derive(Debug)]
pub(super) struct JobMeter {
    pub(super) name: String,
    counted: Mutex<Counted>,
}

/// Counts by the names of the kinds and lanes in the program, and [`OTHER`].
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) tries: BTreeMap<(&'static str, &'static str), [u64; Tried::ALL.len()]>,
    pub(super) lost: BTreeMap<(&'static str, &'static str), u64>,
    pub(super) ended: BTreeMap<&'static str, [u64; ENDS.len()]>,
    /// Jobs whose end was told, and jobs whose end could not be told to anyone.
    pub(super) told: BTreeMap<&'static str, [u64; 2]>,
    pub(super) store_errors: [u64; Asked::ALL.len()],
    lanes: Vec<&'static str>,
    seen: Option<Seen>,
}

/// How a job ends.
pub(super) const ENDS: [Status; 3] = [Status::Done, Status::Dead, Status::Parked];

/// The store's reply.
#[derive(Clone, Debug)]
struct Seen {
    counts: Counts,
    /// When the reply is no longer valid.
    until: Instant,
}

/// How many jobs a lane has, by [`STANDS`].
pub(super) type OfLane = (&'static str, [f64; STANDS.len()]);

/// The statuses of jobs that are not over.
pub(super) const STANDS: [&str; 5] = ["due", "waiting", "running", "parked", "dead"];

static METERS: Mutex<BTreeMap<String, Arc<JobMeter>>> = Mutex::new(BTreeMap::new());

pub(super) fn all() -> Vec<Arc<JobMeter>> {
    lock(&METERS).values().map(Arc::clone).collect()
}

impl JobMeter {
    /// The meter of that name, always the same one.
    pub(super) fn of(name: &str) -> Arc<Self> {
        let mut meters = lock(&METERS);
        let is_full = meters.len() >= MOST_NAMES && !meters.contains_key(name);
        let name = if is_full { OTHER } else { name };
        let meter = meters.entry(name.to_owned()).or_insert_with_key(|name| {
            Arc::new(Self {
                name: name.clone(),
                counted: Mutex::default(),
            })
        });
        Arc::clone(meter)
    }

    pub(super) fn register(&self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {
        let mut counted = lock(&self.counted);
        for (kind, lane) in kinds {
            counted.tries.entry((kind, lane)).or_default();
            counted.lost.entry((kind, lane)).or_default();
        }
        for kind in kinds.iter().map(|(kind, _)| *kind).chain([OTHER]) {
            counted.ended.entry(kind).or_default();
            counted.told.entry(kind).or_default();
        }
        for lane in lanes.iter().copied().chain([OTHER]) {
            if !counted.lanes.contains(&lane) {
                counted.lanes.push(lane);
            }
        }
    }

    pub(super) fn tried(&self, kind: &str, lane: &str, how: Tried) {
        let mut counted = lock(&self.counted);
        let pair = counted.pair(kind, lane);
        counted.tries.entry(pair).or_default()[how as usize] += 1;
    }

    pub(super) fn lost(&self, kind: &str, lane: &str) {
        let mut counted = lock(&self.counted);
        let pair = counted.pair(kind, lane);
        *counted.lost.entry(pair).or_default() += 1;
    }

    pub(super) fn ended(&self, kind: &str, status: Status) {
        let Some(end) = ENDS.iter().position(|end| *end == status) else {
            return;
        };
        let mut counted = lock(&self.counted);
        let kind = counted.kind(kind);
        counted.ended.entry(kind).or_default()[end] += 1;
    }

    pub(super) fn told(&self, kind: &str, is_told: bool) {
        let mut counted = lock(&self.counted);
        let kind = counted.kind(kind);
        counted.told.entry(kind).or_default()[usize::from(!is_told)] += 1;
    }

    pub(super) fn store_failed(&self, asked: Asked) {
        lock(&self.counted).store_errors[asked as usize] += 1;
    }

    /// Notes the store's reply, which is shown for that long at most.
    pub(super) fn see(&self, counts: Counts, for_at_most: Duration) {
        let until = Instant::now() + for_at_most;
        lock(&self.counted).seen = Some(Seen { counts, until });
    }

    /// A copy of the current counts, because the lock must not be held while a recorder is called, which may be slow.
    pub(super) fn read(&self) -> Counted {
        lock(&self.counted).clone()
    }
}

impl Counted {
    fn kind(&self, kind: &str) -> &'static str {
        let known = self.ended.get_key_value(kind);
        known.map_or(OTHER, |(kind, _)| kind)
    }

    fn lane(&self, lane: &str) -> &'static str {
        let mut known = self.lanes.iter().copied();
        known.find(|known| *known == lane).unwrap_or(OTHER)
    }

    fn pair(&self, kind: &str, lane: &str) -> (&'static str, &'static str) {
        (self.kind(kind), self.lane(lane))
    }

    /// How many jobs there are in each lane, and for how many seconds the oldest has been due, if the store has ever
    /// replied; NaN if its last reply is too old.
    pub(super) fn jobs(&self) -> Option<(Vec<OfLane>, f64)> {
        let seen = self.seen.as_ref()?;
        let is_known = Instant::now() <= seen.until;
        let unknown = if is_known { 0.0 } else { f64::NAN };
        let mut lanes: Vec<OfLane> = self
            .lanes
            .iter()
            .map(|lane| (*lane, [unknown; STANDS.len()]))
            .collect();
        let mut add = |lane: &str, stand: usize, count: f64| {
            let lane = self.lane(lane);
            if let Some((_, stands)) = lanes.iter_mut().find(|(known, _)| *known == lane) {
                stands[stand] += count;
            }
        };
        for (lane, status, count) in &seen.counts.jobs {
            let stand = match status {
                Status::Waiting => 1,
                Status::Running => 2,
                Status::Parked => 3,
                Status::Dead => 4,
                Status::Done | Status::Cancelled => continue,
            };
            add(lane, stand, number(*count));
        }
        for (lane, count) in &seen.counts.due {
            add(lane, 0, number(*count));
            add(lane, 1, -number(*count));
        }
        let oldest = seen.counts.oldest_due.unwrap_or_default();
        Some((lanes, oldest.as_secs_f64() + unknown))
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody has so many jobs")]
const fn number(count: u64) -> f64 {
    count as f64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
