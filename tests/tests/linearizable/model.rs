// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference as an object that accepts one operation after the other, if the answer is right.

use tests::reference::{Mode, Permit, Reference, Rules, outcome, retry_in};

use super::operation::{Answer, Heard, Id, Made, Operation, Record, Said};
use super::plan::Plan;

/// A state of the reference, and the permits that are under way. What the operations bring with them, such as the
/// time, is no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Model {
    reference: Reference,
    permits: Vec<(Id, Permit)>,
}

impl Model {
    /// Closed and fresh, in the epoch in which the plan begins.
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut reference = Reference::new(plan.sets[0].wrapping(), 0);
        reference.generation = plan.epoch;
        Self {
            reference,
            permits: Vec::new(),
        }
    }

    /// Takes an operation if its answer is the reference's; otherwise the state is of no more use.
    pub(crate) fn accepts(&mut self, record: &Record, plan: &Plan) -> bool {
        let answer = self.answer(record, plan);
        self.forget_inputs(plan);
        answer.is_some_and(|answer| record.answer.is(&answer))
    }

    /// The reference's answer to an operation now, whatever was recorded.
    pub(crate) fn answered(mut self, record: &Record, plan: &Plan) -> Option<Answer> {
        self.answer(record, plan)
    }

    /// The same state with a permit as if it had just been granted.
    pub(crate) fn renewed(mut self, id: Id) -> Option<Self> {
        let mut permit = self.take(id)?;
        permit.generation = self.reference.generation;
        self.put(id, permit);
        Some(self)
    }

    /// The reference's answer; `None` if the permit was never granted.
    fn answer(&mut self, record: &Record, plan: &Plan) -> Option<Answer> {
        let seen = &mut self.reference;
        seen.rules = plan.sets[record.inputs.rules].wrapping();
        seen.now = record.inputs.now;
        seen.drawn = record.inputs.drawn;
        seen.noticed = None;
        let mut heard = Heard::default();
        let said = match record.operation {
            Operation::Acquire(id) => self.acquire(id, record.inputs.dice, &mut heard),
            Operation::Report(id, report) => {
                let permit = self.take(id)?;
                let counted = self.reference.report(permit, report);
                heard.outcomes.push(outcome(counted));
                Said::Made(self.made())
            }
            Operation::Drop(id) => {
                let permit = self.take(id)?;
                self.reference.drop_permit(permit);
                heard.cancelled += 1;
                Said::Made(self.made())
            }
            Operation::Renew(id) => {
                let mut permit = self.take(id)?;
                let is_renewed = self.reference.renew(&mut permit);
                self.put(id, permit);
                Said::Renewed(is_renewed)
            }
            Operation::Operator(command) => {
                self.reference.command(command);
                Said::Made(self.made())
            }
            Operation::Restore(asleep) => {
                self.reference.restore(asleep);
                Said::Made(self.made())
            }
            Operation::RestoreRunning => {
                self.reference.restore_running();
                Said::Made(self.made())
            }
            Operation::Snapshot => Said::Seen(Box::new(self.reference.view()), self.epoch()),
            Operation::State => Said::State(self.reference.view().state),
        };
        heard.transitions.extend(self.made());
        Some(Answer { said, heard })
    }

    fn acquire(&mut self, id: Id, dice: u32, heard: &mut Heard) -> Said {
        let seen = &mut self.reference;
        // So that a permit has the same number in all orders.
        seen.admitted = id;
        match seen.acquire(dice) {
            Ok(permit) => {
                let is_probe = permit.is_probe;
                let trips = if is_probe { seen.trips.max(1) as u8 } else { 0 };
                self.put(id, permit);
                Said::Admitted { is_probe, trips }
            }
            Err(wait) => {
                let state = seen.state();
                heard.rejected.push((state, wait));
                Said::Rejected {
                    state,
                    wait,
                    retry_in: retry_in(state, wait),
                }
            }
        }
    }

    /// The transition of this operation.
    fn made(&self) -> Option<Made> {
        self.reference.noticed.map(|notice| Made {
            notice,
            at_ms: self.reference.now as u32,
            epoch: self.epoch(),
        })
    }

    fn epoch(&self) -> u64 {
        self.reference.generation % self.reference.rules.grain.epochs()
    }

    fn put(&mut self, id: Id, permit: Permit) {
        let place = self.permits.partition_point(|(other, _)| *other < id);
        self.permits.insert(place, (id, permit));
    }

    fn take(&mut self, id: Id) -> Option<Permit> {
        let place = self.permits.iter().position(|(other, _)| *other == id)?;
        Some(self.permits.remove(place).1)
    }

    /// Two orders that lead to the same state must be seen to.
    fn forget_inputs(&mut self, plan: &Plan) {
        let seen = &mut self.reference;
        (seen.rules, seen.now, seen.drawn, seen.admitted) = (plan.sets[0].wrapping(), 0, None, 0);
        seen.noticed = None;
        if let Mode::Probing { out, .. } = &mut seen.mode {
            out.sort_unstable();
        }
    }
}

/// The rules over a word whose time wraps, as documented.
pub(crate) trait Wrapping {
    fn wrapping(&self) -> Rules;
}

impl Wrapping for Rules {
    fn wrapping(&self) -> Rules {
        Rules {
            grain: self.grain.wrapping(),
            ..*self
        }
    }
}
