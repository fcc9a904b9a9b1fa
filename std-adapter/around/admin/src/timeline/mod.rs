// SPDX-License-Identifier: MIT OR Apache-2.0
//! History: the last transitions of all that is shown, and the last one of each key.

mod acting;
mod event;
mod last;
mod outage;
mod recorder;
mod rejections;

pub(super) use acting::{Acting, By};
pub(super) use event::{Change, MadeTransition, Rules, Subject, TimelineEvent, What, unix_ms};
pub(super) use last::LastKnown;
pub(super) use outage::is_down;
pub use recorder::Recorder;
pub(super) use rejections::Rejections;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use atomic_breaker_server::Present;
use tokio::sync::watch;

use super::AdminError;
use event::Folded;
use last::LastOfEach;
use rejections::{RejectionCounts, SubjectId};

/// The last transitions of breakers and registries, with wall-clock times: their observer records it, an
/// [`Admin`](super::Admin) shows it. Clones are the same timeline.
///
/// A registry and a breaker take the same observer, which [`recorder`](Self::recorder) makes; beside others it goes in a pair:
/// `.observer((log, timeline.recorder("hosts")))`.
///
/// A transition costs its caller a lock held for less than a microsecond, one or two allocations, and a reading of the
/// wall clock; a rejection a look-up, a reading of the clock and two additions to shared memory, for a registry also the text
/// of its key; an outcome nothing but the call that reports it.
#[derive(Clone)]
pub struct Timeline(Arc<TimelineShared>);

struct TimelineShared {
    /// Differs from process to process, so that numbers of another one are not mistaken for those of this one.
    run: u32,
    rejections: Arc<RejectionCounts>,
    kept: Mutex<Recorded>,
    /// The number of the next event.
    next: watch::Sender<u64>,
}

struct Recorded {
    next: u64,
    most: usize,
    /// By number. Of the probes of an outage only the last is kept, which counts them.
    events: BTreeMap<u64, Arc<TimelineEvent>>,
    /// Events with smaller numbers may have been forgotten.
    oldest: u64,
    last: LastOfEach,
    /// The names that were given a recorder.
    names: Vec<Arc<str>>,
}

const TRANSITIONS: usize = 1_000;
const KEYS: usize = 16_384;
const MOST: usize = 1_000_000;
/// The most that one reader is given at once, as the lock is held for that time.
const MOST_AT_ONCE: usize = 1_000;

impl Timeline {
    /// Keeps the last 1,000 transitions, and the last one of each of 16,384 keys. All probes of an outage are one
    /// transition with a count.
    pub fn new() -> Self {
        Self::sized(TRANSITIONS, KEYS)
    }

    /// Keeps this many transitions, and the last one of each of this many keys: 1 to a million of each. One takes about
    /// 300 bytes, and up to 900 with a long key and the text of a failure.
    ///
    /// Beyond that many keys last transitions are forgotten, those of closed keys first; since when such a key has been
    /// in its state, and why, is then shown as unknown.
    ///
    /// # Errors
    /// [`AdminError`] for other numbers.
    pub fn keeping(transitions: usize, keys: usize) -> Result<Self, AdminError> {
        AdminError::unless_in_range("the transitions kept", transitions, MOST)?;
        AdminError::unless_in_range("the keys kept", keys, MOST)?;
        Ok(Self::sized(transitions, keys))
    }

    fn sized(transitions: usize, keys: usize) -> Self {
        let rejections = Arc::<RejectionCounts>::default();
        Self(Arc::new(TimelineShared {
            rejections: Arc::clone(&rejections),
            run: RandomState::new().hash_one(0) as u32,
            kept: Mutex::new(Recorded {
                next: 1,
                most: transitions,
                events: BTreeMap::new(),
                oldest: 1,
                last: LastOfEach::new(keys, rejections),
                names: Vec::new(),
            }),
            next: watch::Sender::new(1),
        }))
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.kept().names.clone()
    }

    pub(super) fn run(&self) -> u32 {
        self.0.run
    }

    /// The number of the next event, and every change of it.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.0.next.subscribe()
    }

    /// Records an event; with the word, read under the lock, and the number under which its rejections are counted, if they
    /// are known.
    pub(super) fn record(
        &self,
        subject: Subject,
        what: What,
        present: Option<Present<'_>>,
        id: Option<SubjectId>,
    ) {
        let at = unix_ms(SystemTime::now());
        let by = Acting::note(&subject);
        let (by, reason) = by.map_or((None, None), |by| (Some(by.operator), by.reason));
        let mut kept = self.kept();
        let number = kept.next;
        let mut event = TimelineEvent {
            number,
            at,
            subject,
            what,
            by,
            reason,
            folded: Folded::after(None, number, at),
        };
        let before = kept.last.get(&event.subject);
        let before = before.and_then(|it| it.outage.as_ref()?.probes.clone());
        let before = before.filter(|_| event.is_probing());
        event.folded = Folded::after(before.as_deref(), number, at);
        let event = Arc::new(event);
        kept.next += 1;
        kept.last.note(&event, present, id);
        let gone = match before {
            Some(before) => kept.events.remove(&before.number),
            None => None,
        };
        kept.events.insert(number, event);
        let mut oldest = None;
        if kept.events.len() > kept.most {
            oldest = kept.events.pop_first();
            kept.oldest = oldest
                .as_ref()
                .map_or(kept.oldest, |(number, _)| number + 1);
        }
        // Under the lock, so that readers see rising numbers.
        self.0.next.send_replace(kept.next);
        drop(kept);
        drop((oldest, gone));
    }

    /// The newest events with smaller numbers than this, newest first, at most `most`.
    pub(super) fn before(&self, number: u64, most: usize) -> Vec<Arc<TimelineEvent>> {
        let kept = self.kept();
        let older = kept.events.range(..number);
        older
            .rev()
            .take(most)
            .map(|(_, event)| Arc::clone(event))
            .collect()
    }

    /// The events from this number on, oldest first; `None` if that is more than is kept.
    pub(super) fn since(&self, number: u64) -> Option<Vec<Arc<TimelineEvent>>> {
        let kept = self.kept();
        if number < kept.oldest || number > kept.next {
            return None;
        }
        let later = kept.events.range(number..).take(MOST_AT_ONCE + 1);
        let later: Vec<_> = later.map(|(_, event)| Arc::clone(event)).collect();
        (later.len() <= MOST_AT_ONCE).then_some(later)
    }

    pub(super) fn last_of(&self, subject: &Subject) -> Option<LastKnown> {
        self.kept().last.get(subject).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, Recorded> {
        // No foreign code runs under it.
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline")
            .field("transitions", &self.kept().events.len())
            .finish_non_exhaustive()
    }
}
