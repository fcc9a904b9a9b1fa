// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last transition of each key, for a bounded number of keys.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use atomic_breaker_server::{Present, State};

use super::event::{Subject, TimelineEvent};
use super::outage::Outage;
use super::rejections::{RejectionCounts, Rejections, SubjectId};

/// Closed and returning ones are forgotten first, then those that have not changed for longest.
pub(super) struct LastOfEach {
    most: usize,
    known: HashMap<Subject, LastKnown>,
    counts: Arc<RejectionCounts>,
    order: BTreeMap<(IsHeld, u64), Subject>,
}

/// The last known state of a breaker.
#[derive(Clone)]
pub(crate) struct LastKnown {
    /// Its last transition.
    pub(crate) event: Arc<TimelineEvent>,
    /// The outage, if it is down.
    pub(crate) outage: Option<Outage>,
    /// The rejections since it has opened, if it is not closed and has a recorder.
    pub(crate) rejections: Option<(SubjectId, Arc<Rejections>)>,
}

/// `true` if a caller may be waiting for it: it rejects calls, or an operator has set it.
type IsHeld = bool;

impl LastOfEach {
    pub(super) fn new(most: usize, counts: Arc<RejectionCounts>) -> Self {
        Self {
            most,
            counts,
            known: HashMap::new(),
            order: BTreeMap::new(),
        }
    }

    pub(super) fn get(&self, subject: &Subject) -> Option<&LastKnown> {
        self.known.get(subject)
    }

    /// Keeps the event if it is a transition; of two that arrive in the wrong order, the one that is nearer to the
    /// present word. Without a word to compare with, the last to arrive. With the number under which the rejections of a target
    /// are counted, if it has a recorder.
    pub(super) fn note(
        &mut self,
        event: &Arc<TimelineEvent>,
        present: Option<Present<'_>>,
        id: Option<SubjectId>,
    ) {
        let Some(transition) = event.transition() else {
            return;
        };
        let mut outage = None;
        if let Some(known) = self.known.get_mut(&event.subject) {
            if let (Some(present), Some(before)) = (present, known.event.transition()) {
                if !present.is_nearer(transition, before) {
                    if let Some(outage) = &mut known.outage {
                        outage.note_late(event, transition);
                    }
                    return;
                }
            }
            outage = known.outage.take();
            self.order.remove(&place(&known.event));
        }
        self.order.insert(place(event), event.subject.clone());
        let known = LastKnown {
            event: Arc::clone(event),
            outage: Outage::after(outage, event, transition),
            rejections: id.and_then(|id| Some((id, self.counts.after(id, transition)?))),
        };
        self.known.insert(event.subject.clone(), known);
        if self.known.len() > self.most {
            if let Some((_, subject)) = self.order.pop_first() {
                let gone = self.known.remove(&subject);
                if let Some((id, _)) = gone.and_then(|gone| gone.rejections) {
                    self.counts.forget(id);
                }
            }
        }
    }
}

fn place(event: &TimelineEvent) -> (IsHeld, u64) {
    let made = event.transition();
    let is_held = made.is_some_and(|made| !matches!(made.to, State::Closed | State::Returning));
    (is_held, event.number)
}
