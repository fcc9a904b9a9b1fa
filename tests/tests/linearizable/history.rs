// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recorded round, and the verdict on it.

use std::fmt::Write as _;
use std::sync::Arc;

use super::caller::Notes;
use super::figures::Figures;
use super::model::Model;
use super::operation::{Change, Record};
use super::plan::Plan;
use super::search::{is_right, search};

/// The events of a round, in the order of the calls.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) plan: Arc<Plan>,
    pub(crate) records: Vec<Record>,
    pub(crate) changes: Vec<Change>,
}

impl History {
    pub(crate) fn new(plan: &Arc<Plan>, notes: impl IntoIterator<Item = Notes>) -> Self {
        let mut history = Self {
            plan: plan.clone(),
            records: Vec::new(),
            changes: Vec::new(),
        };
        for notes in notes {
            history.records.extend(notes.records);
            history.changes.extend(notes.changes);
        }
        history.records.sort_by_key(|record| record.called);
        history
    }

    /// Returns whether epochs came round again: a permit that lives through a whole turn of them is mistaken for a current
    /// one, as documented.
    pub(crate) fn is_too_long(&self) -> bool {
        let transitions = self.records.iter().filter(|record| record.is_transition());
        transitions.count() as u64 >= self.plan.grain().epochs()
    }

    /// Searches for an order. Counts what the round was like.
    pub(crate) fn judge(&self, figures: &mut Figures) -> Result<Vec<usize>, String> {
        if self.is_too_long() {
            figures.too_long += 1;
            return Ok(Vec::new());
        }
        figures.count(self);
        let found = search(&self.plan, &self.records);
        figures.steps += found.steps;
        if let Some(record) = self.mixed() {
            return Err(format!("rules that were not set: {record:?}\n{self:#?}"));
        }
        if !found.is_order {
            return Err(self.report(&found.order));
        }
        assert!(
            is_right(&self.plan, &self.records, &found.order),
            "an order that is none: {:?}\n{self:#?}",
            found.order
        );
        Ok(found.order)
    }

    /// Returns whether the order of the calls, the simplest of all, is the reference's.
    pub(crate) fn is_in_order_of_calls(&self) -> bool {
        let mut model = Model::new(&self.plan);
        let mut records = self.records.iter();
        records.all(|record| model.accepts(record, &self.plan))
    }

    /// An operation under rules that had been replaced before it was called, or that were set after it had returned.
    fn mixed(&self) -> Option<&Record> {
        self.records.iter().find(|record| {
            let rules = record.inputs.rules;
            let is_first = rules == 0 && !self.changes.iter().any(|it| it.returned < record.called);
            let is_set = |change: &&Change| {
                let is_over = |other: &Change| {
                    change.returned < other.called && other.returned < record.called
                };
                change.rules == rules
                    && change.called < record.returned
                    && !self.changes.iter().any(is_over)
            };
            !is_first && !self.changes.iter().any(|change| is_set(&change))
        })
    }

    fn report(&self, longest: &[usize]) -> String {
        let mut text = format!(
            "no order of these operations is the reference's: {:?}, plan {:#x}, {:?}\n",
            self.plan.kind, self.plan.seed, self.plan.sets
        );
        let _ = writeln!(text, "the longest beginning of one: {longest:?}");
        for (place, record) in self.records.iter().enumerate() {
            let mark = if longest.contains(&place) { ' ' } else { '*' };
            let _ = writeln!(
                text,
                "{mark}{place} {}..{} caller {}: {:?} with {:?}: {:?}",
                record.called,
                record.returned,
                record.caller,
                record.operation,
                record.inputs,
                record.answer
            );
        }
        text
    }
}
