// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notifying tasks that the state has changed.

use core::cell::RefCell;
use core::fmt;
use core::task::Waker;

use atomic_breaker::{Observer, Present, Transition};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use embassy_sync::watch::{Receiver, Watch};

/// An observer that keeps the last transition for tasks to wait for, an [`embassy_sync`] `Watch` with up to `N`
/// receivers, and wakes tasks that sleep in [`ready`](atomic_breaker::Breaker::ready) and similar methods.
///
/// Sleepers take no receivers: up to `S` tasks are woken at once (8 by default; each takes the memory of a waker, two
/// pointers), any more look at the state once a second. Use it for one breaker only, or for breakers over one word.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, StateWatch, word::NativeWord};
/// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
///
/// type Watched = StateWatch<CriticalSectionRawMutex, 2>;
/// static STATE: Watched = StateWatch::new();
/// static RADIO: Breaker<EmbassyClock, NativeWord, (), &Watched> =
///     Breaker::builder(Config::new(), EmbassyClock).observer(&STATE).build();
///
/// async fn lamp() {
///     let mut changes = STATE.subscribe().unwrap();
///     loop {
///         let transition = changes.changed().await;
///         // Light or darken the lamp.
///         # let _ = transition.to;
///     }
/// }
/// # let _ = (lamp, &RADIO);
/// ```
///
/// Two transitions may be reported in either order, for example when an interrupt comes between a transition and its
/// report. The watch then shows the transition that matches the word, which is [read](Present) with each report, under
/// the lock. Transitions made elsewhere over the same word are not reported here, and not shown.
pub struct StateWatch<M: RawMutex, const N: usize, const S: usize = 8> {
    last: Watch<M, Transition, N>,
    sleepers: Mutex<M, RefCell<[Option<Waker>; S]>>,
}

impl<M: RawMutex, const N: usize, const S: usize> StateWatch<M, N, S> {
    /// Nothing has happened yet.
    pub const fn new() -> Self {
        Self {
            last: Watch::new(),
            sleepers: Mutex::new(RefCell::new([const { None }; S])),
        }
    }

    /// Returns a receiver of transitions: first the last one, if there was one, then each new one. A slow receiver
    /// skips to the latest. `None` while `N` receivers exist.
    pub fn subscribe(&self) -> Option<Receiver<'_, M, Transition, N>> {
        self.last.receiver()
    }

    /// Returns the last transition, if there was one. Takes up no receiver.
    pub fn last(&self) -> Option<Transition> {
        self.last.try_get()
    }

    fn with_sleepers<R>(&self, f: impl FnOnce(&mut [Option<Waker>; S]) -> R) -> R {
        self.sleepers.lock(|sleepers| f(&mut sleepers.borrow_mut()))
    }

    fn show(&self, transition: &Transition, is_nearer_than: impl Fn(&Transition) -> bool) {
        self.last.sender().send_if_modified(|last| {
            let is_shown = last.as_ref().is_none_or(&is_nearer_than);
            if is_shown {
                *last = Some(*transition);
            }
            is_shown
        });
        self.wake();
    }

    fn wake(&self) {
        // One by one and outside the lock, because it is not known here what a waker does. No more than there are
        // places, because woken tasks may register again meanwhile.
        for place in 0..S {
            if let Some(waker) = self.with_sleepers(|sleepers| sleepers[place].take()) {
                waker.wake();
            }
        }
    }
}

impl<M: RawMutex, const N: usize, const S: usize> Default for StateWatch<M, N, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: RawMutex, const N: usize, const S: usize> fmt::Debug for StateWatch<M, N, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateWatch")
            .field("last", &self.last())
            .finish_non_exhaustive()
    }
}

impl<M: RawMutex, const N: usize, const S: usize> Observer for StateWatch<M, N, S> {
    /// Shows it, whatever was shown before: a transition alone does not reveal the order.
    fn transition(&self, transition: &Transition) {
        self.show(transition, |_| true);
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.show(transition, |last| present.is_nearer(transition, last));
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        self.with_sleepers(|sleepers| {
            if sleepers
                .iter()
                .flatten()
                .any(|known| known.will_wake(waker))
            {
                return true;
            }
            match sleepers.iter_mut().find(|place| place.is_none()) {
                Some(place) => {
                    *place = Some(waker.clone());
                    true
                }
                None => false,
            }
        })
    }
}
