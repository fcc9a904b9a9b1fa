//! Logs what happens to the keys of a registry.

use std::fmt;
use std::hash::Hash;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker::{Clock, Present, Rejected, State, Transition};

use super::event::{self, Whose};
use super::sampler::{Sampler, whole_ms};
use super::text::Mode;
use crate::StdClock;
use crate::registry::KeyedObserver;
use crate::words::printable;

/// Logs the transitions of all keys of a registry, and a sample of their rejections, as events of `tracing`.
///
/// ```
/// use atomic_breaker_std::observe::RegistryLog;
/// use atomic_breaker_std::registry::{Registry, RegistryError};
/// use atomic_breaker_std::Config;
///
/// let hosts = Registry::builder(Config::new().consecutive_failures(1))
///     .observer(RegistryLog::new("hosts"))
///     .build()?;
/// let _ = hosts.call("a.example", || Err::<(), _>("no answer"));
/// // WARN atomic_breaker::transition: closed -> open: failures reached the limit, for 5s circuit_breaker.name="hosts"
/// // circuit_breaker.key="a.example" ..
/// # Ok::<(), RegistryError>(())
/// ```
///
/// Targets, levels and sampling are, for each key, the same as for [`BreakerLog`](super::BreakerLog). A key may come
/// from outside: the first 128 bytes of its text are logged, with control characters escaped. Up to 1,024 keys that
/// reject are sampled individually; beyond that, keys that have been silent for ten intervals make room, and the rest
/// are sampled together under the key `other`. `C` is the clock for the sampling.
pub struct RegistryLog<K: Hash + Eq, C = StdClock> {
    name: String,
    clock: C,
    every_ms: u32,
    text: Box<dyn Fn(&K) -> String + Send + Sync>,
    keys: papaya::HashMap<K, OfKey>,
    /// The sampler of keys that have none of their own.
    others: Arc<Sampler>,
    /// When unneeded samplers were last removed: the time, with a marker bit above it.
    swept: AtomicU64,
}

/// The most keys with a sampler of their own.
const MOST_KEYS: usize = 1_024;
const OTHER: &str = "other";
const IS_SET: u64 = 1 << 32;

/// The sampler of a key. Rejections counted while it is being removed go to the others.
struct OfKey {
    sampler: Sampler,
    others: Arc<Sampler>,
}

impl Drop for OfKey {
    fn drop(&mut self) {
        self.others.leave_out(self.sampler.take_left_out());
    }
}

impl<K: Hash + Eq + fmt::Display> RegistryLog<K> {
    /// Creates a log for the registry of that name; keys are logged with their `Display` text.
    pub fn new(name: impl fmt::Display) -> Self {
        Self::by_text(name, |key| printable(key))
    }
}

impl<K: Hash + Eq> RegistryLog<K> {
    /// For keys without `Display`, or with another text in the log: `text` returns the text to log.
    pub fn by_text(
        name: impl fmt::Display,
        text: impl Fn(&K) -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: printable(name),
            clock: StdClock,
            every_ms: 1_000,
            text: Box::new(text),
            keys: papaya::HashMap::new(),
            others: Arc::default(),
            swept: AtomicU64::new(0),
        }
    }
}

impl<K: Hash + Eq, C> RegistryLog<K, C> {
    /// Uses another clock, which is read for each rejection: a coarse one, or one that a test moves.
    pub fn clock<D: Clock>(mut self, clock: D) -> RegistryLog<K, D> {
        let text = mem::replace(&mut self.text, Box::new(|_| String::new()));
        RegistryLog {
            name: mem::take(&mut self.name),
            clock,
            every_ms: self.every_ms,
            text,
            keys: papaya::HashMap::new(),
            others: Arc::default(),
            swept: AtomicU64::new(0),
        }
    }

    /// Logs at most one rejection of a key within this time, after the first of an open period; rounded up to
    /// milliseconds. A second unless set; zero logs every rejection.
    ///
    /// # Panics
    /// If it is more than 24 days.
    #[must_use]
    pub fn rejections_every(mut self, interval: Duration) -> Self {
        self.every_ms = whole_ms(interval);
        self
    }

