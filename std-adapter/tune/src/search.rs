//! Tries settings, and goes on from the best of them.

use std::collections::HashSet;

use fastrand::Rng;
use rayon::prelude::*;

use crate::space::{Point, SETTINGS, Space};

/// What a point costs, as far as the search may know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// What is to be as small as possible.
    pub(crate) total: f64,
    /// The two things between which a choice is to be made.
    pub(crate) wasted: f64,
    pub(crate) healthy_rejected: f64,
}

/// How many points are tried before the search looks at what it has found.
const GENERATION: usize = 48;
/// From how many of the best points it goes on.
const PARENTS: usize = 12;

/// Costs that differ by less are the same: half a percent.
const EQUAL: f64 = 1.005;

pub(crate) struct Search<'s, V> {
    space: &'s Space,
    most: usize,
    random: Rng,
    seen: HashSet<Point>,
    /// In the order in which they were tried.
    pub(crate) tried: Vec<(Point, Cost, V)>,
}

impl<'s, V: Send> Search<'s, V> {
    /// At most that many points, at least one.
    pub(crate) fn new(space: &'s Space, most: usize, seed: u64) -> Self {
        Self {
            space,
            most: most.max(1),
            random: Rng::with_seed(seed),
            seen: HashSet::new(),
            tried: Vec::new(),
        }
    }

    /// Tries points until there are enough of them, or it is told to stop. The same seed finds the same, with any number
    /// of threads. Returns whether it came to its end.
    pub(crate) fn run(
        &mut self,
        eval: impl Fn(Point) -> (Cost, V) + Sync,
        is_stopped: impl Fn() -> bool + Sync,
    ) -> bool {
        let mut next = self.first();
        loop {
            next.truncate(self.most - self.tried.len());
            let found: Vec<_> = next
                .into_par_iter()
                .map(|point| (!is_stopped()).then(|| (point, eval(point))))
                .collect();
            let is_stopped = found.iter().any(Option::is_none);
            let found = found.into_iter().flatten();
            self.tried
                .extend(found.map(|(point, (cost, value))| (point, cost, value)));
            if is_stopped {
                return false;
            }
            next = self.children();
            if next.is_empty() || self.tried.len() >= self.most {
                return true;
            }
        }
    }

    /// The middle, every value of every setting alone, and some at random.
    fn first(&mut self) -> Vec<Point> {
        let middle = self.space.middle();
        let mut points = Vec::new();
        self.add(&mut points, middle);
        for (setting, length) in self.space.lengths().into_iter().enumerate() {
            for value in 0..length {
                let mut point = middle;
                point[setting] = value as u16;
                self.add(&mut points, point);
            }
        }
        for _ in 0..points.len() {
            let point = self
                .space
                .lengths()
                .map(|length| self.random.usize(..length) as u16);
            self.add(&mut points, point);
        }
        points
    }

    /// Points beside the best. The best one's neighbours come first: all of them, in time.
    fn children(&mut self) -> Vec<Point> {
        let lengths = self.space.lengths();
        let parents = self.best(PARENTS);
        let mut points = Vec::new();
        for setting in 0..SETTINGS {
            for step in [-1, 1] {
                let mut point = parents[0];
                let value = point[setting].checked_add_signed(step);
                if let Some(value) = value.filter(|it| usize::from(*it) < lengths[setting]) {
                    point[setting] = value;
                    self.add(&mut points, point);
                }
            }
        }
        // Then other values of one of its settings.
        let mut changes: Vec<Point> = Vec::new();
        for (setting, length) in lengths.into_iter().enumerate() {
            for value in 0..length {
                let mut point = parents[0];
                point[setting] = value as u16;
                changes.push(point);
            }
        }
        self.random.shuffle(&mut changes);
        for point in changes {
            if points.len() < GENERATION / 2 {
                self.add(&mut points, point);
            }
        }
        // In a small space most of them are known already.
        for _ in 0..GENERATION * 20 {
            if points.len() >= GENERATION {
                break;
            }
            // The better the more often.
            let parent = self
                .random
                .usize(..parents.len())
                .min(self.random.usize(..parents.len()));
            let mut point = parents[parent];
            for _ in 0..=self.random.usize(..2) {
                let setting = self.random.usize(..SETTINGS);
                point[setting] = if self.random.bool() {
                    self.random.usize(..lengths[setting]) as u16
                } else {
                    let other = self.random.usize(..parents.len());
                    parents[other][setting]
                };
            }
            self.add(&mut points, point);
        }
        points
    }

    fn add(&mut self, points: &mut Vec<Point>, point: Point) {
        if self.seen.insert(point) {
            points.push(point);
        }
    }

    /// The points of the lowest costs, the simplest of equal ones first.
    fn best(&self, most: usize) -> Vec<Point> {
        let mut all: Vec<usize> = (0..self.tried.len()).collect();
        all.sort_by(|a, b| {
            let cost = |place: &usize| self.tried[*place].1.total;
            cost(a).total_cmp(&cost(b)).then(a.cmp(b))
        });
        all.truncate(most);
        all.into_iter().map(|place| self.tried[place].0).collect()
    }

    /// The place of the one to take: of those that cost about as little as the best, the simplest.
    pub(crate) fn pick(&self) -> Option<usize> {
        let costs = self.tried.iter().map(|(_, cost, _)| cost.total);
        let limit = costs.min_by(f64::total_cmp)? * EQUAL;
        let good = (0..self.tried.len()).filter(|place| self.tried[*place].1.total <= limit);
        good.min_by(|a, b| {
            let key = |place: &usize| {
                let (point, cost, _) = &self.tried[*place];
                (self.space.complexity(*point), cost.total)
            };
            let ((a, cost_a), (b, cost_b)) = (key(a), key(b));
            a.cmp(&b).then(cost_a.total_cmp(&cost_b))
        })
    }

    /// The places of the points that no other one dominates, from the least wasted on.
    pub(crate) fn front(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.tried.len()).collect();
        let cost = |place: usize| self.tried[place].1;
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
