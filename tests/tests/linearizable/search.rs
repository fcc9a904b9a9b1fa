// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search for an order: Wing and Gong's, with the states that Lowe remembers.
//!
//! J. M. Wing, C. Gong: Testing and Verifying Concurrent Objects (1993). G. Lowe: Testing for Linearizability (2017).

use std::collections::HashSet;

use super::model::Model;
use super::operation::Record;
use super::plan::Plan;

/// More operations would not fit the set of those that are done.
const MOST: usize = 128;

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// The places of the records in an order that the reference accepts, or else the longest beginning of one.
    pub(crate) order: Vec<usize>,
    pub(crate) is_order: bool,
    /// The number of times that an operation was tried in a place.
    pub(crate) steps: u64,
}

struct Search<'a> {
    plan: &'a Plan,
    records: &'a [Record],
    /// Sets of operations with the states that they led to, from which no order went on.
    seen: HashSet<(u128, Model)>,
    order: Vec<usize>,
    found: Found,
}

/// Searches for an order of all operations that is consistent with real time, that is, an operation which returned
/// before another one was called comes before it, and in which the reference gives exactly the recorded answers.
pub(crate) fn search(plan: &Plan, records: &[Record]) -> Found {
    assert!(
        records.len() <= MOST,
        "a history of {} operations",
        records.len()
    );
    let mut search = Search {
        plan,
        records,
        seen: HashSet::new(),
        order: Vec::new(),
        found: Found::default(),
    };
    search.found.is_order = search.goes_on(0, &Model::new(plan));
    search.found
}

impl Search<'_> {
    fn goes_on(&mut self, done: u128, model: &Model) -> bool {
        if self.order.len() > self.found.order.len() {
            self.found.order.clone_from(&self.order);
        }
        if self.order.len() == self.records.len() {
            return true;
        }
        let next = self.next(done);
        // Where only one can follow, nobody else comes to this place.
        if next.len() > 1 && !self.seen.insert((done, model.clone())) {
            return false;
        }
        for place in next {
            self.found.steps += 1;
            let mut after = model.clone();
            if !after.accepts(&self.records[place], self.plan) {
                continue;
            }
            self.order.push(place);
            if self.goes_on(done | 1 << place, &after) {
                return true;
            }
            self.order.pop();
        }
        false
    }

    /// The operations that may come next: those that were called before any other one has returned.
    fn next(&self, done: u128) -> Vec<usize> {
        let left = || (0..self.records.len()).filter(|place| done & 1 << place == 0);
        let first = left().map(|place| self.records[place].returned).min();
        let mut next: Vec<_> = left()
            .filter(|place| Some(self.records[*place].called) <= first)
            .collect();
        next.sort_by_key(|place| self.records[*place].returned);
        next
    }
}

/// Returns whether an order, from wherever it comes, has all operations once, respects real time and is the reference's.
pub(crate) fn is_right(plan: &Plan, records: &[Record], order: &[usize]) -> bool {
    let mut model = Model::new(plan);
    let mut done = vec![false; records.len()];
    let mut latest_call = 0;
    order.iter().all(|&place| {
        let record = &records[place];
        // None that comes earlier in the order was called after this one had returned.
        let is_in_time = latest_call <= record.returned;
        latest_call = latest_call.max(record.called);
        let is_new = !std::mem::replace(&mut done[place], true);
        is_in_time && is_new && model.accepts(record, plan)
    }) && done.iter().all(|done| *done)
}
