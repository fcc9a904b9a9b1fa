//! The rules of keys: set while calls are under way, read without a write.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use atomic_breaker::word::AtomicU64;
use atomic_breaker::{Breaker, Clock, Config, ConfigError, Rules, Tally};

use super::classes::Class;
use super::slot::{Choice, Slot};
use super::{Registry, RegistryError};

/// Rules, and what follows from them for a registry.
#[derive(Debug)]
pub(super) struct Ruleset {
    pub(super) rules: Rules<u64>,
    /// Whether each call has to be remembered, so that the first one takes a slot.
    pub(super) is_eager: bool,
    /// From when on a call is slow.
    pub(super) slow_call_ms: Option<u32>,
}

impl Ruleset {
    /// Checks rules against the word and the memory of a slot.
    pub(super) fn try_new<C: Clock, T: Tally>(
        config: Config,
        clock: &C,
        tally: &T,
    ) -> Result<Self, ConfigError> {
        let rules = Rules::try_new(config)?;
        let unused = AtomicU64::new(0);
        let _ = Breaker::try_from_parts(unused, &rules, clock, tally, ())?;
        let is_eager =
            config.get_failure_ratio().is_some() || config.get_tally_only() || tally.has_rule();
        Ok(Self {
            rules,
            is_eager,
            slow_call_ms: config.get_slow_call().map(|limit| limit.as_millis() as u32),
        })
    }
}

/// Which rules: an index of the [`RuleTable`].
pub(super) type RuleId = u16;

const CHUNK: usize = 64;
const CHUNKS: usize = (RuleId::MAX as usize + 1) / CHUNK;

/// All rules that were ever set, each once, so that they can be borrowed without counting who does. Grows under
/// the lock of the registry.
#[derive(Debug)]
pub(super) struct RuleTable(Box<[OnceLock<Chunk>]>);

type Chunk = Box<[OnceLock<Ruleset>]>;

impl RuleTable {
    /// With the first rules, those of index 0.
    pub(super) fn new(first: Ruleset) -> Self {
        let table = Self((0..CHUNKS).map(|_| OnceLock::new()).collect());
        // The table is empty, so this is the one.
        let _ = table.place(0).set(first);
        table
    }

    /// Rules that were set.
    #[inline]
    pub(super) fn get(&self, id: RuleId) -> &Ruleset {
        let rules = self.0[usize::from(id) / CHUNK]
            .get()
            .and_then(|chunk| chunk[usize::from(id) % CHUNK].get());
        match rules {
            Some(rules) => rules,
            None => unreachable!("an index is handed out when its rules are set"),
        }
    }

    /// The index of rules, new ones if need be. Under the lock of the registry.
    pub(super) fn insert(&self, ruleset: Ruleset) -> Result<RuleId, RegistryError> {
        for id in 0..=RuleId::MAX {
            let place = self.place(id);
            match place.get() {
                Some(known) if known.rules.config() == ruleset.rules.config() => return Ok(id),
                Some(_) => {}
                None => {
                    let _ = place.set(ruleset);
                    return Ok(id);
                }
            }
        }
        Err(RegistryError::TooManyRules)
    }

    fn place(&self, id: RuleId) -> &OnceLock<Ruleset> {
        let chunk = self.0[usize::from(id) / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
        &chunk[usize::from(id) % CHUNK]
    }
}

impl<K, C, T, O, S> Registry<K, C, T, O, S> {
    /// The rules of a slot: its own, those of its class, or the common ones.
    #[inline]
    pub(super) fn rules_of(&self, slot: &Slot<K, T>) -> &Ruleset {
        match slot.choice() {
            Choice::COMMON => self.common(),
            choice => match choice.own() {
                Some(id) => self.table.get(id),
                None => self.rules_of_class(choice.class()),
            },
        }
    }

    /// The rules of a key that has no slot. Not under the lock of the registry, as it runs code of the user.
    #[inline]
    pub(super) fn rules_of_absent(&self, key: &K) -> &Ruleset {
        match &self.classes {
            None => self.common(),
            Some(classes) => self.rules_of_class(classes.of(key)),
        }
    }

    pub(super) fn rules_of_class(&self, class: Class) -> &Ruleset {
        let classes = self.classes.as_ref();
        match classes.and_then(|classes| classes.rules(class)) {
            // The rules themselves are published by the table.
            Some(rules) => self.table.get(rules.load(Ordering::Relaxed)),
            None => self.common(),
        }
    }

    /// The rules of all keys that have no others.
    #[inline]
    pub(super) fn common(&self) -> &Ruleset {
        // The rules themselves are published by the table.
        self.table.get(self.rules.load(Ordering::Relaxed))
    }
}
