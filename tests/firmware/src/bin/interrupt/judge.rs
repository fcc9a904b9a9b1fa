// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the word with the model, before and after each operation of the task and at each interrupt.
//!
//! An interrupt handler runs from its beginning to its end, so the task's operation is cut into spans by the interrupts
//! that come within it. In one span at most, the word changes as the model says that it changes; in all the others it
//! stays as it is. If it never changes, then the answer is that of a span in which it did not have to.

use atomic_breaker_embassy::word::TickBits;
use atomic_breaker_embassy::{Clock, EmbassyClock, State};

use crate::DEVICE;
use crate::model::{Answer, EPOCHS, Model, OPEN_MS, Operation, TIMELESS, kind};
use crate::notified;

/// A permit that waits to be reported, by the task or the handler.
#[derive(Clone, Copy)]
pub struct Held {
    pub bits: TickBits<0>,
    pub round: u32,
}

/// The task's operation.
struct Pending {
    operation: Operation,
    begun_round: u32,
    begun_ms: u32,
    /// The time in the current span.
    span_ms: u32,
    /// Once the word has changed.
    answer: Option<Answer>,
    /// The answers of spans in which there was nothing to change, as [bits](bit).
    idle: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Task,
    Handler,
}

/// The acts of the task or the handler.
#[derive(Clone, Copy)]
pub struct Done {
    pub operations: u32,
    pub probes: u32,
    pub rejected: u32,
    /// Reports of permits of an earlier round.
    pub late: u32,
}

pub struct Judge {
    pub model: Model,
    /// Permits that the task or the handler may report later.
    shelf: [Option<Held>; 4],
    /// The round of the permit that the task is busy with.
    pub hand: Option<u32>,
    pub done: [Done; 2],
    /// Interrupts that changed the word within an operation of the task.
    pub met: u32,
    pending: Option<Pending>,
    at_arrival: Model,
}

impl Judge {
    pub const fn new(made: [u32; 3]) -> Self {
        let model = Model::new(made);
        let none = Done {
            operations: 0,
            probes: 0,
            rejected: 0,
            late: 0,
        };
        Self {
            model,
            shelf: [None; 4],
            hand: None,
            done: [none; 2],
            met: 0,
            pending: None,
            at_arrival: model,
        }
    }

    /// The task begins an operation.
    pub fn begin(&mut self, operation: Operation) {
        self.check_age(operation);
        let now_ms = EmbassyClock.now_ms();
        self.pending = Some(Pending {
            operation,
            begun_round: self.model.round,
            begun_ms: now_ms,
            span_ms: now_ms,
            answer: None,
            idle: 0,
        });
    }

    /// The task's operation has ended with this answer. Returns the round in which that was.
    pub fn end(&mut self, answer: Answer) -> u32 {
        self.look();
        let pending = self.pending.take().expect("an operation began");
        match pending.answer {
            Some(due) => assert_eq!(answer, due, "{:?}", pending.operation),
            None => assert!(
                pending.idle & bit(answer) != 0,
                "{answer:?} of {:?}, instead of {:#x}",
                pending.operation,
                pending.idle
            ),
        }
        assert_eq!(
            self.model.made,
            notified(),
            "each transition is notified once"
        );
        self.count(Who::Task, pending.operation, answer)
    }

    /// The handler has done an operation, which no one interrupts.
    pub fn at_once(&mut self, operation: Operation, answer: Answer) -> u32 {
        self.check_age(operation);
        let (next, due) = self.model.after(operation, EmbassyClock.now_ms());
        assert_eq!(answer, due, "{operation:?} of {:?}", self.model);
        self.model = next;
        self.compare();
        self.count(Who::Handler, operation, answer)
    }

    /// The storm reports no permit that looks new again.
    fn check_age(&self, operation: Operation) {
        if let Operation::Report { round, .. } = operation {
            assert!(self.model.round - round < EPOCHS, "too old");
        }
    }

    fn count(&mut self, who: Who, operation: Operation, answer: Answer) -> u32 {
        let done = &mut self.done[who as usize];
        done.operations += 1;
        if let Operation::Report { round, .. } = operation {
            done.late += u32::from(round != self.model.round && answer == Answer::Made(None));
        }
        let Answer::Admitted { epoch, is_probe } = answer else {
            done.rejected += u32::from(operation == Operation::Acquire);
            return self.model.round;
        };
        done.probes += u32::from(is_probe);
        self.model.round - (self.model.round.wrapping_sub(epoch.into()) % EPOCHS)
    }

