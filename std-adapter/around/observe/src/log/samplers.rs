// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of the rejections and failures of keys that are logged, and of the events of jobs.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use atomic_breaker_server::redact::printable;

use super::event::{self, Sampled};
use super::sampler::Sampler;
use crate::by_hash::ByHash;
use crate::label::OTHER;

/// The most keys with a sampler of their own.
const MOST_KEYS: usize = 1_024;

/// Selects which rejections or failures of each key are logged.
pub(super) struct KeySamplers {
    what: Sampled,
    keys: ByHash<SampledKey>,
    /// The sampler of keys that have none of their own.
    others: Arc<Sampler>,
    /// The time at which unneeded samplers were last removed.
    sweeps: Sampler,
}

/// The sampler of a key. Any event that is counted while it is being removed goes to the others.
struct SampledKey {
    text: String,
    sampler: Sampler,
    others: Arc<Sampler>,
}

impl Drop for SampledKey {
    fn drop(&mut self) {
        self.others.leave_out(self.sampler.take_left_out());
    }
}

impl KeySamplers {
    pub(super) fn new(what: Sampled) -> Self {
        Self {
            what,
            keys: ByHash::new(),
            others: Arc::default(),
            sweeps: Sampler::new(),
        }
    }

    /// Calls `log` with the sampler of a key, if it has one.
    pub(super) fn with_known(&self, key: &impl Hash, log: impl FnOnce(Option<&Sampler>)) {
        let keys = self.keys.pin();
        let sampled = keys.get(&self.keys.hash(key));
        log(sampled.map(|sampled| &sampled.sampler));
    }

    /// If this one is to be logged, calls `log` with the text of the key and the number of those that were left out. `name`
    /// is that of the log, `times` are the present and the interval.
    pub(super) fn sample<K: Hash + fmt::Display>(
        &self,
        key: &K,
        name: &str,
        times: (u32, u32),
        log: impl FnOnce(&str, u64),
    ) {
        let (now_ms, every_ms) = times;
        let hash = self.keys.hash(key);
        let keys = self.keys.pin();
        let sampled = keys.get(&hash).or_else(|| {
            if keys.len() >= MOST_KEYS && !self.sweep(name, now_ms, every_ms) {
                return None;
            }
            Some(keys.get_or_insert_with(hash, || SampledKey {
                text: printable(key),
                sampler: Sampler::new(),
                others: Arc::clone(&self.others),
            }))
        });
        let (text, chosen) = match sampled {
            Some(sampled) => (&*sampled.text, &sampled.sampler),
            None => (OTHER, &*self.others),
        };
        if let Some(left_out) = chosen.take(now_ms, every_ms, self.what.most()) {
            log(text, left_out);
        }
    }

    /// States what was left out for each key, and at the end for all others.
    pub(super) fn end(&self, name: &str) {
        for sampled in self.keys.pin().values() {
            event::left_out(self.what, name, Some(&sampled.text), &sampled.sampler);
        }
        event::left_out(self.what, name, Some(OTHER), &self.others);
    }

    /// Forgets keys that have been silent for long, such as evicted ones; at most once per interval. Returns whether
    /// there is room now.
    fn sweep(&self, name: &str, now_ms: u32, every_ms: u32) -> bool {
        if self.sweeps.take(now_ms, every_ms.max(1), 1).is_none() {
            return false;
        }
        let keys = self.keys.pin();
        for (hash, sampled) in &keys {
            if sampled.sampler.is_idle(now_ms, every_ms.saturating_mul(10)) {
                event::left_out(self.what, name, Some(&sampled.text), &sampled.sampler);
                keys.remove(hash);
            }
        }
        keys.len() < MOST_KEYS
    }
}

/// Selects which events of jobs are logged.
#[cfg(feature = "steps")]
#[derive(Default)]
pub(super) struct JobSamplers {
    pub(super) ended: Sampler,
    pub(super) lost: Sampler,
    pub(super) unkept: Sampler,
    pub(super) told: Sampler,
    pub(super) store: Sampler,
    /// The failure of the store was logged, and its recovery not yet. No other memory depends on it.
    pub(super) is_store_down: std::sync::atomic::AtomicBool,
    /// Lanes for which it was logged that a step is rejected by the breaker that it probes.
    pub(super) probe_themselves: std::sync::Mutex<std::collections::BTreeSet<String>>,
}
