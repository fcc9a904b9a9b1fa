//! Breadth-first search over the worlds.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;

use atomic_breaker::Config;
use atomic_breaker::word::Bits;
use tests::reference::{Mode, Order, Reference, Report, Rules};

use super::elsewhere::{Place, places};
use super::world::{Cell, Event, World};

const REPORTS: [Report; 7] = [
    Report::Success,
    Report::Failure(0),
    Report::Failure(1),
    Report::Failure(2),
    Report::TripAtOnce,
    Report::RetryAfter(3),
    Report::Nothing,
];

const ORDERS: [Order; 7] = [
    Order::Trip,
    Order::ForceOpen,
    Order::Release,
    Order::Reset,
    Order::Disable,
    Order::Enable,
    Order::ProbeNow,
];

/// All that can happen.
fn events(callers: usize) -> Vec<Event> {
    let mut events = vec![Event::Pass, Event::StepBack];
    events.extend(ORDERS.map(Event::Operator));
    for caller in 0..callers {
        events.extend([Event::Ask(caller), Event::Drop(caller), Event::Lose(caller)]);
        events.extend(REPORTS.map(|report| Event::Tell(caller, report)));
    }
    events
}

/// How far a search goes.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    pub(crate) callers: usize,
    pub(crate) oldest_permit: u64,
    /// Whether each state is looked at across the wraps, too.
    pub(crate) across_wraps: bool,
}

/// What a search has seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    /// Steps taken from states moved across the wraps.
    pub(crate) steps_elsewhere: usize,
}

/// A search with everything seen so far.
pub(crate) struct Search<W: Cell> {
    start: World<W::Bits>,
    config: Config,
    events: Vec<Event>,
    elsewhere: Vec<Place>,
    /// Ages in milliseconds beyond this are one age.
    oldest: u64,
    word: PhantomData<W>,
}

/// How a world was reached: from which other one, by which event.
type Origin = (u32, Event);

impl<W: Cell> Search<W> {
    /// Starts with a fresh breaker.
    pub(crate) fn new(rules: &Rules, reach: Reach) -> Self {
        let tick = rules.grain.tick;
        let longest = [rules.open_for, rules.lease, 3]
            .into_iter()
            .chain(rules.growth.map(|(_, max)| max))
            .chain(rules.slow)
            .max();
        // Two ticks of rounding, and one for the step back.
        let oldest = longest.unwrap_or(0) + 3 * tick;
        let elsewhere = if reach.across_wraps {
            places::<W>(tick, oldest.div_ceil(tick))
        } else {
            Vec::new()
        };
        Self {
            start: World {
                bits: W::Bits::FRESH,
                held: [None; 3],
                reference: Reference::new(*rules, 100),
                behind: 0,
                oldest_permit: reach.oldest_permit,
            },
            config: rules.config(),
            events: events(reach.callers),
            elsewhere,
            oldest,
            word: PhantomData,
        }
    }

    /// Visits everything; panics with the way there where the two worlds differ.
    pub(crate) fn run(self) -> Extent {
        let mut seen = HashSet::from([self.key(&self.start)]);
        let mut origins: Vec<Option<Origin>> = vec![None];
        let mut queue = VecDeque::from([(0_u32, self.start.clone())]);
        let mut extent = Extent::default();
        while let Some((index, world)) = queue.pop_front() {
            for &event in &self.events {
                let Some(result) = world.after::<W>(self.config, event) else {
                    continue;
                };
                extent.steps += 1;
                match result {
                    Ok(next) => {
                        if seen.insert(self.key(&next)) {
                            queue.push_back((origins.len() as u32, next));
                            origins.push(Some((index, event)));
                        }
                    }
                    Err(difference) => self.fail(&origins, index, event, None, &difference),
                }
            }
            for &place in &self.elsewhere {
                let there = world.at::<W>(place);
                for &event in self.events.iter().filter(|event| event.asks_the_breaker()) {
                    let Some(result) = there.after::<W>(self.config, event) else {
                        continue;
                    };
                    extent.steps_elsewhere += 1;
                    if let Err(difference) = result {
                        self.fail(&origins, index, event, Some(place), &difference);
                    }
                }
            }
        }
        extent.states = origins.len();
        extent
    }

