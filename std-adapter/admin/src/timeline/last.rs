//! The last transition of each key, for a bounded number of keys.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use atomic_breaker_registry::{Present, State};

use super::event::{Event, Subject};

/// Closed ones are forgotten first, then those that have not changed for longest.
pub(super) struct LastOfEach {
    most: usize,
    events: HashMap<Subject, Arc<Event>>,
    order: BTreeMap<(IsHeld, u64), Subject>,
}

/// Whether someone may be waiting for it: it is not closed.
type IsHeld = bool;

impl LastOfEach {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            events: HashMap::new(),
            order: BTreeMap::new(),
        }
    }

    pub(super) fn get(&self, subject: &Subject) -> Option<Arc<Event>> {
        self.events.get(subject).cloned()
    }

    /// Keeps the event if it is a transition; of two that arrive in the wrong order, the one that is nearer to the
    /// present word. Without a word to compare with, the last to arrive.
    pub(super) fn note(&mut self, event: &Arc<Event>, present: Option<Present<'_>>) {
        let Some(transition) = event.transition() else {
            return;
        };
        if let Some(known) = self.events.get(&event.subject) {
            if let (Some(present), Some(before)) = (present, known.transition()) {
                if !present.is_nearer(transition, before) {
                    return;
                }
            }
            self.order.remove(&place(known));
        }
        self.order.insert(place(event), event.subject.clone());
        self.events.insert(event.subject.clone(), Arc::clone(event));
        if self.events.len() > self.most {
            if let Some((_, subject)) = self.order.pop_first() {
                self.events.remove(&subject);
            }
        }
    }
}

fn place(event: &Event) -> (IsHeld, u64) {
    let made = event.transition();
    let is_held = made.is_some_and(|made| made.to != State::Closed);
    (is_held, event.number)
}
