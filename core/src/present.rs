// SPDX-License-Identifier: MIT OR Apache-2.0
//! The current contents of the word, as opposed to what was kept of it.

use core::fmt;

use crate::circuit::Circuit;
use crate::state::State;
use crate::transition::Transition;
use crate::word::{self, Bits, Word};

/// The word of a breaker, read again by each of these methods: what the breaker says at that moment. One load each,
/// no reading of the clock.
///
/// An [`Observer`](crate::Observer) gets one with each transition. Notifications may arrive in a different order from
/// the transitions, because a thread is held up or an interrupt comes in between, so an observer that keeps the last
/// state reads it here, under the lock of what it keeps:
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, Observer, Present, State, Transition};
/// use std::sync::Mutex;
///
/// /// Shows the state of a breaker.
/// struct Lamp(Mutex<State>);
///
/// impl Observer for Lamp {
///     fn changed(&self, _: &Transition, present: Present<'_>) {
///         let mut shown = self.0.lock().unwrap();
///         *shown = present.state();
///     }
/// }
///
/// let lamp = Lamp(Mutex::new(State::Closed));
/// let breaker = Breaker::builder(Config::new(), ManualClock::new()).observer(&lamp).build();
/// breaker.trip();
/// assert_eq!(*lamp.0.lock().unwrap(), State::Open);
/// ```
///
/// So the kept state is right once all callers have come to rest. An observer that keeps the transition itself asks
/// [`is_nearer`](Self::is_nearer). Changes that others make to a shared word without notifying this observer are seen
/// only at the next notification.
#[derive(Clone, Copy)]
pub struct Present<'a>(&'a dyn Look);

/// The contents of the word: the state and the epoch of one load.
#[derive(Clone, Copy)]
struct Seen {
    state: State,
    epoch: u16,
    last_epoch: u16,
}

trait Look {
    fn look(&self) -> Seen;
}

impl<W: Word> Look for W {
    fn look(&self) -> Seen {
        let circuit = Circuit::of(word::load_acquire(self));
        Seen {
            state: circuit.state(),
            epoch: circuit.epoch() as u16,
            last_epoch: W::Bits::LAYOUT.epoch.max() as u16,
        }
    }
}

impl Seen {
    const fn since(self, made: &Transition) -> u16 {
        self.epoch.wrapping_sub(made.epoch) & self.last_epoch
    }

    /// The distance that the word has moved on since this transition. One that has the epoch of the last one but led to
    /// another state is from before a wrap of the epochs.
    fn distance(self, made: &Transition) -> u16 {
        match self.since(made) {
            0 if made.to != self.state => u16::MAX,
            since => since,
        }
    }
}

impl<'a> Present<'a> {
    pub(crate) const fn of<W: Word>(word: &'a W) -> Self {
        Self(word)
    }

    /// The state to which the last transition led: open until a call comes, also when the open time is over.
    pub fn state(self) -> State {
        self.0.look().state
    }

    /// The epoch: the number of transitions, modulo 512 (16 in a 32-bit word).
    pub fn epoch(self) -> u16 {
        self.0.look().epoch
    }

    /// The number of transitions that the word has seen since this one:
    /// [`Breaker::transitions_since`](crate::Breaker::transitions_since).
    pub fn transitions_since(self, made: &Transition) -> u16 {
        self.0.look().since(made)
    }

    /// Returns whether the transition of which an observer is being notified should replace one that was kept before:
    /// it is the last one, or at least as near to the last one. Certain if it is the last, or fewer than 512
    /// transitions (16 in a 32-bit word) lie between the two.
    pub fn is_nearer(self, made: &Transition, kept: &Transition) -> bool {
        let seen = self.0.look();
        seen.distance(made) <= seen.distance(kept)
    }
}

impl fmt::Debug for Present<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.0.look();
        f.debug_struct("Present")
            .field("state", &seen.state)
            .field("epoch", &seen.epoch)
            .finish()
    }
}
