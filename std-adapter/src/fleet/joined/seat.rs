//! What a breaker tells its fleet.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use atomic_breaker::{AnyBreaker, Observer, Rejected, Transition};
use tokio::sync::mpsc::Sender;

use super::super::Name;
use super::steer::{Steer, is_ours};

/// What comes from breakers and their users.
pub(super) enum Event {
    Joins {
        seat: Arc<Shared>,
        breaker: Box<dyn Steer>,
    },
    Transition(Arc<Shared>, Transition),
    Rejected(Arc<Shared>),
}

/// What the observer and the task share.
pub(super) struct Shared {
    pub(super) name: Name,
    /// The next rejection is waited for.
    pub(super) is_armed: AtomicBool,
    pub(super) events: Sender<Event>,
    pub(super) overflows: Arc<AtomicU64>,
}

/// The place of one breaker in its fleet: [observes](Observer) it, and [takes](Self::take) it once it is built.
/// A clone is the same place.
///
/// A transition costs a place in a queue; a rejection one load; a success or failure nothing. When the queue is
/// full the event is dropped and [counted](super::FleetStatus::overflows).
#[derive(Clone)]
pub struct Seat(pub(super) Arc<Shared>);

impl Seat {
    /// Hands the breaker over that this observes: an `Arc`, or a reference to a `static`. From now on it follows
    /// its fleet. Its fleet keeps it for as long as it is joined. Each seat takes one; another one takes its place.
    ///
    /// Returns whether the fleet had room for it and still runs.
    pub fn take<B: AnyBreaker + Send + 'static>(&self, breaker: B) -> bool {
        self.0.send(Event::Joins {
            seat: Arc::clone(&self.0),
            breaker: Box::new(breaker),
        })
    }

    /// The name.
    pub fn name(&self) -> &Name {
        &self.0.name
    }
}

impl Shared {
    fn send(&self, event: Event) -> bool {
        let is_sent = self.events.try_send(event).is_ok();
        if !is_sent {
            // A counter that nothing else depends on.
            self.overflows.fetch_add(1, Ordering::Relaxed);
        }
        is_sent
    }
}

impl Observer for Seat {
    fn transition(&self, transition: &Transition) {
        if !is_ours() {
            let seat = Arc::clone(&self.0);
            self.0.send(Event::Transition(seat, *transition));
        }
    }

    fn rejected(&self, _: Rejected) {
        // Set by the task that takes what is sent; each rejection but the first of a period ends at the load.
        if self.0.is_armed.load(Ordering::Relaxed) && self.0.is_armed.swap(false, Ordering::Relaxed)
        {
            self.0.send(Event::Rejected(Arc::clone(&self.0)));
        }
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Seat").field(&self.0.name).finish()
    }
}
