// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records events while threads run, and checks that they add up when the threads rest.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker::word::{AtomicU32, AtomicU64 as Wide, Bits, Ticks, Word};
use atomic_breaker::{Cause, Observer, Outcome, Rejected, Snapshot, State, Transition};
use tests::words::Contended;

/// A 32-bit word with ticks of 8 ms.
pub(crate) type Narrow = Ticks<AtomicU32, 3>;

/// A word whose documented layout the audit knows.
pub(crate) trait Cell: Word + Default + Send + Sync {
    const NAME: &'static str;
    /// The number of epochs before they wrap.
    const EPOCHS: u16;
    const EPOCH_SHIFT: u32;

    /// The epoch in which a permit was granted.
    fn epoch(granted: Self::Bits) -> usize {
        (granted.to_u64() >> Self::EPOCH_SHIFT) as usize % usize::from(Self::EPOCHS)
    }
}

impl Cell for Narrow {
    const NAME: &'static str = "32-bit word";
    const EPOCHS: u16 = 16;
    const EPOCH_SHIFT: u32 = 28;
}

impl Cell for Wide {
    const NAME: &'static str = "64-bit word";
    const EPOCHS: u16 = 512;
    const EPOCH_SHIFT: u32 = 55;
}

/// A word that is often lost to another thread.
pub(crate) fn contended<W: Cell>() -> Contended<W> {
    Contended::over(W::default(), 3)
}

/// Writes down all that the breaker reports.
#[derive(Default)]
pub(crate) struct Ledger {
    transitions: Mutex<Vec<Transition>>,
    /// The number of `transitions`, readable without the lock.
    reported: AtomicU64,
    rejected: AtomicU64,
    outcomes: AtomicU64,
    cancelled: AtomicU64,
}

impl Observer for Ledger {
    fn transition(&self, transition: &Transition) {
        self.transitions.lock().unwrap().push(*transition);
        self.reported.fetch_add(1, Ordering::Relaxed);
    }

    fn rejected(&self, _rejected: Rejected) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    fn outcome(&self, _outcome: Outcome) {
        self.outcomes.fetch_add(1, Ordering::Relaxed);
    }

    fn cancelled(&self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

impl Ledger {
    /// Returns whether `more` transitions can follow before the epochs of this round wrap.
    pub(crate) fn has_room_for<W: Cell>(&self, more: u64) -> bool {
        self.reported.load(Ordering::Relaxed) + more < u64::from(W::EPOCHS)
    }

    /// Rejections, reports and drops: every call ends as exactly one of them.
    pub(crate) fn calls_ended(&self) -> u64 {
        [&self.rejected, &self.outcomes, &self.cancelled]
            .map(|count| count.load(Ordering::Relaxed))
            .iter()
            .sum()
    }

    /// The transitions reported since the last call form a chain from one snapshot to the next: every epoch is
    /// reported exactly once, and begins in the state in which the one before it ended.
    pub(crate) fn chain<W: Cell>(&self, before: &Snapshot, after: &Snapshot) -> Vec<Transition> {
        let since = |epoch: u16| epoch.wrapping_sub(before.epoch()) % W::EPOCHS;
        let mut reported = std::mem::take(&mut *self.transitions.lock().unwrap());
        self.reported.store(0, Ordering::Relaxed);
        assert!(
            reported.len() < usize::from(W::EPOCHS),
            "the round was too long"
        );

        reported.sort_by_key(|transition| since(transition.epoch));
        let mut state = before.entered();
        for (place, transition) in (1..).zip(&reported) {
            assert_eq!(since(transition.epoch), place, "once each: {reported:#?}");
            assert_eq!(transition.from, state, "one chain: {reported:#?}");
            assert!(is_an_arrow(transition), "{transition:?}");
            state = transition.to;
        }
        assert_eq!(state, after.entered(), "nothing unreported: {reported:#?}");
        assert_eq!(
            usize::from(since(after.epoch())),
            reported.len(),
            "{reported:#?}"
        );
        reported
    }
}

/// Returns whether the life cycle has this arrow. No lease ends in these tests.
fn is_an_arrow(transition: &Transition) -> bool {
    use State::{Closed, Disabled, ForcedOpen, HalfOpen, Open, Returning};

    match (transition.cause, transition.from, transition.to) {
        (Cause::FailureLimit, Closed | Returning, Open)
        | (Cause::OpenTimeOver, Open, HalfOpen)
        | (Cause::ProbeFailed | Cause::ProbeCancelled, HalfOpen, Open)
        | (Cause::ProbesSucceeded, HalfOpen, Closed | Returning)
        | (Cause::TrafficReturned, Returning, Closed)
        | (Cause::Manual, ForcedOpen | Open | HalfOpen, HalfOpen)
        | (Cause::Manual, _, Closed) => true,
        (Cause::Manual, from, Open) => !matches!(from, ForcedOpen | Disabled),
        // Two operators: the hold of one shows again when the other removes its own.
        (Cause::Manual, from, ForcedOpen | Disabled) => {
            from != transition.to || matches!(from, ForcedOpen | Disabled)
        }
        _ => false,
    }
}
