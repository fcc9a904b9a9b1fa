//! Checks, shows and replaces rules while calls are under way.

use std::any::Any;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU16, Ordering};

use atomic_breaker::{Clock, Config, Tally};

use super::classes::Class;
use super::rules::Ruleset;
use super::{KeyedObserver, Registry, RegistryError};

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Whether these rules could be set; nothing changes.
    ///
    /// # Errors
    /// [`RegistryError::Config`] says which setting does not fit, and what to do.
    pub fn check_config(&self, config: Config) -> Result<(), RegistryError> {
        self.checked(config).map(drop)
    }

    fn checked(&self, config: Config) -> Result<Ruleset, RegistryError> {
        Ok(Ruleset::try_new(config, &self.clock, &self.slots[0].tally)?)
    }

    /// Replaces the common rules while calls are under way: the rules of all keys that have none of their own and whose
    /// class has none ([`rules_by`](super::RegistryBuilder::rules_by)). States are kept and running open times stay as
    /// they are; the new rules apply from the next event on.
    ///
    /// # Errors
    /// [`RegistryError::Config`] says which setting does not fit, and what to do; nothing changes then.
    pub fn set_config(&self, config: Config) -> Result<(), RegistryError> {
        let rules = self.checked(config)?;
        let _places = self.places();
        let id = self.table.insert(rules)?;
        // The rules themselves are published by the table.
        self.rules.store(id, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the common rules, which apply to all keys that have none of their own and whose class has none.
    pub fn config(&self) -> Config {
        *self.common().rules.config()
    }

    /// Gives a key rules of its own, instead of the common ones or those of its class. It keeps its slot for as long as
    /// it has them.
    ///
    /// # Errors
    /// [`RegistryError`] says which setting does not fit, or that no slot is available.
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
    ///
    /// # Errors
    /// [`RegistryError`] says which setting does not fit, and what to do.
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
    /// [`set_config`](Self::set_config) replaces the common ones.
    ///
    /// ```
    /// use atomic_breaker_registry::{Config, Registry};
    ///
    /// # #[derive(Debug)]
    /// #[derive(Clone, Copy, PartialEq)]
    /// enum Plan { Free, Paid }
    ///
    /// let strict = Config::new().consecutive_failures(2);
    /// let tenants = Registry::builder(Config::new())
    ///     .rules_by([(Plan::Free, strict)], |tenant: &u32| if *tenant < 100 { Plan::Paid } else { Plan::Free })
    ///     .build()?;
    /// tenants.set_config_of_class(&Plan::Free, strict.consecutive_failures(3))?;
    /// assert_eq!(tenants.config_of(&700), strict.consecutive_failures(3));
    /// // Paid tenants follow the common rules.
    /// assert!(tenants.set_config_of_class(&Plan::Paid, strict).is_err());
    /// # Ok::<(), atomic_breaker_registry::RegistryError>(())
    /// ```
    ///
    /// # Errors
    /// [`RegistryError`] says which setting does not fit, or that the class was not listed; nothing changes then.
    pub fn set_config_of_class<Q: PartialEq + 'static>(
        &self,
        class: &Q,
        config: Config,
    ) -> Result<(), RegistryError> {
        let rules = self.checked(config)?;
        let listed = self.find_class(class).ok_or(RegistryError::NoSuchClass)?;
        let _places = self.places();
        let id = self.table.insert(rules)?;
        // The rules themselves are published by the table.
        listed.store(id, Ordering::Relaxed);
        Ok(())
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
