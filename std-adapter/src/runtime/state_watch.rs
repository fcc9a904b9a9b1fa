// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notifying tasks that the state has changed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use atomic_breaker::{Observer, Present, Transition};
use tokio::sync::watch;

/// The largest number of sleepers that are woken; any more look at the state once a second. The entries of sleepers
/// that gave up stay until the next transition, so there has to be a limit.
const MAX_SLEEPERS: usize = 4_096;

/// An observer that keeps the last transition for tasks to wait for, in a [`watch`](tokio::sync::watch) channel, and
/// wakes tasks that sleep in [`ready`](atomic_breaker::Breaker::ready) and similar methods.
///
/// Calls do not touch it; only waiting and transitions take its lock. Sleepers take no receivers: up to 4,096 tasks are
/// woken at once, any more look at the state once a second. Use it for one breaker only, or for breakers over one word.
///
/// ```
/// use atomic_breaker_std::{Breaker, Config, State, StateWatch, StdClock};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let watch = StateWatch::new();
/// let mut changes = watch.subscribe();
/// let server = Breaker::builder(Config::new(), StdClock).observer(watch).build();
///
/// server.trip();
/// changes.changed().await.unwrap();
/// let last = *changes.borrow_and_update();
/// assert_eq!(last.unwrap().to, State::Open);
/// # }
/// ```
///
/// Two threads may report two transitions in either order. The watch then shows the transition that matches the word,
/// which is [read](Present) with each report, under the lock. Transitions made elsewhere over the same word, such as in
/// another process, are not reported here, and not shown.
#[derive(Debug)]
pub struct StateWatch {
    last: watch::Sender<Option<Transition>>,
    /// Keyed by what [`Waker::will_wake`] compares.
    sleepers: Mutex<HashMap<(usize, usize), Waker>>,
}

impl StateWatch {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self {
            last: watch::Sender::new(None),
            sleepers: Mutex::default(),
        }
    }

    /// Returns a receiver of the last transition, if there was one, and of each new one. A slow receiver skips to the
    /// latest.
    pub fn subscribe(&self) -> watch::Receiver<Option<Transition>> {
        self.last.subscribe()
    }

    /// Returns the last transition, if there was one.
    pub fn last(&self) -> Option<Transition> {
        *self.last.borrow()
    }

    fn show(&self, transition: &Transition, is_nearer_than: impl Fn(&Transition) -> bool) {
        self.last.send_if_modified(|last| {
            let is_shown = last.as_ref().is_none_or(is_nearer_than);
            if is_shown {
                *last = Some(*transition);
            }
            is_shown
        });
        // Woken outside the lock, because it is not known here what a waker does.
        let sleepers = std::mem::take(&mut *self.sleepers());
        for waker in sleepers.into_values() {
            waker.wake();
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, HashMap<(usize, usize), Waker>> {
        // Nothing under the lock panics.
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for StateWatch {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for StateWatch {
    /// Shows it, whatever was shown before: a transition alone does not reveal the order.
    fn transition(&self, transition: &Transition) {
        self.show(transition, |_| true);
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.show(transition, |last| present.is_nearer(transition, last));
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        let task = (
            waker.data() as usize,
            std::ptr::from_ref(waker.vtable()) as usize,
        );
        let mut sleepers = self.sleepers();
        if !sleepers.contains_key(&task) {
            if sleepers.len() >= MAX_SLEEPERS {
                return false;
            }
            sleepers.insert(task, waker.clone());
        }
        true
    }
}
