// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a breaker that its fleet is notified of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use atomic_breaker::word::Bits;
use atomic_breaker::{AnyBreaker, BitsOf, Config, Observer, Rejected, Snapshot, Transition};
use atomic_breaker_server::RegistryError;

use super::queue::{BreakerEvent, Queue, TakenPlaces, Target, is_ours};
use crate::member::Action;
use crate::name::Name;

/// The data that the observer and the task share.
#[derive(Debug)]
struct SeatShared {
    name: Name,
    /// The next rejection is awaited.
    is_armed: AtomicBool,
    queue: Queue,
}

/// The place of one breaker in its fleet. It [observes](Observer) the breaker, and [takes](Self::take) it once it is
/// built. Clones share the place.
///
/// A transition costs a place in a queue; a rejection, or a look by a waiting caller, one load; a success or failure
/// nothing. When the queue is full the event is dropped and [counted](super::FleetStatus::overflows).
#[derive(Clone, Debug)]
pub struct Seat(Arc<SeatShared>);

impl Seat {
    pub(super) fn new(name: Name, places: &TakenPlaces, queue: &Queue) -> Self {
        Self(places.find(name, |name| SeatShared {
            name,
            is_armed: false.into(),
            queue: queue.clone(),
        }))
    }

    /// Hands over the breaker that this observes: an `Arc`, or a reference to a `static`. From now on it follows its
    /// fleet, which keeps it for as long as the process is joined. Each seat takes one breaker; another one replaces
    /// it.
    ///
    /// Returns whether the fleet had room for it and is still running.
    pub fn take<B: AnyBreaker + Send + 'static>(&self, breaker: B) -> bool {
        let (name, seat) = (self.0.name.clone(), self.clone());
        let event = BreakerEvent::Breaker(name, Box::new((seat, breaker)));
        self.0.queue.send(event)
    }

    fn place(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl SeatShared {
    /// A caller is available to probe. Armed by the task that receives what is sent; all but the first of a period stop
    /// at the load.
    fn note_caller(&self) {
        if self.is_armed.load(Ordering::Relaxed) && self.is_armed.swap(false, Ordering::Relaxed) {
            self.queue.send(BreakerEvent::Rejected(self.name.clone()));
        }
    }
}

impl Observer for Seat {
    /// Always: votes, the prober and the first success are those of this process.
    fn must_hear_all(&self) -> bool {
        true
    }

    fn transition(&self, transition: &Transition) {
        if !is_ours(self.place(), || Some(self.0.name.clone())) {
            let name = self.0.name.clone();
            self.0
                .queue
                .send(BreakerEvent::Transition(name, *transition));
        }
    }

    fn rejected(&self, _: Rejected) {
        self.0.note_caller();
    }

    /// Never wakes: a waiting caller counts like a rejected one.
    fn wake_on_change(&self, _: &Waker) -> bool {
        self.0.note_caller();
        false
    }
}

impl<B: AnyBreaker + Send> Target for (Seat, B) {
    fn rules(&self) -> Config {
        let mut rules = *self.1.as_breaker().config();
        // Unless it is set, the word of this breaker may not hold the default.
        rules.probe_lease_ms = Some(rules.lease_ms(BitsOf::<B>::LAYOUT.max_ms()));
        rules
    }

    fn snapshot(&self) -> Option<Snapshot> {
        Some(self.1.as_breaker().snapshot())
    }

    fn transitions_since(&self, made: &Transition) -> u16 {
        self.1.as_breaker().transitions_since(made)
    }

    fn place(&self) -> usize {
        self.0.place()
    }

    fn act(&self, action: Action) -> Result<Option<Transition>, RegistryError> {
        Ok(action.apply_to(&self.1))
    }

    fn arm(&self, is_armed: bool) {
        self.0.0.is_armed.store(is_armed, Ordering::Relaxed);
    }
}
