// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules, checked and stored once.

use atomic_breaker::{Breaker, Clock, Config, ConfigError, Rules, Tally, word::AtomicU64};

use super::RegistryError;
use crate::KeptRules;

/// The number of a set of rules: 0 for those that the registry was built with.
pub(super) type RuleId = u16;

/// Rules, and their consequences for a registry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ruleset {
    pub(super) rules: Rules<u64>,
    /// `true` if each call has to be remembered.
    pub(super) remembers: bool,
    /// `true` if a key takes a slot with its first call: because that has to be remembered, or because the number of
    /// keys has to be known.
    pub(super) is_eager: bool,
    /// The duration from which on a call is slow.
    pub(super) slow_call_ms: Option<u32>,
}

impl Ruleset {
    /// Checks rules against the word and the memory of a slot.
    pub(super) fn try_new<C: Clock, T: Tally>(
        config: Config,
        clock: &C,
        tally: &T,
        needs_all_keys: bool,
    ) -> Result<Self, ConfigError> {
        let rules = Rules::try_new(config)?;
        let unused = AtomicU64::new(0);
        let _ = Breaker::try_from_parts(unused, &rules, clock, tally, ())?;
        let remembers = config.needs_tally() || tally.memory().has_rule;
        Ok(Self {
            rules,
            remembers,
            is_eager: remembers || needs_all_keys,
            slow_call_ms: config.slow_call_ms,
        })
    }
}

/// All rules that were ever set, each stored once, so that they can be borrowed without reference counting.
#[derive(Debug)]
pub(super) struct RuleTable {
    /// The rules that the registry was built with. They have the id 0 and are found without a look into the table,
    /// because most registries have no others.
    first: Ruleset,
    later: KeptRules<Ruleset>,
}

impl RuleTable {
    pub(super) const fn new(first: Ruleset) -> Self {
        Self {
            first,
            later: KeptRules::new(),
        }
    }

    /// Rules that were set. The rules themselves are published by the table, so ids are passed on with relaxed ordering.
    #[inline]
    pub(super) fn get(&self, id: RuleId) -> &Ruleset {
        match id.checked_sub(1) {
            None => &self.first,
            Some(index) => self.later.get(index),
        }
    }

    /// The id of the rules, which are added if they are new.
    pub(super) fn insert(&self, ruleset: Ruleset) -> Result<RuleId, RegistryError> {
        if ruleset == self.first {
            return Ok(0);
        }
        let index = self.later.insert(ruleset).ok();
        let id = index.and_then(|index| index.checked_add(1));
        id.ok_or(RegistryError::TooManyRules)
    }
}
