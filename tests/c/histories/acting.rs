// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events on both breakers: what callers report, and what operators command.

use atomic_breaker::word::Word;
use proptest::prelude::*;
use tests::reference::{Command, Permit, Reference, Report};

use super::event::Event;
use super::given::{Token, bytes, token};
use super::pair::Pair;
use super::record;
use super::through::{How, Side, Since};

impl<W: Word<Bits: Side<Word = W>> + Default> Pair<W, ()> {
    /// Reports to the real breaker, and checks that the token has been used up.
    fn report(&self, how: How, mut token: Token<W>) -> Result<bool, TestCaseError> {
        let tell = |token: &mut Token<W>| {
            W::Bits::report(how, self.kept.word(), self.rules(), token, self.now_ms())
        };
        let has_changed = tell(&mut token);
        prop_assert!(!tell(&mut token), "reported twice");
        Ok(has_changed)
    }

    /// Applies the event to both breakers. Returns whether the real one says that its state has changed.
    pub(super) fn act(&mut self, event: Event) -> Result<Option<bool>, TestCaseError> {
        Ok(match event {
            Event::Report(caller, report) => {
                let (how, report) = match report {
                    Report::Success => (How::Report(true), report),
                    Report::Failure(1) | Report::Slow => (How::Report(false), Report::Failure(1)),
                    Report::Failure(weight) => (How::Failures(weight), report),
                    Report::TripAtOnce | Report::TripFor(0) => (How::Down(0), Report::TripAtOnce),
                    Report::TripFor(ms) => (How::Down(ms as u32), report),
                    Report::RetryAfter(0) => (How::RetryAfter(0), Report::Failure(1)),
                    Report::RetryAfter(ms) => (How::RetryAfter(ms as u32), report),
                    Report::Nothing => (How::Ignore, report),
                };
                self.end(caller, how, |reference, permit| {
                    reference.report(permit, report);
                })?
            }
            Event::Drop(caller) => self.end(caller, How::Cancel, |reference, permit| {
                reference.drop_permit(permit);
            })?,
            Event::DropAttempt(caller) => {
                self.end(caller, How::Report(false), |reference, permit| {
                    reference.report(permit, Report::Failure(1));
                })?
            }
            Event::Renew(caller) => {
                if let Some((mut token, mut permit)) = self.take(caller) {
                    let (word, rules) = (self.kept.word(), self.rules());
                    let holds = W::Bits::report(How::Renew, word, rules, &mut token, self.now_ms());
                    prop_assert_eq!(holds, self.reference.renew(&mut permit));
                    self.did(|| record::report(How::Renew, permit.number, holds));
                    self.held.push((bytes(token), permit));
                }
                None
            }
            Event::Lose(caller) => {
                let _ = self.take(caller);
                None
            }
            Event::Operator(command) => self.command(command),
            Event::Restore(asleep) => {
                let most = |ms| u32::try_from(ms).unwrap_or(u32::MAX);
                let since = asleep.map_or(Since::Unknown, |ms| Since::After(most(ms)));
                prop_assert!(self.restore(since));
                self.did(|| record::restore(since));
                self.reference.restore(asleep);
                None
            }
            Event::RestoreRunning => {
                prop_assert!(self.restore(Since::Running));
                self.did(|| record::restore(Since::Running));
                self.reference.restore_running();
                None
            }
            Event::Rules(number) => {
                self.rules = number % self.sets.len();
                self.reference.rules = self.sets[self.rules].0;
                let set = self.rules;
                self.did(|| format!(r#""rules","set":{set}"#));
                None
            }
            _ => None,
        })
    }

    /// Ends a call on both sides, if one is under way.
    fn end(
        &mut self,
        caller: usize,
        how: How,
        end: impl FnOnce(&mut Reference, Permit),
    ) -> Result<Option<bool>, TestCaseError> {
        let Some((token, permit)) = self.take(caller) else {
            return Ok(None);
        };
        let has_changed = self.report(how, token)?;
        self.did(|| record::report(how, permit.number, has_changed));
        self.reference.drawn = self.drawn();
        end(&mut self.reference, permit);
        Ok(Some(has_changed))
    }

    fn restore(&self, since: Since) -> bool {
        W::Bits::restore(since, &raw const *self.kept, self.rules(), self.now_ms())
    }

    fn command(&mut self, command: Command) -> Option<bool> {
        let (which, number) = match command {
            Command::Trip => (0, 0),
            Command::TripFor(ms) => (0, ms as u32),
            Command::ForceOpen => (1, 0),
            Command::Release => (2, 0),
            Command::Disable => (3, 0),
            Command::Enable => (4, 0),
            Command::Reset => (5, 0),
            Command::ProbeNow => (6, 0),
            // Not offered: nothing of C pings meanwhile.
            Command::ProbeEarly => return None,
        };
        let command = if let Command::TripFor(0) = command {
            Command::Trip
        } else {
            command
        };
        let has_changed =
            W::Bits::command(which, self.kept.word(), self.rules(), number, self.now_ms());
        self.did(|| record::command(which, number, has_changed));
        self.reference.drawn = self.drawn();
        self.reference.command(command);
        Some(has_changed)
    }

    fn take(&mut self, caller: usize) -> Option<(Token<W>, Permit)> {
        let count = self.held.len();
        (count != 0).then(|| {
            let (bytes, permit) = self.held.remove(count - 1 - caller % count);
            (token(&bytes), permit)
        })
    }
}
