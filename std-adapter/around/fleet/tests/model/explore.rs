// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every state that a scenario reaches, breadth first, and from each the path to a state in which every instance is
//! served.

use std::collections::{HashMap, HashSet, VecDeque};

use super::events::Event;
use super::world::World;

pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) world: World,
    /// Possible events and their maximum numbers: one event per tick.
    pub(super) events: Vec<(Event, u8)>,
    /// The greatest length of a path, in ticks.
    pub(super) depth: u32,
    /// Every instance is served within this many ticks after the last fault.
    pub(super) bound: u32,
}

#[derive(Debug)]
pub(super) struct Explored {
    pub(super) states: usize,
    /// The longest path until every instance is served, in ticks.
    pub(super) longest: u32,
}

type Parents = HashMap<u128, (u128, Option<Event>)>;

impl Scenario {
    /// Explores the scenario; the error is the shortest path to a fault.
    pub(super) fn explore(&self) -> Result<Explored, String> {
        let left: Vec<u8> = self.events.iter().map(|(_, often)| *often).collect();
        let first = self.world.key(&left);
        let mut parents: Parents = HashMap::from([(first, (first, None))]);
        let mut queue = VecDeque::from([(self.world.clone(), left, first, 0)]);
        let mut calm = Calm::default();
        let mut longest = 0;
        while let Some((world, left, key, depth)) = queue.pop_front() {
            let served = calm.served_in(&world, self.bound);
            let Ok(ticks) = served else {
                let wrong = served.unwrap_err();
                return Err(self.path(&parents, key, wrong));
            };
            longest = longest.max(ticks);
            if depth == self.depth {
                continue;
            }
            let events = self.events.iter().enumerate();
            let possible = events
                .filter(|(at, (event, _))| left[*at] > 0 && event.may_happen(&world))
                .map(|(at, (event, _))| Some((at, *event)));
            for choice in std::iter::once(None).chain(possible) {
                let (mut next, mut next_left) = (world.clone(), left.clone());
                if let Some((at, event)) = choice {
                    next_left[at] -= 1;
                    event.happen(&mut next);
                }
                next.step();
                let next_key = next.key(&next_left);
                if parents.contains_key(&next_key) {
                    continue;
                }
                parents.insert(next_key, (key, choice.map(|(_, event)| event)));
                if let Some(wrong) = next.wrong {
                    return Err(self.path(&parents, next_key, wrong));
                }
                queue.push_back((next, next_left, next_key, depth + 1));
            }
        }
        Ok(Explored {
            states: parents.len(),
            longest,
        })
    }

    fn path(&self, parents: &Parents, last: u128, wrong: &str) -> String {
        let mut events = Vec::new();
        let mut key = last;
        while let Some(&(before, event)) = parents.get(&key).filter(|(before, _)| *before != key) {
            events.push(event);
            key = before;
        }
        events.reverse();
        let ticks = events.len();
        let said: Vec<String> = (1..)
            .zip(events)
            .filter_map(|(tick, event): (u32, _)| Some(format!("{tick}: {:?}", event?)))
            .collect();
        format!(
            "{}: {wrong}, after {ticks} ticks, by {}",
            self.name,
            said.join(", ")
        )
    }
}

/// The number of ticks until every instance is served, without further faults.
#[derive(Default)]
struct Calm(HashMap<u128, u32>);

impl Calm {
    fn served_in(&mut self, from: &World, bound: u32) -> Result<u32, &'static str> {
        let mut world = from.clone();
        world.calm();
        let mut way = Vec::new();
        let mut seen = HashSet::new();
        let known = loop {
            if world.all_are_served() {
                break 0;
            }
            let key = world.key(&[]);
            if let Some(&known) = self.0.get(&key) {
                break known;
            }
            if way.len() as u32 > bound || !seen.insert(key) {
                return Err("healthy instances are not served in time");
            }
            way.push(key);
            world.step();
            if let Some(wrong) = world.wrong {
                return Err(wrong);
            }
        };
        for (back, key) in way.iter().rev().enumerate() {
            self.0.insert(*key, known + 1 + back as u32);
        }
        let ticks = known + way.len() as u32;
        if ticks > bound {
            return Err("healthy instances are not served in time");
        }
        Ok(ticks)
    }
}
