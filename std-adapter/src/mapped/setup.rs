//! What single breakers and slabs have in common: settings, and the source of the memory.

use atomic_breaker::word::AtomicU64;
use atomic_breaker::{Breaker, Config, Rules};

use super::MachineClock;
use super::error::Kind;
use super::layout::Shape;
use super::memory::Memory;
use super::slot::draw_secret;
use crate::BootClock;

#[derive(Clone, Debug)]
pub(super) struct Setup<C> {
    pub(super) config: Config,
    pub(super) clock: C,
    pub(super) replace_unused: bool,
}

impl Setup<BootClock> {
    pub(super) const fn new(config: Config) -> Self {
        Self {
            config,
            clock: BootClock,
            replace_unused: false,
        }
    }
}

impl<C> Setup<C> {
    pub(super) fn clock<D>(self, clock: D) -> Setup<D> {
        Setup {
            config: self.config,
            clock,
            replace_unused: self.replace_unused,
        }
    }
}

impl<C: MachineClock> Setup<C> {
    /// The rules, checked to need no memory besides the word: for others no file is created.
    pub(super) fn rules(&self) -> Result<Rules<u64>, Kind> {
        let rules = Rules::try_new(self.config)?;
        let _ = Breaker::try_from_parts(AtomicU64::new(0), &rules, &self.clock, (), ())?;
        Ok(rules)
    }
}

pub(super) fn for_forks(shape: Shape) -> Result<Memory, Kind> {
    let memory = Memory::for_forks(shape.words());
    let memory = memory.map_err(|error| Kind::NoMemory(error.into()))?;
    draw_secret(memory.words());
    Ok(memory)
}
