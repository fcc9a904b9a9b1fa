// SPDX-License-Identifier: MIT OR Apache-2.0
//! A caller that takes the steps of its script and records what came of each.

use std::time::Duration;

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, CorruptWord, Permit, Rejected, Rules, Token, Transition};
use tests::random::Random;
use tests::reference::{self, outcome};

use super::operation::{Answer, Change, Id, Inputs, Made, Operation, Record, Recorded, Said};
use super::plan::{Plan, Step};
use super::world::{Followed, Listener, Readings, World};

pub(crate) type BitsOf<V> = <<V as World>::Word as Word>::Bits;

/// Permits that a caller holds, without their breaker.
pub(crate) type Held<B> = Vec<(Id, Token<B>)>;

/// The record of a caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) records: Vec<Record>,
    pub(crate) changes: Vec<Change>,
    /// The steps of its script that led to the records.
    pub(crate) steps: Vec<usize>,
}

type Real<'a, V> = Breaker<
    &'a Readings<'a, V>,
    &'a <V as World>::Word,
    (),
    &'a Listener,
    &'a Followed<'a, V, BitsOf<V>>,
>;

pub(crate) struct Caller<'a, V: World> {
    world: &'a V,
    plan: &'a Plan,
    number: u64,
    clock: Readings<'a, V>,
    rules: Followed<'a, V, BitsOf<V>>,
    listener: Listener,
    held: Held<BitsOf<V>>,
    asked: u64,
    notes: Notes,
}

impl<'a, V: World> Caller<'a, V> {
    pub(crate) fn new(
        world: &'a V,
        plan: &'a Plan,
        sets: &'a [Rules<BitsOf<V>>],
        number: u64,
        held: Held<BitsOf<V>>,
    ) -> Self {
        let random = Random::new(plan.seed ^ (number + 1) << 32);
        Self {
            world,
            plan,
            number,
            clock: Readings::new(world, plan.kind.stands_still(), random),
            rules: Followed::new(world, sets),
            listener: Listener::default(),
            held,
            asked: 0,
            notes: Notes::default(),
        }
    }

    /// Takes all steps. Returns the permits that it still holds as well.
    pub(crate) fn perform(mut self, script: &[Step]) -> (Notes, Held<BitsOf<V>>) {
        for (place, step) in script.iter().enumerate() {
            self.step(place, *step);
        }
        (self.notes, self.held)
    }

    fn step(&mut self, place: usize, step: Step) {
        match step {
            Step::Advance(ms) => return self.world.advance(ms),
            Step::Rules(rules) => {
                let called = self.world.stamp();
                self.world.set_rules(rules);
                let returned = self.world.stamp();
                return self.notes.changes.push(Change {
                    rules,
                    called,
                    returned,
                });
            }
            _ => {}
        }
        let held = step.which().and_then(|which| self.take(which));
        let next = self.number << 16 | self.asked;
        let Some(operation) = step.operation(held.as_ref().map(|(id, _)| *id), next) else {
            // The token of a lost permit is forgotten.
            return;
        };
        self.asked += 1;
        self.notes.steps.push(place);
        let wait = self.record(operation, held.map(|(_, token)| token));
        if let (Step::ToDeadline(more), Some(wait)) = (step, wait) {
            let ms = wait.as_millis() as u64;
            self.world.advance(ms.saturating_add_signed(more));
        }
    }

    fn take(&mut self, which: usize) -> Option<(Id, Token<BitsOf<V>>)> {
        let count = self.held.len();
        (count != 0).then(|| self.held.remove(count - 1 - which % count))
    }

    /// Asks and records. Returns how long a caller would wait now, if the operation looked.
    fn record(
        &mut self,
        operation: Operation,
        token: Option<Token<BitsOf<V>>>,
    ) -> Option<Duration> {
        self.clock.begin();
        let mut granted = None;
        let called = self.world.stamp();
        let said = ask(&self.breaker(), operation, token, &mut granted);
        let returned = self.world.stamp();
        if let Operation::Acquire(id) | Operation::Renew(id) = operation {
            self.held.extend(granted.map(|token| (id, token)));
        }
        let heard = self.listener.take();
        let (now, dice) = self.clock.taken(self.plan.start);
        let tick = self.plan.grain().tick;
        let made = heard.transitions.first();
        let drawn = made.map(|made| made.notice.open_for / tick);
        let wait = match &said {
            Said::Seen(view, _) => view.retry_in,
            _ => None,
        };
        self.notes.records.push(Record {
            caller: self.number,
            operation,
            inputs: Inputs {
                now,
                rules: self.rules.last(),
                dice,
                drawn,
            },
            answer: Recorded::Here(Answer { said, heard }),
            called,
            returned,
        });
        wait
    }

    fn breaker(&self) -> Real<'_, V> {
        Breaker::from_parts(
            self.world.word(),
            &self.rules,
            &self.clock,
            (),
            &self.listener,
        )
    }
}

/// Asks the real breaker.
fn ask<V: World>(
    breaker: &Real<'_, V>,
    operation: Operation,
    token: Option<Token<BitsOf<V>>>,
    granted: &mut Option<Token<BitsOf<V>>>,
) -> Said {
    let permit = token.map(|token| breaker.resume(token));
    match (operation, permit) {
        (Operation::Acquire(_), _) => match breaker.acquire() {
            Ok(permit) => {
                let (is_probe, trips) = (permit.is_probe(), permit.trips());
                *granted = Some(permit.into_token());
                Said::Admitted { is_probe, trips }
            }
            Err(rejected) => said(rejected),
        },
        (Operation::Report(_, report), Some(permit)) => made(permit.report(outcome(report))),
        (Operation::Drop(_), Some(permit)) => made(permit.cancel()),
        (Operation::Renew(_), Some(permit)) => renew(permit, granted),
        (Operation::Operator(command), _) => made(reference::command(breaker, command)),
        (Operation::Restore(None), _) => restored(breaker.restore()),
        (Operation::Restore(Some(ms)), _) => {
            restored(breaker.restore_after(Duration::from_millis(ms)))
        }
        (Operation::RestoreRunning, _) => restored(breaker.restore_running()),
        (Operation::Snapshot, _) => {
            let snapshot = breaker.snapshot();
            Said::Seen(Box::new(snapshot.into()), snapshot.epoch().into())
        }
        (Operation::State, _) => Said::State(breaker.state()),
        (Operation::Report(..) | Operation::Drop(_) | Operation::Renew(_), None) => {
            unreachable!("the permit of {operation:?} is held")
        }
    }
}

fn renew<V: World>(
    mut permit: Permit<&Real<'_, V>>,
    granted: &mut Option<Token<BitsOf<V>>>,
) -> Said {
    let is_renewed = permit.renew();
    *granted = Some(permit.into_token());
    Said::Renewed(is_renewed)
}

fn said(rejected: Rejected) -> Said {
    Said::Rejected {
        state: rejected.state(),
        wait: rejected.wait(),
        retry_in: rejected.retry_in(),
    }
}

fn made(transition: Option<Transition>) -> Said {
    Said::Made(transition.as_ref().map(Made::from))
}

fn restored(restored: Result<Option<Transition>, CorruptWord>) -> Said {
    restored.map_or(Said::Corrupt, made)
}
