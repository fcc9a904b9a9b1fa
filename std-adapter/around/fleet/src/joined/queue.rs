// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exchange between the task and the breakers or keys of this instance.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use atomic_breaker::{Config, Snapshot, Transition};
use atomic_breaker_server::RegistryError;
use tokio::sync::mpsc::Sender;

use crate::member::Action;
use crate::name::Name;

/// The events from breakers and their users.
pub(super) enum BreakerEvent {
    Breaker(Name, Box<dyn Target>),
    Registry(Name, FollowedRegistry),
    Transition(Name, Transition),
    Rejected(Name),
    /// A key whose name is too long.
    LeftAlone,
}

/// A breaker or key that follows, as the fleet handles it.
pub(super) trait Target: Send {
    /// The rules that apply now. May run code of the user's, which may panic.
    fn rules(&self) -> Config;
    /// `None` for a key without a slot.
    fn snapshot(&self) -> Option<Snapshot>;
    /// The number of transitions that the word has seen since `made`, modulo its epochs: 0 while that is the last.
    fn transitions_since(&self, made: &Transition) -> u16;
    /// The address of its place.
    fn place(&self) -> usize;
    /// An error if there is no slot for a key.
    fn act(&self, action: Action) -> Result<Option<Transition>, RegistryError>;
    /// Starts to wait for the next rejection, or stops.
    fn arm(&self, is_armed: bool);
}

type Find = dyn Fn(&Name) -> Option<Box<dyn Target>> + Send;

/// A registry whose keys may follow.
pub(super) struct FollowedRegistry {
    /// Finds the breaker of a key by its name.
    pub(super) find: Box<Find>,
    /// The number of further keys that may follow: only as many as have a slot.
    pub(super) room: usize,
}

/// The queue in which events wait for the task.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) events: Sender<BreakerEvent>,
    pub(super) overflows: Arc<AtomicU64>,
}

impl Queue {
    pub(super) fn send(&self, event: BreakerEvent) -> bool {
        let is_sent = self.events.try_send(event).is_ok();
        if !is_sent {
            // A counter that nothing else depends on.
            self.overflows.fetch_add(1, Ordering::Relaxed);
        }
        is_sent
    }
}

/// The places that are in use, by type and name. A place that is asked for again is the same: rejections are awaited in
/// the place that was taken, and noticed in the one that observes, so with two of them no call would ever probe.
#[derive(Debug, Default)]
pub(super) struct TakenPlaces(Mutex<HashMap<(TypeId, Name), Weak<dyn Any + Send + Sync>>>);

impl TakenPlaces {
    pub(super) fn find<P>(&self, name: Name, place: impl FnOnce(Name) -> P) -> Arc<P>
    where
        P: Send + Sync + 'static,
    {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = (TypeId::of::<P>(), name.clone());
        let found = places.get(&of).and_then(Weak::upgrade);
        if let Some(Ok(found)) = found.map(Arc::downcast::<P>) {
            return found;
        }
        let new = Arc::new(place(name));
        let kept: Weak<P> = Arc::downgrade(&new);
        places.retain(|_, place| place.strong_count() > 0);
        places.insert(of, kept);
        new
    }
}

/// A breaker or key of this instance, by the address of its place and its name: two fleets of one process may have a
/// breaker of the same name.
#[derive(PartialEq, Eq)]
pub(super) struct ActedOn(pub(super) usize, pub(super) Name);

thread_local! {
    /// The breaker or key on which the fleet is acting in this thread. An observer of the user's that it notifies may
    /// change others meanwhile.
    static OURS: RefCell<Option<ActedOn>> = const { RefCell::new(None) };
}

/// Returns whether a transition that is reported at this place was made by the fleet itself. The name is asked for only if
/// the fleet acts at this place.
pub(super) fn is_ours(place: usize, name: impl FnOnce() -> Option<Name>) -> bool {
    OURS.with_borrow(|ours| {
        let ours = ours.as_ref().filter(|ours| ours.0 == place);
        ours.is_some_and(|ours| name().is_some_and(|name| name == ours.1))
    })
}

/// Acts as the fleet on this breaker or key. `None` if it panics: a user's observer that does so stops nothing here.
pub(super) fn ours<R>(on: ActedOn, act: impl FnOnce() -> R) -> Option<R> {
    OURS.set(Some(on));
    let made = survive(act);
    OURS.set(None);
    made
}

/// Runs code that may call the user's. `None` if it panics.
pub(super) fn survive<R>(run: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}