    fn fail(
        &self,
        origins: &[Option<Origin>],
        last: u32,
        event: Event,
        place: Option<Place>,
        difference: &str,
    ) -> ! {
        let mut way = vec![event];
        let mut index = last;
        while let Some((before, event)) = origins[index as usize] {
            way.push(event);
            index = before;
        }
        way.reverse();
        panic!(
            "after {way:?}\nfrom {} ms, before the last step moved to {place:?}, rules {:?}:\n\
             {difference}",
            self.start.reference.now, self.start.reference.rules
        );
    }

    /// What tells two worlds apart, as a fingerprint: 128 bits, so that two different keys among
    /// millions meet with a chance below one in 10²⁴.
    fn key(&self, world: &World<W::Bits>) -> (u64, u64) {
        let mut key = Vec::with_capacity(40);
        self.describe(world, &mut key);
        let hash = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            key.hash(&mut hasher);
            hasher.finish()
        };
        (hash(0), hash(1))
    }

    fn describe(&self, world: &World<W::Bits>, key: &mut Vec<u64>) {
        let reference = &world.reference;
        let tick = reference.rules.grain.tick;
        let bits: u64 = world.bits.into();
        let time_width = W::WIDTH - W::TIME;
        let time_of = |word: u64| word >> W::TIME;
        let modulus = 1_u64 << time_width;
        let now = reference.now / tick;

        // The real word: everything but epoch and time, and the age of the time.
        let epoch_mask = ((1 << W::EPOCH.1) - 1) << W::EPOCH.0;
        let below_time = bits & ((1 << W::TIME) - 1);
        key.push(below_time & !epoch_mask);
        let has_time = match reference.mode {
            Mode::Closed { failures, .. } => failures != 0,
            Mode::Open { .. } | Mode::Probing { .. } => true,
            Mode::ForcedOpen | Mode::Disabled => false,
        };
        // Wrapped, so a time just ahead of now is a large number, told apart from all ages.
        let age = now.wrapping_sub(time_of(bits)) % modulus;
        let ahead = modulus - age;
        key.push(match has_time {
            false => 0,
            true if ahead <= 2 => u64::MAX - ahead,
            true => age.min(self.oldest),
        });
        key.push(reference.now % tick);
        key.push(world.behind);

        // The reference, relative to now.
        let stored = |tick: u64| match now.checked_sub(tick) {
            Some(age) => age.min(self.oldest),
            None => u64::MAX - (tick - now),
        };
        key.push(u64::from(reference.trips));
        match &reference.mode {
            Mode::Closed {
                failures,
                window_began,
            } => {
                key.extend([0, u64::from(*failures)]);
                key.push(if *failures == 0 {
                    0
                } else {
                    stored(*window_began)
                });
            }
            Mode::Open { began, lasts } => key.extend([1, stored(*began), *lasts]),
            Mode::Probing {
                out,
                successes,
                last,
            } => {
                let lost = out.iter().filter(|number| {
                    !world
                        .held
                        .iter()
                        .flatten()
                        .any(|(_, pass)| pass.number == **number)
                });
                key.extend([2, lost.count() as u64, u64::from(*successes), stored(*last)]);
            }
            Mode::ForcedOpen => key.push(3),
            Mode::Disabled => key.push(4),
        }

        // The permits: kind, distance in transitions, and of probes in this epoch the time; in any
        // order.
        let mut permits: Vec<[u64; 5]> = world
            .held
            .iter()
            .flatten()
            .map(|((granted, _), pass)| {
                let granted: u64 = (*granted).into();
                let distance = reference.generation - pass.generation;
                let is_here = distance == 0 && pass.is_probe;
                let lag = time_of(bits).wrapping_sub(time_of(granted)) % modulus;
                let took = match reference.rules.slow {
                    Some(_) => match reference.now.checked_sub(pass.started) {
                        Some(took) => took.min(self.oldest),
                        None => u64::MAX,
                    },
                    None => 0,
                };
                let ahead = modulus - lag;
                [
                    granted & 3,
                    distance,
                    match is_here {
                        false => 0,
                        true if ahead <= 2 => u64::MAX - ahead,
                        true => lag.min(self.oldest),
                    },
                    took,
                    u64::from(is_here),
                ]
            })
            .collect();
        permits.sort_unstable();
        key.extend(permits.into_iter().flatten());
    }
}
