//! What single breakers and slabs have in common: settings, and where the memory comes from.

#[cfg(any(target_os = "linux", target_os = "android"))]
use std::path::Path;
use std::sync::atomic::Ordering;

use atomic_breaker_std::word::AtomicU64;
use atomic_breaker_std::{BootClock, Breaker, Config, Rules};

use crate::error::Fault;
#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::file;
use crate::layout::{SECRET, Shape};
use crate::memory::Memory;
use crate::slot::draw_secret;
use crate::{MachineClock, MappedError, Origin};

#[derive(Clone, Debug)]
pub(crate) struct Setup<C> {
    pub(crate) config: Config,
    pub(crate) clock: C,
    pub(crate) replace_unused: bool,
}

pub(crate) type Parts = (Rules<u64>, Memory, Origin);

impl Setup<BootClock> {
    pub(crate) const fn new(config: Config) -> Self {
        Self {
            config,
            clock: BootClock,
            replace_unused: false,
        }
    }
}

impl<C> Setup<C> {
    pub(crate) fn clock<D>(self, clock: D) -> Setup<D> {
        Setup {
            config: self.config,
            clock,
            replace_unused: self.replace_unused,
        }
    }
}

impl<C: MachineClock> Setup<C> {
    /// Rules that need memory besides the word are an error.
    pub(crate) fn rules(&self) -> Result<Rules<u64>, Fault> {
        let rules = Rules::try_new(self.config)?;
        let _ = Breaker::try_from_parts(AtomicU64::new(0), &rules, &self.clock, (), ())?;
        Ok(rules)
    }

    /// Shared with the processes that are forked from now on.
    pub(crate) fn for_forks(&self, slab: Option<Shape>) -> Result<Parts, MappedError> {
        let map = || {
            let (shape, rules) = (Shape::of(slab)?, self.rules()?);
            let memory = Memory::map(None, shape.words())
                .map_err(|error| Fault::io("there is no memory, take fewer keys", error))?;
            for (word, random) in memory.words()[SECRET..].iter().zip(draw_secret()) {
                word.store(random, Ordering::Relaxed);
            }
            Ok((rules, memory, Origin::Created))
        };
        map().map_err(|fault| MappedError::new(None, fault))
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn in_file(&self, path: &Path, slab: Option<Shape>) -> Result<Parts, MappedError> {
        let open = || {
            let (shape, rules) = (Shape::of(slab)?, self.rules()?);
            let expected = file::Expected {
                machine: file::Machine::this()?,
                shape,
                clock: C::ID,
                rules: file::digest(&self.config),
            };
            let (memory, origin) = file::open(path, &expected, self.replace_unused)?;
            Ok((rules, memory, origin))
        };
        open().map_err(|fault| MappedError::new(Some(path), fault))
    }
}
