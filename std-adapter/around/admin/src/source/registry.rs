// SPDX-License-Identifier: MIT OR Apache-2.0
//! A registry that is shown.

use std::fmt;
use std::sync::Arc;

use atomic_breaker_server::{AnyRegistry, Config, Enforcement};
use serde_json::{Value, json};

use super::super::response::Problem;
use super::super::text;
use super::{OnBreaker, SeenBreaker, Source, absent, not_set, only};

/// A name can only be turned back into a key by searching those that have a slot, so no request can take up a slot.
pub(crate) struct OfRegistry<H>(pub(crate) H);

impl<H: AnyRegistry<Key: fmt::Display>> OfRegistry<H> {
    fn find(&self, key: Option<&str>) -> Result<Arc<H::Key>, Problem> {
        let entries = self.0.entries();
        only(key, entries.map(|it| (text::of_key(&it.key), it.key)))
    }

    fn has_own_rules(&self, key: &H::Key) -> bool {
        let mut entries = self.0.entries();
        entries.any(|it| *it.key == *key && it.has_own_rules)
    }
}

impl<H: AnyRegistry<Key: fmt::Display> + Send + Sync> Source for OfRegistry<H> {
    fn has_keys(&self) -> bool {
        true
    }

    fn head(&self) -> Value {
        let registry = &self.0;
        let stats = registry.stats();
        json!({
            "kind": "registry",
            "keys": {
                "known": stats.keys,
                "capacity": registry.capacity(),
                "evicted": stats.evicted,
                "unguarded": stats.unguarded,
            },
            "enforced_percent": registry.enforcement().percent(),
            "rules": registry.config(),
            "can_change_rules": true,
        })
    }

    fn visit(&self, visit: &mut dyn FnMut(Option<&str>, SeenBreaker)) {
        for entry in self.0.entries() {
            let seen = SeenBreaker {
                snapshot: entry.snapshot,
                last_failure: entry.last_failure,
                has_own_rules: entry.has_own_rules,
            };
            visit(Some(&text::of_key(&entry.key)), seen);
        }
    }

    fn command(&self, key: Option<&str>, command: OnBreaker<'_>) -> Result<(), Problem> {
        let (registry, key) = (&self.0, self.find(key)?);
        let done = registry.command_if_present(&key, |breaker| command(breaker));
        done.ok_or_else(absent)
    }

    fn rules(&self, key: Option<&str>) -> Result<Config, Problem> {
        let registry = &self.0;
        match key {
            Some(_) => Ok(registry.config_of(&*self.find(key)?)),
            None => Ok(registry.config()),
        }
    }

    fn set_rules(
        &self,
        key: Option<&str>,
        rules: Config,
        dry: bool,
    ) -> Result<(Config, bool), Problem> {
        let registry = &self.0;
        registry.check_config(rules).map_err(not_set)?;
        let key = key.map(|_| self.find(key)).transpose()?;
        let old = match &key {
            Some(key) => registry.config_of(&**key),
            None => registry.config(),
        };
        let gets_own = key.as_ref().is_some_and(|key| !self.has_own_rules(key));
        let is_present = match &key {
            _ if dry => Ok(true),
            Some(key) => registry.set_config_if_present(&**key, rules),
            None => registry.set_config(rules).map(|()| true),
        };
        let is_present = is_present.map_err(not_set)?;
        let is_change = old != rules || gets_own;
        is_present.then_some((old, is_change)).ok_or_else(absent)
    }

    fn clear_rules(&self, key: Option<&str>, dry: bool) -> Result<(Config, bool), Problem> {
        let (registry, key) = (&self.0, self.find(key)?);
        let left = registry.config_without_own(&*key);
        Ok((left, !dry && registry.clear_config_of(&*key)))
    }

    fn enforcement(&self) -> Option<&Enforcement> {
        Some(self.0.enforcement())
    }
}
