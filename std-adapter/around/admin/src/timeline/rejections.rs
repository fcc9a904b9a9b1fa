// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rejections of breakers that are not closed: how many since each has opened, and how many a second.

use std::array;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use atomic_breaker_server::{State, Transition};

use super::event::unix_ms;
use super::outage::is_down;

/// The whole seconds over which a rate is averaged.
const SECONDS: u64 = 5;
/// Places for those, for the second that is not over, and to spare for a thread that was interrupted.
const PLACES: usize = 8;

/// The number of a breaker or key. Keys are numbered by their whole text, which no rejection keeps: that of two keys is the
/// same once in 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SubjectId(u64);

/// The counts of breakers and keys that have opened and not closed since. No other memory depends on them, so all orderings
/// are relaxed.
#[derive(Default)]
pub(super) struct RejectionCounts {
    hasher: RandomState,
    of: papaya::HashMap<SubjectId, Arc<Rejections>>,
}

impl RejectionCounts {
    pub(super) fn id(&self, of: &str, key: Option<&dyn fmt::Display>) -> SubjectId {
        let mut id = IdHasher(self.hasher.build_hasher());
        id.0.write(of.as_bytes());
        if let Some(key) = key {
            id.0.write_u8(0xff);
            // Only foreign `Display` code fails; its output so far counts.
            let _ = fmt::Write::write_fmt(&mut id, format_args!("{key}"));
        }
        SubjectId(id.0.finish())
    }

    /// Counts one, if the breaker or key is known to have opened.
    pub(super) fn note(&self, id: SubjectId, is_let_pass: bool) {
        if let Some(rejections) = self.of.pin().get(&id) {
            rejections.note(is_let_pass);
        }
    }

    /// Begins to count as it opens, and ends as it closes or is disabled. Returns the counts that apply from now on.
    pub(super) fn after(&self, id: SubjectId, made: &Transition) -> Option<Arc<Rejections>> {
        let all = self.of.pin();
        if matches!(made.to, State::Closed | State::Disabled) {
            all.remove(&id);
            return None;
        }
        let is_new = is_down(made.to) && !is_down(made.from);
        if let Some(known) = all.get(&id).filter(|_| !is_new) {
            return Some(Arc::clone(known));
        }
        let new = Arc::new(Rejections::new());
        all.insert(id, Arc::clone(&new));
        Some(new)
    }

    pub(super) fn forget(&self, id: SubjectId) {
        self.of.pin().remove(&id);
    }
}

struct IdHasher<H>(H);

impl<H: Hasher> fmt::Write for IdHasher<H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// The rejections of one breaker or key.
#[derive(Debug)]
pub(crate) struct Rejections {
    /// The time at which it opened, or was first seen not to be closed: milliseconds since 1970.
    pub(crate) since: u64,
    began: Instant,
    count: AtomicU64,
    let_pass: AtomicU64,
    /// The rejections in each of the last seconds: above the number of the second, from 1, below how many there were in it.
    seconds: [AtomicU64; PLACES],
}

impl Rejections {
    fn new() -> Self {
        Self {
            since: unix_ms(SystemTime::now()),
            began: Instant::now(),
            count: AtomicU64::new(0),
            let_pass: AtomicU64::new(0),
            seconds: array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn note(&self, is_let_pass: bool) {
        if is_let_pass {
            self.let_pass.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let number = self.second() + 1;
        let place = &self.seconds[number as usize % PLACES];
        // What is there may be of an earlier second.
        let _ = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kept| {
            let before = if kept >> 32 == number { kept as u32 } else { 0 };
            Some(number << 32 | u64::from(before.saturating_add(1)))
        });
    }

    /// The seconds that are over.
    fn second(&self) -> u64 {
        // More than 32 bits of them would take 136 years.
        self.began.elapsed().as_secs() & u64::from(u32::MAX)
    }

    /// The calls that were rejected.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The calls of a registry that would have been rejected, but were let pass.
    pub(crate) fn let_pass(&self) -> u64 {
        self.let_pass.load(Ordering::Relaxed)
    }

    /// The rejections per second, averaged over the last five whole seconds, or as many as there were. `None` in the first
    /// second.
    pub(crate) fn per_second(&self) -> Option<f64> {
        let now = self.second();
        let seconds = now.min(SECONDS);
        let in_second = |number: u64| {
            let kept = self.seconds[number as usize % PLACES].load(Ordering::Relaxed);
            if kept >> 32 == number { kept as u32 } else { 0 }
        };
        let numbers = now + 1 - seconds..=now;
        let sum: f64 = numbers.map(|number| f64::from(in_second(number))).sum();
        (seconds > 0).then(|| sum / f64::from(seconds as u32))
    }
}
