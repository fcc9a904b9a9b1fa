//! History: the last transitions of all that is shown, and the last one of each key.

mod acting;
mod event;
mod last;
mod recorder;

pub(super) use acting::Acting;
pub(super) use event::{Change, Event, Made, Rules, Subject, What, unix_ms};
pub use recorder::Recorder;

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use atomic_breaker_registry::Present;
use tokio::sync::watch;

use super::AdminError;
use last::LastOfEach;

/// The last transitions of breakers and registries, with wall-clock times: their observer records it, an
/// [`Admin`](super::Admin) shows it. Clones are the same timeline.
///
/// A registry and a breaker take the same observer, which [`of`](Self::of) makes; beside others it goes in a pair:
/// `.observer((log, timeline.of("hosts")))`.
///
/// A transition costs its caller a lock held for less than a microsecond, one or two allocations, and a reading of the
/// wall clock; a rejection or an outcome costs nothing but the call that reports it.
#[derive(Clone)]
pub struct Timeline(Arc<Shared>);

struct Shared {
    /// Differs from process to process, so that numbers of another one are not mistaken for those of this one.
    run: u32,
    kept: Mutex<Kept>,
    /// The number of the next event.
    next: watch::Sender<u64>,
}

struct Kept {
    next: u64,
    most: usize,
    events: VecDeque<Arc<Event>>,
    last: LastOfEach,
    /// The names that were given a recorder.
    names: Vec<Arc<str>>,
}

impl Kept {
    /// The number of the oldest event.
    fn oldest(&self) -> u64 {
        self.next - self.events.len() as u64
    }
}

const TRANSITIONS: usize = 1_000;
const KEYS: usize = 16_384;
const MOST: usize = 1_000_000;
/// The most that one reader is given at once, as the lock is held for that time.
const MOST_AT_ONCE: u64 = 1_000;

impl Timeline {
    /// Keeps the last 1,000 transitions, and the last one of each of 16,384 keys.
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
    /// For other numbers.
    pub fn keeping(transitions: usize, keys: usize) -> Result<Self, AdminError> {
        AdminError::unless_in_range("the transitions kept", transitions, MOST)?;
        AdminError::unless_in_range("the keys kept", keys, MOST)?;
        Ok(Self::sized(transitions, keys))
    }

    fn sized(transitions: usize, keys: usize) -> Self {
        Self(Arc::new(Shared {
            run: RandomState::new().hash_one(0) as u32,
            kept: Mutex::new(Kept {
                next: 1,
                most: transitions,
                events: VecDeque::new(),
                last: LastOfEach::new(keys),
                names: Vec::new(),
            }),
            next: watch::Sender::new(1),
        }))
    }

    /// Makes the observer for the registry or breaker that is shown under this name.
    pub fn of(&self, name: impl Into<Arc<str>>) -> Recorder {
        let name = name.into();
        let mut kept = self.kept();
        if !kept.names.contains(&name) {
            kept.names.push(Arc::clone(&name));
        }
        drop(kept);
        let timeline = self.clone();
        Recorder { timeline, name }
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

    /// With the word, read under the lock, if it is known.
    pub(super) fn record(&self, subject: Subject, what: What, present: Option<Present<'_>>) {
        let at = unix_ms(SystemTime::now());
        let by = Acting::note(&subject.of);
        let mut kept = self.kept();
        let event = Arc::new(Event {
            number: kept.next,
            at,
            subject,
            what,
            by,
        });
        kept.next += 1;
        kept.last.note(&event, present);
        let is_full = kept.events.len() == kept.most;
        let oldest = is_full.then(|| kept.events.pop_front());
        kept.events.push_back(event);
        // Under the lock, so that readers see rising numbers.
        self.0.next.send_replace(kept.next);
        drop(kept);
        drop(oldest);
    }

    /// The newest events with smaller numbers than this, newest first, at most `most`.
    pub(super) fn before(&self, number: u64, most: usize) -> Vec<Arc<Event>> {
        let kept = self.kept();
        let older = (number.saturating_sub(kept.oldest()) as usize).min(kept.events.len());
        let older = kept.events.range(..older);
        older.rev().take(most).cloned().collect()
    }

    /// What has happened from this number on, oldest first; `None` if that is more than is kept.
    pub(super) fn since(&self, number: u64) -> Option<Vec<Arc<Event>>> {
        let kept = self.kept();
        let oldest = kept.oldest();
        if number < oldest || number > kept.next || kept.next - number > MOST_AT_ONCE {
            return None;
        }
        let skipped = (number - oldest) as usize;
        Some(kept.events.range(skipped..).cloned().collect())
    }

    pub(super) fn last_of(&self, subject: &Subject) -> Option<Arc<Event>> {
        self.kept().last.get(subject)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
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
