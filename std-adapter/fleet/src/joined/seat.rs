//! What a breaker tells its fleet.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use atomic_breaker::{AnyBreaker, Config, Observer, Rejected, Transition};
use tokio::sync::mpsc::Sender;

use super::steer::{NoRoom, Ours, Steer, is_ours, is_probing};
use crate::Name;
use crate::member::Action;

/// Finds the breaker of a key by its name.
pub(super) type Find = Box<dyn Fn(&Name) -> Option<Box<dyn Steer>> + Send>;

/// What comes from breakers and their users.
pub(super) enum Event {
    Breaker {
        name: Name,
        breaker: Box<dyn Steer>,
    },
    Registry {
        name: Name,
        capacity: usize,
        find: Find,
    },
    Transition(Name, Transition),
    Rejected(Name),
    /// A key whose name is too long.
    LeftAlone,
}

/// Where events wait for the task.
#[derive(Clone)]
pub(super) struct Queue {
    pub(super) events: Sender<Event>,
    pub(super) overflows: Arc<AtomicU64>,
}

impl Queue {
    pub(super) fn send(&self, event: Event) -> bool {
        let is_sent = self.events.try_send(event).is_ok();
        if !is_sent {
            // A counter that nothing else depends on.
            self.overflows.fetch_add(1, Ordering::Relaxed);
        }
        is_sent
    }
}

/// What the observer and the task share.
struct Shared {
    name: Name,
    /// The next rejection is awaited.
    is_armed: AtomicBool,
    queue: Queue,
}

/// The place of one breaker in its fleet. It [observes](Observer) the breaker, and [takes](Self::take) it once it is
/// built. Clones share the place.
///
/// A transition costs a place in a queue; a rejection one load; a success or failure nothing. When the queue is
/// full the event is dropped and [counted](super::FleetStatus::overflows).
#[derive(Clone)]
pub struct Seat(Arc<Shared>);

impl Seat {
    pub(super) fn new(name: Name, queue: Queue) -> Self {
        Self(Arc::new(Shared {
            name,
            is_armed: false.into(),
            queue,
        }))
    }

    /// Hands over the breaker that this observes: an `Arc`, or a reference to a `static`. From now on it follows its
    /// fleet, which keeps it for as long as the process is joined. Each seat takes one breaker; another one replaces
    /// it.
    ///
    /// Returns whether the fleet had room for it and is still running.
    pub fn take<B: AnyBreaker + Send + 'static>(&self, breaker: B) -> bool {
        self.0.queue.send(Event::Breaker {
            name: self.0.name.clone(),
            breaker: Box::new(Seated {
                seat: Arc::clone(&self.0),
                breaker,
            }),
        })
    }

    /// The name of the breaker.
    pub fn name(&self) -> &Name {
        &self.0.name
    }
}

impl Observer for Seat {
    fn transition(&self, transition: &Transition) {
        if !is_ours() {
            let name = self.0.name.clone();
            self.0.queue.send(Event::Transition(name, *transition));
        }
    }

    fn rejected(&self, _: Rejected) {
        // Set by the task that receives what is sent; every rejection but the first of a period stops at the load.
        if self.0.is_armed.load(Ordering::Relaxed) && self.0.is_armed.swap(false, Ordering::Relaxed)
        {
            self.0.queue.send(Event::Rejected(self.0.name.clone()));
        }
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Seat").field(&self.0.name).finish()
    }
}

/// A breaker in its seat.
struct Seated<B> {
    seat: Arc<Shared>,
    breaker: B,
}

impl<B: AnyBreaker + Send> Steer for Seated<B> {
    fn rules(&self) -> Config {
        *self.breaker.as_breaker().config()
    }

    fn is_probing(&self) -> bool {
        is_probing(&self.breaker.as_breaker().snapshot())
    }

    fn transitions_since(&self, made: &Transition) -> u16 {
        self.breaker.as_breaker().transitions_since(made)
    }

    fn act(&self, action: Action) -> Result<Option<Transition>, NoRoom> {
        let _ours = Ours::begin();
        Ok(action.apply_to(&self.breaker))
    }

    fn arm(&self, is_armed: bool) {
        self.seat.is_armed.store(is_armed, Ordering::Relaxed);
    }
}
