// SPDX-License-Identifier: MIT OR Apache-2.0
//! The weights of the costs.

use crate::simulate::Figures;
use serde::Serialize;

use crate::log::count;

/// The weights of the costs, in wasted calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Weights {
    /// A call that is rejected though it would have been answered: 5 unless set. It is an error that need not have been;
    /// a wasted call would have been an error anyway.
    pub healthy_rejected: f64,
    /// A second that a caller spends in a wasted call: 1 unless set.
    pub wasted_second: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self::new()
    }
}

impl Weights {
    /// The usual weights: 5 and 1.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            healthy_rejected: 5.0,
            wasted_second: 1.0,
        }
    }

    /// Sets what a rejected call costs that would have been answered, in wasted calls.
    ///
    /// # Panics
    /// If `wasted_calls` is negative or not a number.
    #[must_use]
    pub const fn healthy_rejected(mut self, wasted_calls: f64) -> Self {
        assert!(wasted_calls >= 0.0, "a weight must be at least 0");
        self.healthy_rejected = wasted_calls;
        self
    }

    /// Sets what a second in a wasted call costs, in wasted calls.
    ///
    /// # Panics
    /// If `wasted_calls` is negative or not a number.
    #[must_use]
    pub const fn wasted_second(mut self, wasted_calls: f64) -> Self {
        assert!(wasted_calls >= 0.0, "a weight must be at least 0");
        self.wasted_second = wasted_calls;
        self
    }

    /// The cost of a run, in wasted calls.
    pub fn cost(&self, figures: &Figures) -> f64 {
        self.wasted(figures) + self.healthy_rejected * count(figures.useful_rejected())
    }

    pub(super) fn wasted(&self, figures: &Figures) -> f64 {
        count(figures.wasted) + self.wasted_second * figures.wasted_time().as_secs_f64()
    }
}
