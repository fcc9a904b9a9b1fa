//! Counters by series.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use metrics::{Key, Label, Recorder};

use super::series;
use crate::lock;

/// The counter of a series, for the life of the program. No other memory depends on it, so all orderings are relaxed.
pub(super) struct Counter {
    key: Key,
    total: AtomicU64,
    /// When it was first published, as zero, if a reader has to see it rise.
    rises: Option<OnceLock<Instant>>,
}

impl Counter {
    pub(super) fn add(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
    }

    /// What is published: zero for that long, if a reader has to see it rise.
    fn value(&self, at_zero_for: Duration) -> u64 {
        if let Some(since) = &self.rises {
            let mut is_first = false;
            let since = since.get_or_init(|| {
                is_first = true;
                Instant::now()
            });
            if is_first || since.elapsed() < at_zero_for {
                return 0;
            }
        }
        self.total.load(Ordering::Relaxed)
    }
}

/// All counters of a name.
#[derive(Default)]
pub(super) struct Counters(Mutex<BTreeMap<Series, Arc<Counter>>>);

/// A metric and its labels. (A [`Key`] cannot be a key here, because it remembers its hash.)
type Series = (String, Vec<Label>);

impl Counters {
    /// The counter of that series, always the same one.
    pub(super) fn find(&self, key: Key, rises: bool) -> Arc<Counter> {
        let series = (key.name().to_owned(), key.labels().cloned().collect());
        let mut counters = lock(&self.0);
        let counter = counters.entry(series).or_insert_with(|| {
            Arc::new(Counter {
                key,
                total: AtomicU64::new(0),
                rises: rises.then(OnceLock::new),
            })
        });
        Arc::clone(counter)
    }

    pub(super) fn publish(&self, recorder: &dyn Recorder, at_zero_for: Duration) {
        // The lock is not held while the recorder is called, because that may be slow, or use a breaker.
        let counters: Vec<_> = lock(&self.0).values().map(Arc::clone).collect();
        for counter in counters {
            series::set_counter(recorder, &counter.key, counter.value(at_zero_for));
        }
    }
}
