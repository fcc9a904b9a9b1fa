//! Evaluates candidates, and goes on from the best of them.

use std::collections::HashSet;

use fastrand::Rng;
use rayon::prelude::*;

use super::space::{Candidate, SETTINGS, SearchSpace};

/// What a candidate costs, as far as the search may know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// What is to be as small as possible.
    pub(super) total: f64,
    /// The two things between which a choice is to be made.
    pub(super) wasted: f64,
    pub(super) healthy_rejected: f64,
}

/// How many candidates are evaluated before the search looks at what it has found.
const GENERATION: usize = 48;
/// From how many of the best candidates the search goes on.
const PARENTS: usize = 12;

/// Costs that differ by less are the same: half a percent.
const EQUAL: f64 = 1.005;

pub(super) struct Search<'s, V> {
    space: &'s SearchSpace,
    most: usize,
    random: Rng,
    seen: HashSet<Candidate>,
    /// Every candidate with its cost and its evaluation, in order.
    pub(super) evaluated: Vec<(Candidate, Cost, V)>,
}

impl<'s, V: Send> Search<'s, V> {
    /// A search among at most that many candidates, at least one.
    pub(super) fn new(space: &'s SearchSpace, most: usize, seed: u64) -> Self {
        Self {
            space,
            most: most.max(1),
            random: Rng::with_seed(seed),
            seen: HashSet::new(),
            evaluated: Vec::new(),
        }
    }

    /// Evaluates candidates until there are enough of them, or `evaluate` returns `None`. The same seed finds the same, with
    /// any number of threads. Returns whether it came to its end.
    pub(super) fn run(&mut self, evaluate: impl Fn(Candidate) -> Option<(Cost, V)> + Sync) -> bool {
        let mut next = self.first();
        loop {
            next.truncate(self.most - self.evaluated.len());
            let found: Vec<_> = next
                .into_par_iter()
                .map(|candidate| evaluate(candidate).map(|(cost, value)| (candidate, cost, value)))
                .collect();
            let is_stopped = found.iter().any(Option::is_none);
            self.evaluated.extend(found.into_iter().flatten());
            if is_stopped {
                return false;
            }
            next = self.children();
            if next.is_empty() || self.evaluated.len() >= self.most {
                return true;
            }
        }
    }

    /// The middle, every value of every setting alone, and some at random.
    fn first(&mut self) -> Vec<Candidate> {
        let middle = self.space.middle();
        let mut candidates = Vec::new();
        self.add(&mut candidates, middle);
        for (setting, length) in self.space.lengths().into_iter().enumerate() {
            for value in 0..length {
                let mut candidate = middle;
                candidate[setting] = value as u16;
                self.add(&mut candidates, candidate);
            }
        }
        for _ in 0..candidates.len() {
            let candidate = self
                .space
                .lengths()
                .map(|length| self.random.usize(..length) as u16);
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
        // Then other values of one of its settings.
        let mut changes: Vec<Candidate> = Vec::new();
        for (setting, length) in lengths.into_iter().enumerate() {
            for value in 0..length {
                let mut candidate = parents[0];
                candidate[setting] = value as u16;
                changes.push(candidate);
            }
        }
        self.random.shuffle(&mut changes);
        for candidate in changes {
            if candidates.len() < GENERATION / 2 {
                self.add(&mut candidates, candidate);
            }
        }
        // In a small space most of them are known already.
        for _ in 0..GENERATION * 20 {
            if candidates.len() >= GENERATION {
                break;
            }
            // The better the more often.
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
        if self.seen.insert(candidate) {
            candidates.push(candidate);
        }
    }

    /// The candidates of the lowest costs, the first of equal ones first.
    fn best(&self, most: usize) -> Vec<Candidate> {
        let mut all: Vec<usize> = (0..self.evaluated.len()).collect();
        all.sort_by(|a, b| {
            let cost = |place: &usize| self.evaluated[*place].1.total;
            cost(a).total_cmp(&cost(b)).then(a.cmp(b))
        });
        all.truncate(most);
        all.into_iter()
            .map(|place| self.evaluated[place].0)
            .collect()
    }

    /// The place of the candidate to take: the simplest of those that cost about as little as the best.
    pub(super) fn pick(&self) -> Option<usize> {
        let costs = self.evaluated.iter().map(|(_, cost, _)| cost.total);
        let limit = costs.min_by(f64::total_cmp)? * EQUAL;
        let good =
            (0..self.evaluated.len()).filter(|place| self.evaluated[*place].1.total <= limit);
        good.min_by(|a, b| {
            let key = |place: &usize| {
                let (candidate, cost, _) = &self.evaluated[*place];
                (self.space.complexity(*candidate), cost.total)
            };
            let ((a, cost_a), (b, cost_b)) = (key(a), key(b));
            a.cmp(&b).then(cost_a.total_cmp(&cost_b))
        })
    }

    /// The places of the candidates that no other one dominates, from the least wasted on.
    pub(super) fn front(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.evaluated.len()).collect();
        let cost = |place: usize| self.evaluated[place].1;
        all.sort_by(|a, b| {
            let (a, b) = (cost(*a), cost(*b));
            a.wasted
                .total_cmp(&b.wasted)
                .then(a.healthy_rejected.total_cmp(&b.healthy_rejected))
        });
        let mut front: Vec<usize> = Vec::new();
        for place in all {
            let last = front.last().map(|last| cost(*last));
            if last.is_none_or(|last| cost(place).healthy_rejected < last.healthy_rejected) {
                front.push(place);
            }
        }
        front
    }
}
