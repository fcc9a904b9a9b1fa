//! A registry that is shown.

use std::sync::Arc;

use atomic_breaker::{Config, Control};

use super::super::text;
use super::{Head, Keys, Refused, Seen, Source};
use atomic_breaker_std::Enforcement;
use atomic_breaker_std::registry::{AnyRegistry, Entry};

/// A registry, and the text of its keys. A text can only be turned back into a key by searching those that have a slot,
/// so no request can take up a slot.
pub(crate) struct OfRegistry<H, F> {
    pub(crate) handle: H,
    pub(crate) text: F,
}

impl<H: AnyRegistry, F: Fn(&H::Key) -> String> OfRegistry<H, F> {
    fn entries(&self) -> impl Iterator<Item = Entry<H::Key>> {
        self.handle.as_registry().iter_entries()
    }

    fn find(&self, wanted: &str) -> Result<Arc<H::Key>, Refused> {
        let mut found = self
            .entries()
            .filter(|entry| (self.text)(&entry.key) == wanted);
        let first = found.next().ok_or(Refused::Absent)?;
        if found.any(|other| *other.key != *first.key) {
            return Err(Refused::Ambiguous);
        }
        Ok(first.key)
    }
}

impl<H, F> Source for OfRegistry<H, F>
where
    H: AnyRegistry + Send + Sync,
    F: Fn(&H::Key) -> String + Send + Sync,
{
    fn head(&self) -> Head {
        let registry = self.handle.as_registry();
        let stats = registry.stats();
        Head {
            kind: "registry",
            keys: Some(Keys {
                known: stats.keys,
                capacity: registry.capacity(),
                evicted: stats.evicted,
                unguarded: stats.unguarded,
            }),
            enforced_percent: Some(registry.enforcement().percent()),
            rules: registry.config(),
            can_change_rules: true,
        }
    }

    fn visit(&self, seen: &mut dyn FnMut(Seen)) {
        for entry in self.entries() {
            seen(Seen {
                key: Some((self.text)(&entry.key)),
                snapshot: entry.snapshot,
                last_failure: entry.last_failure,
                has_own_rules: entry.has_own_rules,
            });
        }
    }

    fn command(
        &self,
        key: Option<&str>,
        command: &mut dyn FnMut(&dyn Control),
    ) -> Result<(), Refused> {
        let key = self.find(key.ok_or(Refused::KeyWanted(true))?)?;
        let registry = self.handle.as_registry();
        registry
            .command_if_present(&key, |breaker| command(breaker))
            .ok_or(Refused::Absent)
    }

    fn rules(&self, key: Option<&str>) -> Result<Config, Refused> {
        let registry = self.handle.as_registry();
        match key {
            Some(key) => Ok(registry.config_of(&*self.find(key)?)),
            None => Ok(registry.config()),
        }
    }

    fn rules_without_own(&self, key: &str) -> Result<Config, Refused> {
        let registry = self.handle.as_registry();
        Ok(registry.config_without_own(&*self.find(key)?))
    }

    fn check_rules(&self, rules: Config) -> Result<(), Refused> {
        let checked = self.handle.as_registry().check_config(rules);
        checked.map_err(|error| Refused::Rules(error.to_string()))
    }

    fn set_rules(&self, key: Option<&str>, rules: Config) -> Result<(), Refused> {
        let registry = self.handle.as_registry();
        let set = match key {
            Some(key) => registry.set_config_if_present(&*self.find(key)?, rules),
            None => registry.set_config(rules).map(|()| true),
        };
        match set {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refused::Absent),
            Err(error) => Err(Refused::Rules(error.to_string())),
        }
    }

    fn clear_rules(&self, key: &str) -> Result<bool, Refused> {
        Ok(self.handle.as_registry().clear_config_of(&*self.find(key)?))
    }

    fn enforcement(&self) -> Option<&Enforcement> {
        Some(self.handle.as_registry().enforcement())
    }
}

/// The text of a key that implements `Display`.
pub(crate) fn displayed<K: std::fmt::Display>(key: &K) -> String {
    text::of_key(key)
}
