// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures that several calls share, because their connection was lost or refused them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The connection that a call was on, as far as its client knows: a failure that ends all calls of a connection then counts
/// once for each connection.
///
/// Two that are equal are one connection, or a later one whose calls begin after the earlier one was lost, such as one
/// that has got its port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConnectionId(Option<NonZeroU64>);

impl ConnectionId {
    /// Some connection: calls that were under way together may have shared it.
    pub const UNKNOWN: Self = Self(None);

    /// A connection that differs from all others, for a connector that marks what it returns.
    pub fn unique() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        Self::named(("unique", MADE.fetch_add(1, Ordering::Relaxed)))
    }

    /// The connection with this name, for example the addresses of both of its ends.
    pub fn named(name: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self(NonZeroU64::new(hasher.finish() | 1))
    }
}

/// The number of shared failures that were counted, for all resources together. 64 bits never wrap. On 32-bit
/// processors this matters to a resource that had no shared failure while 2³¹ were counted for others, which is a
/// thousand a second for 24 days: then the next 2³¹ do not count for it. Its other failures do.
static COUNTED: AtomicUsize = AtomicUsize::new(0);

/// The time at which a call began, as the number of shared failures counted before it.
#[derive(Clone, Copy, Debug)]
pub struct Begun(usize);

impl Begun {
    /// A call that begins now.
    #[inline]
    pub fn now() -> Self {
        Self(COUNTED.load(Ordering::Relaxed))
    }

    /// Returns whether it began after that failure was counted: the two are less than half the range apart.
    const fn is_after(self, counted: usize) -> bool {
        self.0.wrapping_sub(counted) <= usize::MAX / 2
    }
}

fn count_one() -> usize {
    COUNTED.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// The shared failures of a resource. Of the calls that one connection ended, the first to report counts. Where the
/// connection is unknown, it is the first of those that were under way together.
///
/// The others count as well once most calls fail this way: if twice in a row the resource answered after such a failure, but
/// fewer calls than it had lost. Otherwise a few answers would end each row of failures, of which one counts, and a
/// resource that loses nearly all calls would never be noticed.
///
/// That is judged when the next such failure counts, not between: callers notice one after the other that their connection is
/// lost, and those that call again meanwhile may be answered before the others have reported.
///
/// Measured in events, not in time, so it does not matter how late a call notices. Nothing else is ordered by it; a
/// thread that reads an old number treats a call as older than it is, and counts one failure less.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// The number of the failure that was counted last, not counting those that overlap with the one before.
    last: AtomicUsize,
    /// The number of calls that were lost since the last judgement, with the one that counted then. 0 if as many were
    /// answered.
    lost: AtomicU32,
    /// The number of calls that were answered since then, while some were lost.
    answered: AtomicU32,
    /// The number of judgements in a row that more calls were lost than answered.
    mostly_lost: AtomicU32,
}

/// The answers after which what was lost is history, if as many were lost at most, and no answer is counted any more: more than
/// come while callers notice that their connection is lost.
const RECOVERED: u32 = 100;

