// SPDX-License-Identifier: MIT OR Apache-2.0
//! The things that the callers of a round share beside the word: the time, the rules and the stamps.

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, TickBits, Ticks, Word};
use atomic_breaker::{AsRules, Clock, Observer, Outcome, Rejected, Rules, SharedClock, Transition};
use std::cell::{Cell, RefCell};
use tests::random::Random;
use tests::reference::{Grain, Notice};

use super::operation::{Heard, Made};

/// The memory that callers share, whatever they are.
pub(crate) trait World {
    type Word: Word;

    fn word(&self) -> &Self::Word;
    fn now(&self) -> u64;
    fn advance(&self, ms: u64);
    /// The number of the rules.
    fn rules(&self) -> usize;
    fn set_rules(&self, rules: usize);
    /// The next number of one counter.
    fn stamp(&self) -> u64;
}

/// The bits of a layout.
pub(crate) trait Layout: Bits {
    const GRAIN: Grain;
    const EPOCH_SHIFT: u32;
    type Native: Word<Bits = Self> + Default + From<Self> + Send + Sync + 'static;

    /// A closed breaker in this epoch, by the documented layout.
    fn closed_in(epoch: u64) -> Self {
        Self::from_u64(epoch << Self::EPOCH_SHIFT)
    }
}

impl Layout for u64 {
    const GRAIN: Grain = Grain::WIDE;
    const EPOCH_SHIFT: u32 = 55;
    type Native = AtomicU64;
}

/// A 32-bit word with ticks of 8 ms.
impl Layout for TickBits<3> {
    const GRAIN: Grain = Grain::narrow(8);
    const EPOCH_SHIFT: u32 = 28;
    type Native = Ticks<AtomicU32, 3>;
}

/// A caller's view of the shared time, which remembers what an operation read.
pub(crate) struct Readings<'a, V> {
    world: &'a V,
    stands_still: bool,
    last: Cell<Option<u64>>,
    dice: Cell<u32>,
    random: RefCell<Random>,
}

impl<'a, V: World> Readings<'a, V> {
    pub(crate) fn new(world: &'a V, stands_still: bool, random: Random) -> Self {
        Self {
            world,
            stands_still,
            last: Cell::new(None),
            dice: Cell::new(0),
            random: RefCell::new(random),
        }
    }

    /// An operation begins.
    pub(crate) fn begin(&self) {
        self.last.set(None);
    }

    /// The last reading, and the dice. An operation that read no clock has no use for the time.
    pub(crate) fn taken(&self, start: u64) -> (u64, u32) {
        (self.last.get().unwrap_or(start), self.dice.get())
    }
}

impl<V: World> Clock for Readings<'_, V> {
    fn now_ms(&self) -> u32 {
        let kept = self.last.get().filter(|_| self.stands_still);
        let now = kept.unwrap_or_else(|| self.world.now());
        self.last.set(Some(now));
        now as u32
    }

    fn random(&self) -> u32 {
        let dice = self.random.borrow_mut().next_u32();
        self.dice.set(dice);
        dice
    }
}

impl<V: World> SharedClock for Readings<'_, V> {}

/// A caller's view of the rules, which remembers those that an operation looked up.
pub(crate) struct Followed<'a, V, B> {
    world: &'a V,
    sets: &'a [Rules<B>],
    last: Cell<usize>,
}

impl<'a, V: World, B: Bits> Followed<'a, V, B> {
    pub(crate) fn new(world: &'a V, sets: &'a [Rules<B>]) -> Self {
        let last = Cell::new(world.rules());
        Self { world, sets, last }
    }

    pub(crate) fn last(&self) -> usize {
        self.last.get()
    }
}

impl<V: World, B: Bits> AsRules<B> for Followed<'_, V, B> {
    fn as_rules(&self) -> &Rules<B> {
        self.last.set(self.world.rules());
        &self.sets[self.last.get()]
    }
}

/// Writes down what a caller's operation notifies it of.
#[derive(Default)]
pub(crate) struct Listener(RefCell<Heard>);

impl Listener {
    pub(crate) fn take(&self) -> Heard {
        self.0.take()
    }
}

impl Observer for Listener {
    fn transition(&self, transition: &Transition) {
        self.0.borrow_mut().transitions.push(transition.into());
    }

    fn rejected(&self, rejected: Rejected) {
        let rejected = (rejected.state(), rejected.wait());
        self.0.borrow_mut().rejected.push(rejected);
    }

    fn outcome(&self, outcome: Outcome) {
        self.0.borrow_mut().outcomes.push(outcome);
    }

    fn cancelled(&self) {
        self.0.borrow_mut().cancelled += 1;
    }
}

impl From<&Transition> for Made {
    fn from(transition: &Transition) -> Self {
        Self {
            notice: Notice::from(transition),
            at_ms: transition.at_ms,
            epoch: transition.epoch.into(),
        }
    }
}
