// SPDX-License-Identifier: MIT OR Apache-2.0
//! An observer that keeps the last transitions for a task to drain.

use core::cell::RefCell;

use critical_section::Mutex;
use heapless::Deque;

use crate::observer::{Observer, Transition};

/// Keeps the last `N` transitions until a task drains them, and counts those it lost. May be notified in a thread, a task
/// or an interrupt handler: it takes a critical section of a few dozen instructions at each transition.
///
/// ```
/// use atomic_breaker::{Breaker, Config, EventLog, ManualClock};
///
/// static LOG: EventLog<8> = EventLog::new();
///
/// let breaker = Breaker::builder(Config::new(), ManualClock::new()).observer(&LOG).build();
/// breaker.trip();
/// while let Some(transition) = LOG.pop() {
///     println!("{transition}");
/// }
/// assert_eq!(LOG.take_lost(), 0);
/// ```
#[derive(Debug)]
pub struct EventLog<const N: usize> {
    events: Mutex<RefCell<Events<N>>>,
}

#[derive(Debug)]
struct Events<const N: usize> {
    queue: Deque<Transition, N>,
    lost: u32,
}

impl<const N: usize> EventLog<N> {
    /// An empty log. `N` is at least 1, or it does not compile.
    pub const fn new() -> Self {
        const {
            assert!(
                N > 0,
                "an EventLog of 0 events loses them all: make N at least 1"
            );
        };
        Self {
            events: Mutex::new(RefCell::new(Events {
                queue: Deque::new(),
                lost: 0,
            })),
        }
    }

    /// Takes the oldest transition.
    pub fn pop(&self) -> Option<Transition> {
        self.with(|events| events.queue.pop_front())
    }

    /// The number of transitions that are waiting.
    pub fn len(&self) -> usize {
        self.with(|events| events.queue.len())
    }

    /// Returns whether no transition is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of transitions that were overwritten since the last call of this method. Stops counting at
    /// `u32::MAX`.
    pub fn take_lost(&self) -> u32 {
        self.with(|events| core::mem::take(&mut events.lost))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Events<N>) -> R) -> R {
        critical_section::with(|section| f(&mut self.events.borrow_ref_mut(section)))
    }
}

impl<const N: usize> Default for EventLog<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Observer for EventLog<N> {
    fn transition(&self, transition: &Transition) {
        self.with(|events| {
            if events.queue.is_full() && events.queue.pop_front().is_some() {
                events.lost = events.lost.saturating_add(1);
            }
            // Cannot fail: room was made just now.
            let _ = events.queue.push_back(*transition);
        });
    }
}
