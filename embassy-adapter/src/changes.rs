//! Telling tasks that the state has changed.

use core::fmt;
use core::future::{Future, pending};

use atomic_breaker::{EventLog, Observer, Transition};
use embassy_sync::blocking_mutex::raw::RawMutex;
use embassy_sync::watch::{Receiver, Watch};

/// An observer of whom tasks can learn that the state has changed.
///
/// [`BreakerExt::ready`](crate::BreakerExt::ready) asks for one. `()` and [`EventLog`] never tell; a
/// [`StateWatch`] does, also as the second of a pair.
pub trait Changes: Observer {
    /// Hears of changes from now on.
    type Listener<'a>: Listener
    where
        Self: 'a;

    /// Starts to listen.
    fn listen(&self) -> Self::Listener<'_>;
}

/// Hears of changes since it was made.
pub trait Listener {
    /// Whether it will hear of every change.
    fn hears(&self) -> bool;

    /// Waits for the next change. May answer without one, but not again and again.
    fn change(&mut self) -> impl Future<Output = ()>;
}

/// Hears nothing.
#[derive(Clone, Copy, Debug)]
pub struct Deaf;

impl Listener for Deaf {
    fn hears(&self) -> bool {
        false
    }

    fn change(&mut self) -> impl Future<Output = ()> {
        pending()
    }
}

impl Changes for () {
    type Listener<'a> = Deaf;

    fn listen(&self) -> Deaf {
        Deaf
    }
}

impl<const N: usize> Changes for EventLog<N> {
    type Listener<'a> = Deaf;

    fn listen(&self) -> Deaf {
        Deaf
    }
}

impl<O: Changes> Changes for &O {
    type Listener<'a>
        = O::Listener<'a>
    where
        Self: 'a;

    fn listen(&self) -> O::Listener<'_> {
        (**self).listen()
    }
}

impl<A: Observer, B: Changes> Changes for (A, B) {
    type Listener<'a>
        = B::Listener<'a>
    where
        Self: 'a;

    fn listen(&self) -> B::Listener<'_> {
        self.1.listen()
    }
}

/// An observer that keeps the last transition for tasks to wait for: an [`embassy_sync`] `Watch` with
/// up to `N` receivers.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, StateWatch, word::NativeWord};
/// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
///
/// type Watched = StateWatch<CriticalSectionRawMutex, 2>;
/// static STATE: Watched = StateWatch::new();
/// static RADIO: Breaker<NativeWord, (), &Watched> =
///     Breaker::from_parts(NativeWord::new(0), Config::new(), EmbassyClock, (), &STATE);
///
/// async fn lamp() {
///     let mut changes = STATE.receiver().unwrap();
///     loop {
///         let transition = changes.changed().await;
///         // Light or darken the lamp.
///         # let _ = transition.to;
///     }
/// }
/// # let _ = (lamp, &RADIO);
/// ```
pub struct StateWatch<M: RawMutex, const N: usize>(Watch<M, Transition, N>);

impl<M: RawMutex, const N: usize> StateWatch<M, N> {
    /// Nothing has happened yet.
    pub const fn new() -> Self {
        Self(Watch::new())
    }

    /// A receiver of transitions: of the last one at first, if there was any, then of each that it
    /// is not too late for. `None` while `N` of them exist.
    pub fn receiver(&self) -> Option<Receiver<'_, M, Transition, N>> {
        self.0.receiver()
    }
}

impl<M: RawMutex, const N: usize> Default for StateWatch<M, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: RawMutex, const N: usize> fmt::Debug for StateWatch<M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateWatch").finish_non_exhaustive()
    }
}

impl<M: RawMutex, const N: usize> Observer for StateWatch<M, N> {
    fn transition(&self, transition: &Transition) {
        self.0.sender().send(*transition);
    }
}

/// A receiver, if there was one left.
pub struct Watching<'a, M: RawMutex, const N: usize>(Option<Receiver<'a, M, Transition, N>>);

impl<M: RawMutex, const N: usize> fmt::Debug for Watching<'_, M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watching").field(&self.0.is_some()).finish()
    }
}

impl<M: RawMutex, const N: usize> Listener for Watching<'_, M, N> {
    fn hears(&self) -> bool {
        self.0.is_some()
    }

    async fn change(&mut self) {
        match &mut self.0 {
            Some(receiver) => {
                receiver.changed().await;
            }
            None => pending().await,
        }
    }
}

impl<M: RawMutex, const N: usize> Changes for StateWatch<M, N> {
    type Listener<'a>
        = Watching<'a, M, N>
    where
        Self: 'a;

    fn listen(&self) -> Self::Listener<'_> {
        let mut receiver = self.0.receiver();
        // What happened before is in the word.
        if let Some(receiver) = &mut receiver {
            let _ = receiver.try_changed();
        }
        Watching(receiver)
    }
}
