// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tries candidates, and goes on from the best of them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;
use rayon::prelude::*;

use super::evaluate::Evaluator;
use super::found::Evaluation;
use super::space::{Candidate, SETTINGS, SearchSpace};

/// A candidate that was tried.
pub(super) struct Trial {
    candidate: Candidate,
    /// The cost of the folds that the search knows.
    cost: f64,
    pub(super) evaluation: Evaluation,
}

/// The number of candidates that are tried before the search looks at its results.
const GENERATION: usize = 48;
/// The number of the best candidates from which the search goes on.
const PARENTS: usize = 12;

/// Costs that differ by less are the same: half a percent.
const EQUAL: f64 = 1.005;

pub(super) struct Search<'s> {
    space: &'s SearchSpace,
    evaluator: &'s Evaluator<'s>,
    most: usize,
    random: Rng,
    seen: HashSet<Candidate>,
    /// All that were tried, in order.
    pub(super) trials: Vec<Trial>,
}

impl<'s> Search<'s> {
    /// A search among at most that many candidates, at least one.
    pub(super) fn new(space: &'s SearchSpace, evaluator: &'s Evaluator<'s>, most: usize) -> Self {
        Self {
            space,
            evaluator,
            most: most.max(1),
            random: Rng::with_seed(evaluator.seed()),
            seen: HashSet::new(),
            trials: Vec::new(),
        }
    }

    /// Tries candidates until there are enough of them, or `goes_on`, which is given the number of tries so far, says
    /// no. The same seed finds the same, with any number of threads. Returns whether the search came to its end.
    pub(super) fn run(&mut self, goes_on: impl Fn(usize) -> bool + Sync) -> bool {
        let done = AtomicUsize::new(0);
        let mut next = self.first();
        loop {
            next.truncate(self.most - self.trials.len());
            let trial = |candidate| {
                goes_on(done.load(Ordering::Relaxed)).then(|| {
                    let trial = self.trial(candidate);
                    done.fetch_add(1, Ordering::Relaxed);
                    trial
                })
            };
            let found: Vec<_> = next.into_par_iter().map(trial).collect();
            let is_stopped = found.iter().any(Option::is_none);
            self.trials.extend(found.into_iter().flatten());
            if is_stopped {
                return false;
            }
            next = self.children();
            if next.is_empty() || self.trials.len() >= self.most {
                return true;
            }
        }
    }

    fn trial(&self, candidate: Candidate) -> Trial {
        let evaluation = self.evaluator.evaluate(&self.space.config(candidate));
        let evaluation = evaluation.expect("all settings of the search fit");
        Trial {
            candidate,
            cost: self.evaluator.weights.cost(&evaluation.tuned_on),
            evaluation,
        }
    }

    /// The middle, every value of every setting alone, and some at random.
    fn first(&mut self) -> Vec<Candidate> {
        let middle = self.space.middle();
        let mut candidates = Vec::new();
        self.add(&mut candidates, middle);
        for candidate in self.space.varied(middle) {
            self.add(&mut candidates, candidate);
        }
        let lengths = self.space.lengths();
        for _ in 0..candidates.len() {
            let candidate = lengths.map(|length| self.random.usize(..length) as u16);
            self.add(&mut candidates, candidate);
        }
        candidates
    }

    /// Candidates beside the best. The neighbours of the best one come first: all of them, in time.
    fn children(&mut self) -> Vec<Candidate> {
        let lengths = self.space.lengths();
        let parents = self.best(PARENTS);
        let mut candidates = Vec::new();
        for setting in 0..SETTINGS {
            for step in [-1, 1] {
                let mut candidate = parents[0];
                let value = candidate[setting].checked_add_signed(step);
                if let Some(value) = value.filter(|it| usize::from(*it) < lengths[setting]) {
                    candidate[setting] = value;
                    self.add(&mut candidates, candidate);
                }
            }
        }
        // Then the best one with any other value of one setting.
        let mut varied: Vec<Candidate> = self.space.varied(parents[0]).collect();
        self.random.shuffle(&mut varied);
        for candidate in varied {
            if candidates.len() < GENERATION / 2 {
                self.add(&mut candidates, candidate);
            }
        }
        // In a small space most of them are known already.
        for _ in 0..GENERATION * 20 {
            if candidates.len() >= GENERATION {
                break;
            }
            // The better ones more often.
            let parent = self
                .random
                .usize(..parents.len())
                .min(self.random.usize(..parents.len()));
            let mut candidate = parents[parent];
            for _ in 0..=self.random.usize(..2) {
                let setting = self.random.usize(..SETTINGS);
                candidate[setting] = if self.random.bool() {
                    self.random.usize(..lengths[setting]) as u16
                } else {
                    let other = self.random.usize(..parents.len());
                    parents[other][setting]
                };
            }
            self.add(&mut candidates, candidate);
        }
        candidates
    }

    fn add(&mut self, candidates: &mut Vec<Candidate>, candidate: Candidate) {
        let candidate = self.space.canonical(candidate);
        if self.seen.insert(candidate) {
            candidates.push(candidate);
        }
    }

    /// The candidates of the lowest costs, the first of equal ones first.
    fn best(&self, most: usize) -> Vec<Candidate> {
        let mut all: Vec<&Trial> = self.trials.iter().collect();
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let best = all.into_iter().take(most);
        best.map(|trial| trial.candidate).collect()
    }

    /// The trial to take: the simplest of those that cost about as little as the best.
    pub(super) fn pick(&self) -> Option<&Trial> {
        let costs = self.trials.iter().map(|trial| trial.cost);
        let limit = costs.min_by(f64::total_cmp)? * EQUAL;
        let good = self.trials.iter().filter(|trial| trial.cost <= limit);
        good.min_by(|a, b| {
            let complexity = |trial: &Trial| self.space.complexity(trial.candidate);
            let simpler = complexity(a).cmp(&complexity(b));
            simpler.then(a.cost.total_cmp(&b.cost))
        })
    }

    /// The evaluations that no other one dominates, from the least wasted on.
    pub(super) fn front(&self) -> Vec<Evaluation> {
        let wasted = |it: &Evaluation| self.evaluator.weights.wasted(&it.tuned_on);
        let rejected = |it: &Evaluation| it.tuned_on.useful_rejected();
        let mut all: Vec<_> = self.trials.iter().map(|it| &it.evaluation).collect();
        all.sort_by(|a, b| {
            let by_waste = wasted(a).total_cmp(&wasted(b));
            by_waste.then(rejected(a).cmp(&rejected(b)))
        });
        let mut front: Vec<Evaluation> = Vec::new();
        for next in all {
            let last = front.last();
            if last.is_none_or(|last| rejected(next) < rejected(last)) {
                front.push(next.clone());
            }
        }
        front
    }
}
