// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares values that were measured in the same round.
//!
//! The speed of a machine drifts during a run. A difference of two medians has the drift in it, as the two may
//! be from its fast and its slow minutes; the median of the differences within each round does not.

use crate::rounds::Figure;

/// The times of all cases in all rounds of a run.
#[derive(Clone, Debug)]
pub struct Paired {
    /// Nanoseconds per call, by case and round.
    pub times: Vec<Vec<f64>>,
    /// The number of laps that were run.
    pub laps: usize,
    /// The number of those in which a thread had to wait for its core at every try.
    pub disturbed: usize,
}

impl Paired {
    /// The time of a call of a case.
    pub fn figure(&self, case: usize) -> Figure {
        Figure::of(self.times[case].clone())
    }

    /// The time by which a call of `case` takes longer than one of `than`.
    pub fn longer(&self, case: usize, than: usize) -> Figure {
        self.compared(case, than, |case, than| case - than)
    }

    /// The part of the work of `than` that `case` gets done in the same time.
    pub fn share(&self, case: usize, than: usize) -> Figure {
        self.compared(case, than, |case, than| than / case)
    }

    fn compared(&self, case: usize, than: usize, compare: impl Fn(f64, f64) -> f64) -> Figure {
        let rounds = self.times[case].iter().zip(&self.times[than]);
        Figure::of(rounds.map(|(case, than)| compare(*case, *than)).collect())
    }
}
