// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breadth-first search over the worlds.

use std::collections::{HashSet, VecDeque};
use std::marker::PhantomData;

use atomic_breaker::Cause;
use atomic_breaker::word::Bits;
use tests::reference::{Mode, Reference, Rules};

use super::event::{Event, events};
use super::key::{Ages, Key, Keys};
use super::world::{Cell, RuleSet, World};

/// The beginning of a search, so that the clock and the time wrap within it.
const BEFORE_THE_WRAP: u64 = (1 << 33) - 8;

/// The bounds of a search.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    pub(crate) callers: usize,
    pub(crate) oldest_permit: u64,
    /// States with more rounds lost in a row are compared, but not explored further.
    pub(crate) most_lost_rounds: u32,
}

/// The extent of a search.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    /// The causes of all transitions.
    pub(crate) causes: HashSet<Cause>,
}

/// A search with everything seen so far.
pub(crate) struct Search<W: Cell> {
    start: World<W::Bits>,
    sets: Vec<RuleSet<W::Bits>>,
    reach: Reach,
    events: Vec<Event>,
    ages: Ages,
    word: PhantomData<W>,
}

/// The way to a world: the world before it, and the event.
type Origin = (u32, Event);

impl<W: Cell> Search<W> {
    /// Starts with a fresh breaker under the first of the rules.
    pub(crate) fn new(rules: &[Rules], reach: Reach) -> Self {
        let sets: Vec<_> = rules
            .iter()
            .map(|rules| RuleSet {
                plain: *rules,
                real: atomic_breaker::Rules::new(rules.config()),
            })
            .collect();
        let ages = Ages::of(&sets);
        let events = events(reach.callers, &sets);
        // The first transition leads into the first epoch again.
        let mut reference = Reference::new(rules[0], BEFORE_THE_WRAP);
        reference.generation = (1 << W::EPOCH.1) - 1;
        Self {
            start: World {
                bits: W::Bits::from_u64(reference.generation << W::EPOCH.0),
                held: [None; 3],
                reference,
                rules: 0,
                behind: 0,
                oldest_permit: reach.oldest_permit,
            },
            sets,
            reach,
            events,
            ages,
            word: PhantomData,
        }
    }

    /// Visits everything; if the real breaker and the reference differ, panics with the events that led there.
    pub(crate) fn run(self) -> Extent {
        let mut seen = Keys::default();
        seen.insert(self.key(&self.start));
        let mut origins: Vec<Option<Origin>> = vec![None];
        let mut queue = VecDeque::from([(0_u32, self.start.clone())]);
        let mut extent = Extent::default();
        let mut next = self.start.clone();
        while let Some((index, world)) = queue.pop_front() {
            for &event in &self.events {
                let Some(result) = world.after::<W>(&self.sets, event, &mut next) else {
                    continue;
                };
                extent.steps += 1;
                if let Err(difference) = result {
                    self.fail(&origins, index, event, &difference);
                }
                if let Some(notice) = &next.reference.noticed {
                    extent.causes.insert(notice.cause);
                }
                if !self.is_too_far(&next) && seen.insert(self.key(&next)) {
                    queue.push_back((origins.len() as u32, next.clone()));
                    origins.push(Some((index, event)));
                }
            }
        }
        extent.states = origins.len();
        extent
    }

    fn is_too_far(&self, world: &World<W::Bits>) -> bool {
        match world.reference.mode {
            Mode::Probing { lost_rounds, .. } => lost_rounds > self.reach.most_lost_rounds,
            _ => false,
        }
    }

    fn key(&self, world: &World<W::Bits>) -> (u64, u64) {
        Key::<W>::of(world, self.ages)
    }

    fn fail(&self, origins: &[Option<Origin>], last: u32, event: Event, difference: &str) -> ! {
        let mut way = vec![event];
        let mut index = last;
        while let Some((before, event)) = origins[index as usize] {
            way.push(event);
            index = before;
        }
        way.reverse();
        let rules: Vec<_> = self.sets.iter().map(|set| set.plain).collect();
        panic!(
            "after {way:?}\nfrom {} ms, rules {rules:#?}:\n{difference}",
            self.start.reference.now
        );
    }
}
