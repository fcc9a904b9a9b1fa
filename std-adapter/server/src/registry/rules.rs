// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of keys: checked, shown and replaced while calls are under way, read without a write.

use std::any::Any;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU16, Ordering};

use atomic_breaker::{Clock, Config, Tally};

use super::classes::{Class, Classes};
use super::ruleset::{RuleId, Ruleset};
use super::slot::Slot;
use super::{KeyedObserver, Registry, RegistryError};

impl<K, C, T, O, S> Registry<K, C, T, O, S> {
    /// The rules of a slot: its own, those of its class, or the common ones.
    #[inline]
    pub(super) fn rules_of(&self, slot: &Slot<K, T>) -> &Ruleset {
        match (slot.own_rules(), &self.classes) {
            (Some(id), _) => self.table.get(id),
            (None, Some(classes)) => self.rules_of_class(classes, slot.class()),
            (None, None) => self.common(),
        }
    }

    /// The rules of a key that has no slot. Must not be called under the lock of the registry, because it
    /// runs user code.
    #[inline]
    pub(super) fn rules_of_absent(&self, key: &K) -> &Ruleset {
        match &self.classes {
            None => self.common(),
            Some(classes) => self.rules_of_class(classes, classes.of(key)),
        }
    }

    fn rules_of_class(&self, classes: &Classes<K>, class: Class) -> &Ruleset {
        match classes.rules(class) {
            Some(rules) => self.table.get(rules.load(Ordering::Relaxed)),
            None => self.common(),
        }
    }

    /// The rules of all keys that have no others.
    #[inline]
    pub(super) fn common(&self) -> &Ruleset {
        self.table.get(self.rules.load(Ordering::Relaxed))
    }
}

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Checks that these rules could be set; nothing changes.
    pub fn check_config(&self, config: Config) -> Result<(), RegistryError> {
        self.checked(config).map(drop)
    }

    fn checked(&self, config: Config) -> Result<Ruleset, RegistryError> {
        let needs_all_keys = self.cap.as_ref().is_some_and(|cap| cap.needs_all_keys());
        let tally = &self.slots[0].tally;
        Ok(Ruleset::try_new(
            config,
            &self.clock,
            tally,
            needs_all_keys,
        )?)
    }

    /// Replaces the common rules while calls are under way: the rules of all keys that have none of their own and whose
    /// class has none ([`rules_by`](super::RegistryBuilder::rules_by)). States are kept, and the new rules apply from the
    /// next event on. So a key that is open stays so for the time with which it opened, even if the new rules have a shorter
    /// one: the [command](Self::command) [`probe_now`](atomic_breaker::Breaker::probe_now) ends it. With an error nothing
    /// changes.
    pub fn set_config(&self, config: Config) -> Result<(), RegistryError> {
        let rules = self.checked(config)?;
        let _places = self.places();
        let id = self.table.insert(rules)?;
        self.replace(&self.rules, id);
        Ok(())
    }

    /// Returns the common rules, which apply to all keys that have none of their own and whose class has none.
    pub fn config(&self) -> Config {
        *self.common().rules.config()
    }

    /// Gives a key rules of its own, instead of the common ones or those of its class. They apply from the next event on;
    /// if it is open, it stays so for the time that it opened with. It keeps its slot for as long as it has them.
    pub fn set_config_of(&self, key: &K, config: Config) -> Result<(), RegistryError> {
        let rules = self.checked(config)?;
        let class = self.class_of(key);
        let mut places = self.places();
        let (_, slot) = self
            .place(key, class, &mut places)
            .ok_or(RegistryError::Full)?;
        slot.set_own_rules(Some(self.table.insert(rules)?));
        Ok(())
    }

    /// [`set_config_of`](Self::set_config_of) for a key that already has a slot. Returns whether it has one; if not,
    /// nothing changes.
    pub fn set_config_if_present(&self, key: &K, config: Config) -> Result<bool, RegistryError> {
        let rules = self.checked(config)?;
        let _places = self.places();
        let Some((_, slot)) = self.find(key) else {
            return Ok(false);
        };
        slot.set_own_rules(Some(self.table.insert(rules)?));
        Ok(true)
    }

    /// The rules of a key: its own, those of its class, or the common ones.
    pub fn config_of(&self, key: &K) -> Config {
        {
            // Not while the slot changes hands.
            let _places = self.places();
            if let Some((_, slot)) = self.find(key) {
                return *self.rules_of(slot).rules.config();
            }
        }
        *self.rules_of_absent(key).rules.config()
    }

    /// The rules that a key has without [its own](Self::set_config_of): those of its class, or the common ones.
    pub fn config_without_own(&self, key: &K) -> Config {
        *self.rules_of_absent(key).rules.config()
    }

    /// Removes a key's own rules, so that those of its class, or the common ones, apply. Returns whether it had any.
    pub fn clear_config_of(&self, key: &K) -> bool {
        let _places = self.places();
        let Some((_, slot)) = self.find(key) else {
            return false;
        };
        slot.set_own_rules(None)
    }

    /// Replaces the rules of a class that was listed in [`rules_by`](super::RegistryBuilder::rules_by), just as
    /// [`set_config`](Self::set_config) replaces the common ones. With an error nothing changes.
    pub fn set_config_of_class<Q: PartialEq + 'static>(
        &self,
        class: &Q,
        config: Config,
    ) -> Result<(), RegistryError> {
        let rules = self.checked(config)?;
        let listed = self.find_class(class).ok_or(RegistryError::NoSuchClass)?;
        let _places = self.places();
        let id = self.table.insert(rules)?;
        self.replace(listed, id);
        Ok(())
    }

    /// Called under the lock of the registry. The rules themselves are published by the table.
    fn replace(&self, rules: &AtomicU16, id: RuleId) {
        rules.store(id, Ordering::Relaxed);
        // Calls of keys without a slot that are under way look at the rules when they end.
        self.newest.store(self.newest() + 1, Ordering::Relaxed);
    }

    /// The rules of a class that was listed in [`rules_by`](super::RegistryBuilder::rules_by); `None` if it was not.
    pub fn config_of_class<Q: PartialEq + 'static>(&self, class: &Q) -> Option<Config> {
        let id = self.find_class(class)?.load(Ordering::Relaxed);
        Some(*self.table.get(id).rules.config())
    }

    fn find_class(&self, class: &dyn Any) -> Option<&AtomicU16> {
        self.classes.as_ref()?.find(class)
    }

    /// The class of a key. Must not be called under the lock of the registry, because this runs user code.
    pub(super) fn class_of(&self, key: &K) -> Class {
        let classes = self.classes.as_ref();
        classes.map_or(Class::default(), |classes| classes.of(key))
    }
}
