// SPDX-License-Identifier: MIT OR Apache-2.0
//! The execution of a member's actions by an instance, and its requests to the engine.

use super::mail::Mail;
use super::mutation::Mutation;
use super::word::State;
use super::world::{World, name};
use crate::member::period::Phase;
use crate::{Action, Answer, Ask, Finding, Input, InstanceId, Notice};

/// The first two numbers drawn are 72 %, 20 % and 15 % of the greatest: what instances do is spread.
const SEEDS: [u64; 3] = [92_165, 5_446, 18_037];

impl World {
    pub(super) fn input(&mut self, who: usize, input: Input) {
        let now = self.context(who);
        let member = &mut self.instances[who].member;
        if self.mutation == Some(Mutation::EndsAreForgotten) {
            member.heard.ended = crate::member::EndedPeriods::default();
        }
        if self.mutation == Some(Mutation::WhoFailedDoesNotRest) {
            (member.own.yields_until, member.own.has_failed) = (0, false);
        }
        if let (Some(Mutation::NobodyBidsUnasked), Some(period)) =
            (self.mutation, &mut member.period)
        {
            period.awaits_call = true;
        }
        if self.mutation == Some(Mutation::HungProbesKeepTheRight) {
            if let Some(Phase::Probing { probe, .. }) =
                member.period.as_mut().map(|period| &mut period.phase)
            {
                probe.since = now.now_ms;
            }
        }
        // The same numbers at every step, so that they are no part of a state.
        member.random = fastrand::Rng::with_seed(SEEDS[who]);
        let before = member.period;
        let actions = member.step(now, input);
        if let (Some(Mutation::OneTurnIsEnough), Some(before), Some(period)) =
            (self.mutation, before, &mut member.period)
        {
            period.awaits_call |= before.awaits_call && before.id == period.id;
        }
        for action in actions {
            if let Action::Ask(ask) = action {
                self.ask(who, ask);
                continue;
            }
            let instance = &mut self.instances[who];
            let was_closed = instance.word.state == State::Closed;
            let period = instance.member.period().map(|id| id.mark);
            if matches!(action, Action::Trip { .. })
                && was_closed
                && period.is_some_and(|mark| instance.ended.contains(&mark))
            {
                self.wrong = Some("a period that had ended has tripped an instance");
            }
            instance.word.act(self.now, action);
        }
    }

    fn ask(&mut self, who: usize, ask: Ask) {
        let asked_ms = self.clock(who);
        if self.engine.is_gone {
            let nothing = Mail::Answer(ask, asked_ms, None);
            self.instances[who].inbox.push(nothing);
            return;
        }
        let mut id = self.instances[who].id;
        let mut changed = ask;
        if let Some(mutation) = self.mutation {
            mutation.change(&mut changed, &mut id);
        }
        let mut answer = self.tell(id, changed);
        if let (Some(Mutation::OneWitnessIsTwo), Ask::Finding { finding, .. }) =
            (self.mutation, changed)
            && let (Finding::Failed { .. }, Some(notice)) = (finding, answer.notice)
        {
            let id = notice.id();
            answer = self.tell(99, Ask::Finding { id, finding });
        }
        let is_vote = matches!(ask, Ask::Vote { .. });
        if is_vote && answer.done && self.began(answer) {
            let mut voters: Vec<_> = self.trips.iter().map(|(voter, _)| voter).collect();
            voters.sort_unstable();
            voters.dedup();
            if voters.len() < self.quorum as usize {
                self.wrong = Some("fewer than a quorum have opened it for all");
            }
        }
        self.instances[who]
            .inbox
            .push(Mail::Answer(ask, asked_ms, Some(answer)));
    }

    /// Returns whether the period has just begun.
    fn began(&self, answer: Answer) -> bool {
        answer
            .notice
            .is_some_and(|notice| notice.id().mark == self.engine.marks)
            && matches!(answer.notice, Some(Notice::Open(period)) if period.remaining_ms == period.open_ms && period.trips == 1)
    }

    pub(super) fn tell(&mut self, id: u128, ask: Ask) -> Answer {
        self.engine.marks += 1;
        let (now, mark) = (self.engine_ms(), self.engine.marks);
        let id = InstanceId::new(id);
        let (answer, published) = self.engine.ledger.ask(now, mark, id, &name(), ask);
        if let Some(notice) = published {
            self.publish(notice);
        }
        answer
    }
}
