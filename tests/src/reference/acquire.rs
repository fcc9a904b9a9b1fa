// SPDX-License-Identifier: MIT OR Apache-2.0
//! Admission, and how long rejected callers wait.

use std::time::Duration;

use atomic_breaker::{Cause, State, Wait};

use super::{Hold, Mode, Permit, Reference};

impl Reference {
    /// The time that a caller would have to wait; `None` if it would be admitted. While traffic returns, it
    /// is the wait of the rejected callers.
    pub fn wait(&self) -> Option<Wait> {
        let ms = Duration::from_millis;
        match &self.mode {
            Mode::Open { began, lasts, .. } => {
                let left = self.left(*began, *lasts);
                (left > 0).then_some(Wait::For(ms(left)))
            }
            Mode::Probing { out, last, .. } if out.len() >= self.slots() => {
                let left = self.left(*last, self.lease());
                (left > 0).then_some(Wait::AtMost(ms(left)))
            }
            Mode::Returning { .. } => {
                let over = self.rules.returning?.ticks(self.rules.grain);
                let left = self.left(self.returning_since(), over);
                (left > 0).then_some(Wait::AtMost(ms(left)))
            }
            Mode::Held(holds) if holds.last() == Some(&Hold::ForcedOpen) => {
                Some(Wait::UntilReleased)
            }
            _ => None,
        }
    }

    /// Acquires a permit, with dice from 0 to 2³² - 1; lower numbers pass first.
    ///
    /// # Errors
    /// The time to wait.
    pub fn acquire(&mut self, dice: u32) -> Result<Permit, Wait> {
        self.noticed = None;
        if let Some(wait) = self.wait()
            && !self.is_lucky(dice)
        {
            return Err(wait);
        }
        self.admitted += 1;
        let number = self.admitted;
        let now = self.stamp();
        let (slots, is_returned) = (self.slots(), self.is_returned());
        match &mut self.mode {
            Mode::Open { .. } => self.new_round(number, 0, 0, Cause::OpenTimeOver),
            Mode::Returning { .. } if is_returned => {
                self.enter(Mode::CLEAR, Cause::TrafficReturned);
            }
            Mode::Closed { .. } | Mode::Held(_) | Mode::Returning { .. } => {}
            Mode::Probing {
                out,
                lost_rounds,
                successes,
                ..
            } if out.len() >= slots => {
                let lost = (*lost_rounds + 1).min(self.rules.grain.most_lost);
                let successes = *successes;
                self.trips = self.trips.max(1);
                self.new_round(number, successes, lost, Cause::ProbeLost);
            }
            Mode::Probing { out, last, .. } => {
                out.push(number);
                *last = now;
            }
        }
        Ok(Permit {
            generation: self.generation,
            number,
            is_probe: self.state() == State::HalfOpen,
            admitted: now,
            started: self.rules.slow.map(|_| self.start()),
        })
    }

    /// The call of a permit begins only now. Returns whether the permit is still valid; while disabled it is,
    /// though its report does not count.
    pub fn renew(&mut self, permit: &mut Permit) -> bool {
        self.noticed = None;
        let is_current = match self.mode {
            Mode::Held(_) => permit.generation == self.generation,
            _ => self.holds(*permit),
        };
        if !is_current {
            return false;
        }
        permit.admitted = self.stamp();
        permit.started = permit.started.map(|_| self.start());
        if let Mode::Probing { last, .. } = &mut self.mode {
            *last = permit.admitted;
        }
        true
    }

    /// A start in the millisecond in which the clock reads 0 counts as one in the next.
    fn start(&self) -> u64 {
        self.now + u64::from(self.now.is_multiple_of(1 << 32))
    }

    /// Returns whether the dice let a call pass while traffic returns.
    fn is_lucky(&self, dice: u32) -> bool {
        match (&self.mode, self.rules.returning) {
            (Mode::Returning { .. }, Some(back)) => {
                let over = back.ticks(self.rules.grain);
                let age = self.return_age().min(over);
                // The first share is weighted with the time that is left, the share of all calls with the time
                // that has passed, in units of one in 2³²; one percent is rounded up to whole units.
                let percent = (1_u64 << 32).div_ceil(100);
                let share = percent * back.first_percent * (over - age) + (1 << 32) * age;
                u64::from(dice) * over < share
            }
            _ => false,
        }
    }

    fn new_round(&mut self, number: u64, successes: u32, lost_rounds: u32, cause: Cause) {
        let mode = Mode::Probing {
            out: vec![number],
            successes,
            last: self.stamp(),
            lost_rounds,
        };
        self.enter(mode, cause);
    }

    /// The number of probes that may be in flight at the same time.
    pub(super) fn slots(&self) -> usize {
        match self.mode {
            Mode::Probing {
                successes,
                lost_rounds: 0,
                ..
            } => {
                let needed = self.rules.close_after.saturating_sub(successes);
                self.rules.probes.min(needed as usize).max(1)
            }
            _ => 1,
        }
    }

    /// The time that the last probe may take before the round is lost, in ticks. It doubles with each lost
    /// round.
    fn lease(&self) -> u64 {
        let grain = self.rules.grain;
        match self.mode {
            Mode::Probing { lost_rounds, .. } => {
                grain.up(self.rules.lease << lost_rounds).min(grain.longest)
            }
            _ => 0,
        }
    }
}