    /// An interrupt begins.
    pub fn arrive(&mut self) {
        self.look();
        self.at_arrival = self.model;
    }

    /// An interrupt ends that came within an operation of the task or between two.
    pub fn leave(&mut self, is_within: bool) {
        if let Some(pending) = &mut self.pending {
            pending.span_ms = EmbassyClock.now_ms();
        }
        if is_within && self.model != self.at_arrival {
            self.met += 1;
        }
    }

    /// The number of rounds since the permit that the task is busy with was granted, or may have been.
    pub fn age_in_hand(&self) -> u32 {
        let begun = self.pending.as_ref().map(|pending| pending.begun_round);
        let oldest = [begun, self.hand].into_iter().flatten().min();
        oldest.map_or(0, |round| self.model.round - round)
    }

    /// A permit from the shelf: one that is getting old, or with `is_any` any.
    pub fn take_for(&mut self, who: Who, is_any: bool) -> Option<Held> {
        let oldest = self
            .shelf
            .iter_mut()
            .max_by_key(|place| place.as_ref().map(|held| self.model.round - held.round));
        let is_wanted = |held: &mut Held| is_any || self.model.round - held.round >= EPOCHS / 2;
        let taken = oldest?.take_if(is_wanted)?;
        if who == Who::Task {
            self.hand = Some(taken.round);
        }
        Some(taken)
    }

    /// Puts it on the shelf, if there is room.
    pub fn put(&mut self, held: Held) -> bool {
        let free = self.shelf.iter_mut().find(|place| place.is_none());
        free.map(|place| *place = Some(held)).is_some()
    }

    /// Ends a span of the task's operation, the only one that may have changed the word since the last look.
    pub fn look(&mut self) {
        let word = DEVICE.to_bits().0 & TIMELESS;
        if let Some(pending) = self.pending.as_mut().filter(|it| it.answer.is_none()) {
            let (next, answer) = self.model.after(pending.operation, pending.span_ms);
            if next == self.model {
                pending.idle |= bit(answer);
            } else if word != self.model.word() {
                let has_opened = next.state == State::Open;
                self.model = next;
                pending.answer = Some(answer);
                if has_opened {
                    self.learn_when();
                }
            }
        }
        self.compare();
    }

    /// Reads the time of the opening from the word: only it knows when the report read the clock.
    fn learn_when(&mut self) {
        let pending = self.pending.as_ref().expect("it has opened");
        let opened_ms = DEVICE.snapshot().opened_at_ms().unwrap_or(0);
        let ago_ms = pending.span_ms.wrapping_sub(opened_ms);
        let longest_ms = pending.span_ms.wrapping_sub(pending.begun_ms);
        assert!(ago_ms <= longest_ms, "opened {ago_ms} ms ago");
        self.model.due_ms = opened_ms.wrapping_add(OPEN_MS);
    }

    /// Checks that the word is that of the model.
    fn compare(&self) {
        let (word, expected) = (DEVICE.to_bits().0 & TIMELESS, self.model.word());
        assert!(
            word == expected,
            "{word:#x} instead of {expected:#x}, {:?}, during {:?}",
            self.model,
            self.pending.as_ref().map(|pending| pending.operation)
        );
        self.compare_notified();
    }

    /// Each transition has been notified, but for one that the task has just made.
    fn compare_notified(&self) {
        let answer = self.pending.as_ref().and_then(|pending| pending.answer);
        let just_made = match answer {
            Some(Answer::Made(made)) => made.map(|(to, _)| kind(to)),
            // Only a probe changes the word.
            Some(Answer::Admitted { .. }) => Some(2),
            _ => None,
        };
        for (at, (made, notified)) in self.model.made.into_iter().zip(notified()).enumerate() {
            let most = u32::from(just_made == Some(at));
            let missing = made.wrapping_sub(notified);
            assert!(
                missing <= most,
                "notified {notified} instead of {made} times"
            );
        }
    }
}

/// One bit for each answer of an operation that changes nothing.
fn bit(answer: Answer) -> u32 {
    let at = match answer {
        Answer::Admitted {
            epoch,
            is_probe: false,
        } => u32::from(epoch),
        Answer::Rejected(State::Open) => EPOCHS,
        Answer::Rejected(State::HalfOpen) => EPOCHS + 1,
        Answer::Made(None) => EPOCHS + 2,
        // No such answer leaves everything as it is.
        _ => return 0,
    };
    1 << at
}
