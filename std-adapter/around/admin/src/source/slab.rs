// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers of many keys that processes share.

use std::ops::Deref;

use atomic_breaker_mapped::{MachineClock, MappedSlab};
use atomic_breaker_server::{Config, Enforcement};
use serde_json::{Value, json};

use super::super::response::Problem;
use super::super::text;
use super::{OnBreaker, SeenBreaker, Source, absent, only};

/// Whatever process took the slot of a key, it is listed. No request takes one.
pub(crate) struct OfSlab<H>(pub(crate) H);

/// A key as text; bytes that are none are shown as `U+FFFD`.
fn name(key: &[u8]) -> String {
    text::of_key(&String::from_utf8_lossy(key))
}

fn fixed() -> Problem {
    Problem::conflict(
        "these breakers are shared with other processes, which all must have the same rules: stop them, change their \
         configuration, and start them with replace_unused",
    )
}

impl<C: MachineClock, H: Deref<Target = MappedSlab<C>>> OfSlab<H> {
    fn find(&self, key: Option<&str>) -> Result<Vec<u8>, Problem> {
        let entries = self.0.entries();
        only(key, entries.map(|(key, _)| (name(&key), key)))
    }
}

impl<C, H> Source for OfSlab<H>
where
    C: MachineClock,
    H: Deref<Target = MappedSlab<C>> + Send + Sync,
{
    fn has_keys(&self) -> bool {
        true
    }

    fn head(&self) -> Value {
        json!({
            "kind": "slab",
            "keys": {
                "known": self.0.keys(),
                "capacity": self.0.capacity(),
                "evicted": 0,
                "unguarded": self.0.refused(),
            },
            "enforced_percent": null,
            "rules": self.0.config(),
            "can_change_rules": false,
        })
    }

    fn visit(&self, visit: &mut dyn FnMut(Option<&str>, SeenBreaker)) {
        for (key, snapshot) in self.0.entries() {
            let seen = SeenBreaker {
                snapshot,
                last_failure: None,
                has_own_rules: false,
            };
            visit(Some(&name(&key)), seen);
        }
    }

    fn command(&self, key: Option<&str>, command: OnBreaker<'_>) -> Result<(), Problem> {
        let breaker = self.0.get(self.find(key)?).ok_or_else(absent)?;
        command(&breaker);
        Ok(())
    }

    fn rules(&self, key: Option<&str>) -> Result<Config, Problem> {
        if key.is_some() {
            self.find(key)?;
        }
        Ok(*self.0.config())
    }

    fn set_rules(&self, _: Option<&str>, _: Config, _: bool) -> Result<(Config, bool), Problem> {
        Err(fixed())
    }

    fn clear_rules(&self, _: Option<&str>, _: bool) -> Result<(Config, bool), Problem> {
        Err(fixed())
    }

    fn enforcement(&self) -> Option<&Enforcement> {
        None
    }
}
