//! Logs what happens to the keys of a registry.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use atomic_breaker_server::{
    Clock, KeyedObserver, Present, Rejected, Transition, redact::printable,
};

use super::sampler::Sampler;
use super::{Log, event};
use crate::by_hash::ByHash;
use crate::label::{Mode, OTHER};

/// The most keys with a sampler of their own.
const MOST_KEYS: usize = 1_024;

/// Selects which rejections of each key are logged.
pub(super) struct Samplers {
    keys: ByHash<OfKey>,
    /// The sampler of keys that have none of their own.
    others: Arc<Sampler>,
    /// When unneeded samplers were last removed.
    sweeps: Sampler,
}

/// The sampler of a key. Rejections counted while it is being removed go to the others.
struct OfKey {
    text: String,
    sampler: Sampler,
    others: Arc<Sampler>,
}

impl Drop for OfKey {
    fn drop(&mut self) {
        self.others.leave_out(self.sampler.take_left_out());
    }
}

impl Samplers {
    fn new() -> Self {
        Self {
            keys: ByHash::new(),
            others: Arc::default(),
            sweeps: Sampler::new(),
        }
    }

    /// States what was left out for each key, and at the end for all others.
    pub(super) fn end(&self, name: &str) {
        for of_key in self.keys.pin().values() {
            event::left_out(name, Some(&of_key.text), &of_key.sampler);
        }
        event::left_out(name, Some(OTHER), &self.others);
    }

    /// Forgets keys that have been silent for long, such as evicted ones; at most once per interval. Returns whether
    /// there is room now.
    fn sweep(&self, name: &str, now_ms: u32, every_ms: u32) -> bool {
        if self.sweeps.take(now_ms, every_ms.max(1), 1).is_none() {
            return false;
        }
        let keys = self.keys.pin();
        for (hash, of_key) in &keys {
            if of_key.sampler.is_idle(now_ms, every_ms.saturating_mul(10)) {
                event::left_out(name, Some(&of_key.text), &of_key.sampler);
                keys.remove(hash);
            }
        }
        keys.len() < MOST_KEYS
    }
}

impl<C: Clock> Log<C> {
    #[cold]
    fn log_key_transition<K: Hash + fmt::Display>(
        &self,
        key: &K,
        transition: &Transition,
        last_failure: Option<&str>,
    ) {
        let samplers = self.keys.get_or_init(Samplers::new);
        let keys = samplers.keys.pin();
        let of_key = keys.get(&samplers.keys.hash(key));
        let sampler = of_key.map(|of_key| &of_key.sampler);
        event::transition(&self.name, Some(key), transition, last_failure, sampler);
    }

    #[cold]
    fn log_key_rejection<K: Hash + fmt::Display>(&self, key: &K, rejected: Rejected, mode: Mode) {
        if !event::wants_rejections() {
            return;
        }
        let now_ms = self.clock.now_ms();
        let samplers = self.keys.get_or_init(Samplers::new);
        let hash = samplers.keys.hash(key);
        let keys = samplers.keys.pin();
        let of_key = keys.get(&hash).or_else(|| {
            if keys.len() >= MOST_KEYS && !samplers.sweep(&self.name, now_ms, self.every_ms) {
                return None;
            }
            Some(keys.get_or_insert_with(hash, || OfKey {
                text: printable(key),
                sampler: Sampler::new(),
                others: Arc::clone(&samplers.others),
            }))
        });
        let (text, sampler) = match of_key {
            Some(of_key) => (&*of_key.text, &of_key.sampler),
            None => (OTHER, &*samplers.others),
        };
        if let Some(left_out) = sampler.take(now_ms, self.every_ms, 1) {
            event::rejection(&self.name, Some(text), rejected, mode, left_out);
        }
    }
}

impl<K: Hash + fmt::Display, C: Clock> KeyedObserver<K> for Log<C> {
    fn transition(&self, key: &K, transition: &Transition) {
        self.log_key_transition(key, transition, None);
    }

    fn opened(&self, key: &K, transition: &Transition, _: Present<'_>, last_failure: &str) {
        self.log_key_transition(key, transition, Some(last_failure));
    }

    fn rejected(&self, key: &K, rejected: Rejected) {
        self.log_key_rejection(key, rejected, Mode::Enforced);
    }

    fn would_reject(&self, key: &K, rejected: Rejected) {
        self.log_key_rejection(key, rejected, Mode::Shadow);
    }
}