impl Losses {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self {
            last: AtomicUsize::new(0),
            lost: AtomicU32::new(0),
            answered: AtomicU32::new(0),
            mostly_lost: AtomicU32::new(0),
        }
    }

    /// Returns whether a shared failure counts, for a call that began then; `None` is before the last one was counted.
    #[cold]
    pub(crate) fn counts(&self, begun: Option<Begun>, connection: ConnectionId) -> bool {
        let owner = std::ptr::from_ref(self).addr();
        let is_first = match connection.0 {
            Some(id) => LOST
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_first((owner, id.get()), begun),
            None => true,
        };
        if is_first && begun.is_some_and(|begun| self.is_new(begun)) {
            self.judge();
            return true;
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
        let is_own = is_first && connection != ConnectionId::UNKNOWN;
        is_own || self.mostly_lost.load(Ordering::Relaxed) >= 2
    }

    /// Judges the calls since the last judgement, and begins anew with the call that counts now.
    fn judge(&self) {
        let lost = self.lost.swap(1, Ordering::Relaxed);
        let answered = self.answered.swap(0, Ordering::Relaxed);
        if answered >= lost {
            self.mostly_lost.store(0, Ordering::Relaxed);
        } else if answered > 0 {
            self.mostly_lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns whether none was counted since the call began.
    fn is_new(&self, begun: Begun) -> bool {
        let mut last = self.last.load(Ordering::Relaxed);
        while begun.is_after(last) {
            match self.last.compare_exchange(
                last,
                count_one(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(found) => last = found,
            }
        }
        false
    }

    /// Notes that a call was answered.
    #[inline]
    pub(crate) fn note_answer(&self) {
        if self.lost.load(Ordering::Relaxed) != 0 {
            self.weigh_answer();
        }
    }

    #[cold]
    fn weigh_answer(&self) {
        let answered = self.answered.fetch_add(1, Ordering::Relaxed);
        if answered + 1 >= self.lost.load(Ordering::Relaxed).max(RECOVERED) {
            self.clear();
        }
    }

    /// Forgets what was lost and answered.
    pub(crate) fn clear(&self) {
        self.lost.store(0, Ordering::Relaxed);
        self.answered.store(0, Ordering::Relaxed);
        self.mostly_lost.store(0, Ordering::Relaxed);
    }
}

/// The connections that were lost last, in this process: whose, which one, and the number of the failure that it counted
/// as. If more are lost at the same moment, some of them count more than once.
struct Lost {
    last: [((usize, u64), usize); 256],
    next: u8,
}

static LOST: Mutex<Lost> = Mutex::new(Lost {
    last: [((0, 0), 0); 256],
    next: 0,
});

impl Lost {
    /// Returns whether this call is the first that reports this loss of a connection.
    fn is_first(&mut self, connection: (usize, u64), begun: Option<Begun>) -> bool {
        let Some((_, counted)) = self.last.iter_mut().find(|(lost, _)| *lost == connection) else {
            self.last[usize::from(self.next)] = (connection, count_one());
            self.next = self.next.wrapping_add(1);
            return true;
        };
        let is_first = begun.is_some_and(|begun| begun.is_after(*counted));
        if is_first {
            *counted = count_one();
        }
        is_first
    }
}

/// The shared failures of breakers that stand alone, and so have no place for them: by their addresses. One that takes the
/// place of another begins anew.
static ALONE: [Alone; 32] = [const { Alone::new() }; 32];

struct Alone {
    breaker: AtomicUsize,
    losses: Losses,
}

impl Alone {
    const fn new() -> Self {
        Self {
            breaker: AtomicUsize::new(0),
            losses: Losses::new(),
        }
    }
}

/// Returns whether a shared failure counts for the breaker at that address, as [`Losses::counts`] does.
#[cold]
pub(crate) fn counts_alone(breaker: usize, begun: Option<Begun>, connection: ConnectionId) -> bool {
    let place = place_of(breaker);
    if place.breaker.swap(breaker, Ordering::Relaxed) != breaker {
        place.losses.clear();
    }
    place.losses.counts(begun, connection)
}

/// Notes that a call of the breaker at that address was answered.
#[inline]
pub(crate) fn note_answer_alone(breaker: usize) {
    let place = place_of(breaker);
    if place.breaker.load(Ordering::Relaxed) == breaker {
        place.losses.note_answer();
    }
}

/// Notes that the state of the breaker at that address has changed, so that what was lost before is history.
#[cold]
pub(crate) fn begin_anew_alone(breaker: usize) {
    let place = place_of(breaker);
    if place.breaker.load(Ordering::Relaxed) == breaker {
        place.losses.clear();
    }
}

#[inline]
fn place_of(breaker: usize) -> &'static Alone {
    &ALONE[(breaker / 64) % ALONE.len()]
}
