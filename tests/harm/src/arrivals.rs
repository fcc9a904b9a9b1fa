// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arrivals of calls.

use crate::clock::{BEGIN, SECOND, Time, scramble};
use crate::scenario::Plan;

/// Calls arrive by chance, at a rate, and in bursts.
#[derive(Clone, Debug)]
pub struct Arrivals {
    at: f64,
    end: f64,
    mean: f64,
    drawn: u64,
    bursts: Vec<(Time, u32)>,
}

impl Arrivals {
    /// Those of a plan; the times of bursts count from the beginning of its trouble.
    pub fn new(plan: &Plan, seed: u64, bursts: Vec<(Time, u32)>) -> Self {
        let absolute = bursts
            .into_iter()
            .map(|(at, calls)| (plan.trouble.start + at, calls));
        let mut bursts: Vec<_> = absolute.collect();
        bursts.sort_unstable_by(|one, other| other.cmp(one));
        let mut new = Self {
            at: BEGIN as f64,
            end: plan.end as f64,
            mean: SECOND as f64 / plan.rate,
            drawn: seed ^ 2,
            bursts,
        };
        new.step();
        new
    }

    fn step(&mut self) {
        self.drawn = scramble(self.drawn);
        let share = ((self.drawn >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        self.at -= share.ln() * self.mean;
    }

    /// The time at which the next call arrives; `None` if no more do.
    #[expect(clippy::should_implement_trait, reason = "a method is enough")]
    pub fn next(&mut self) -> Option<Time> {
        if let Some((at, calls)) = self.bursts.last_mut() {
            if (*at as f64) <= self.at {
                let at = *at;
                *calls -= 1;
                if *calls == 0 {
                    self.bursts.pop();
                }
                return Some(at);
            }
        }
        if self.at >= self.end {
            return None;
        }
        let at = self.at as Time;
        self.step();
        Some(at)
    }
}
