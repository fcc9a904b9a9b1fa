// SPDX-License-Identifier: MIT OR Apache-2.0
//! Publishes the metrics to the recorder.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::{meter, series};
use crate::lock;

/// Passes everything that [`Metrics`](super::Metrics) have counted to the recorder of the `metrics` facade: call it for each
/// scrape, before the recorder renders its page. Where that is not possible, use [`publish_each_second`].
///
/// Counters are set to their sums since the start. So it does not matter when the recorder was installed, how often
/// this is called, or whether several threads call it at the same time; counts from threads that have ended are kept.
/// Calls made meanwhile do not wait.
///
/// A new key of a registry is passed as zero the first time, then with its counts: a rate needs to see a counter rise.
/// (If two servers scrape in turn, only one sees the zero.)
///
/// # Panics
/// If the recorder does.
pub fn publish() {
    publish_after(Duration::ZERO);
}

/// Starts a thread that [publishes](publish()) each second until the process ends: for recorders that serve scrapes
/// themselves, and for those that push. `scrape_interval` is the time between two scrapes; a new key of a registry
/// stays at zero for that long. A second call sets the new interval and starts no other thread. A forked process has
/// only its first thread, so each forked worker must call this itself.
///
/// # Errors
/// If the system cannot start a thread.
pub fn publish_each_second(scrape_interval: Duration) -> io::Result<()> {
    // The process whose thread is running.
    static RUNNING_IN: Mutex<Option<u32>> = Mutex::new(None);
    static INTERVAL_MS: AtomicU64 = AtomicU64::new(0);

    let ms = u64::try_from(scrape_interval.as_millis()).unwrap_or(u64::MAX);
    // A setting on which no other memory depends.
    INTERVAL_MS.store(ms, Ordering::Relaxed);
    let mut running_in = lock(&RUNNING_IN);
    let this = Some(process::id());
    if *running_in != this {
        let publishing = || loop {
            let interval = Duration::from_millis(INTERVAL_MS.load(Ordering::Relaxed));
            // The panic of a recorder has already been reported; try again in the next second.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| publish_after(interval)));
            thread::sleep(Duration::from_secs(1));
        };
        thread::Builder::new()
            .name("breaker-metrics".to_owned())
            .spawn(publishing)?;
        *running_in = this;
    }
    Ok(())
}

/// Publishes once; new keys stay at zero for that long.
fn publish_after(at_zero_for: Duration) {
    // No lock is held while the recorder is called, because it may be slow, or use a breaker.
    let meters = meter::all();
    metrics::with_recorder(|recorder| {
        series::describe(recorder);
        for meter in &meters {
            meter.publish(recorder, at_zero_for);
        }
    });
}