    fn whose<'a>(&'a self, key: &'a str) -> Whose<'a> {
        Whose {
            name: &self.name,
            key: Some(key),
        }
    }

    fn printed(&self, key: &K) -> String {
        printable((self.text)(key))
    }
}

impl<K: Hash + Eq + Clone, C: Clock> RegistryLog<K, C> {
    #[cold]
    fn log_transition(&self, key: &K, transition: &Transition, last_failure: Option<&str>) {
        let keys = self.keys.pin();
        let sampler = keys.get(key).map(|of_key| &of_key.sampler);
        if matches!(transition.to, State::Open | State::ForcedOpen) {
            if let Some(sampler) = sampler {
                sampler.begin();
            }
        }
        if event::wants_transition(transition) {
            let left_out = sampler.map_or(0, Sampler::take_left_out);
            let key = self.printed(key);
            let last_failure = last_failure.map(printable);
            event::transition(
                self.whose(&key),
                transition,
                last_failure.as_deref(),
                left_out,
            );
        }
    }

    #[cold]
    fn log_rejection(&self, key: &K, rejected: Rejected, mode: Mode) {
        if !event::wants_rejections() {
            return;
        }
        let now_ms = self.clock.now_ms();
        let keys = self.keys.pin();
        let sampler = keys.get(key).or_else(|| {
            if keys.len() >= MOST_KEYS && !self.sweep(now_ms) {
                return None;
            }
            Some(keys.get_or_insert_with(key.clone(), || OfKey {
                sampler: Sampler::new(),
                others: Arc::clone(&self.others),
            }))
        });
        let Some(OfKey { sampler, .. }) = sampler else {
            if let Some(left_out) = self.others.reject(now_ms, self.every_ms) {
                event::rejection(self.whose(OTHER), rejected, mode, left_out);
            }
            return;
        };
        if let Some(left_out) = sampler.reject(now_ms, self.every_ms) {
            event::rejection(self.whose(&self.printed(key)), rejected, mode, left_out);
        }
    }

    /// Forgets keys that have been silent for long, such as evicted ones; at most once per interval. Returns whether
    /// there is room now.
    fn sweep(&self, now_ms: u32) -> bool {
        let swept = self.swept.load(Ordering::Relaxed);
        let next = IS_SET | u64::from(now_ms);
        let is_due = swept == 0 || now_ms.wrapping_sub(swept as u32) >= self.every_ms.max(1);
        let is_mine = is_due
            && self
                .swept
                .compare_exchange(swept, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !is_mine {
            return false;
        }
        let idle_ms = self.every_ms.saturating_mul(10);
        let keys = self.keys.pin();
        for (key, OfKey { sampler, .. }) in &keys {
            if sampler.is_idle(now_ms, idle_ms) {
                let left_out = sampler.take_left_out();
                if left_out != 0 {
                    event::left_out(self.whose(&self.printed(key)), left_out);
                }
                keys.remove(key);
            }
        }
        keys.len() < MOST_KEYS
    }
}

impl<K: Hash + Eq + Clone, C: Clock> KeyedObserver<K> for RegistryLog<K, C> {
    fn transition(&self, key: &K, transition: &Transition) {
        self.log_transition(key, transition, None);
    }

    fn opened(&self, key: &K, transition: &Transition, _: Present<'_>, last_failure: &str) {
        self.log_transition(key, transition, Some(last_failure));
    }

    fn rejected(&self, key: &K, rejected: Rejected) {
        self.log_rejection(key, rejected, Mode::Enforced);
    }

    fn would_reject(&self, key: &K, rejected: Rejected) {
        self.log_rejection(key, rejected, Mode::Shadow);
    }
}

impl<K: Hash + Eq, C> Drop for RegistryLog<K, C> {
    fn drop(&mut self) {
        for (key, OfKey { sampler, .. }) in &self.keys.pin() {
            let left_out = sampler.take_left_out();
            if left_out != 0 {
                event::left_out(self.whose(&self.printed(key)), left_out);
            }
        }
        event::left_out(self.whose(OTHER), self.others.take_left_out());
    }
}

impl<K: Hash + Eq, C> fmt::Debug for RegistryLog<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryLog")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
