// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a log that can be replayed.

#[cfg(feature = "tower")]
mod layer;
mod outcome;
mod writer;

#[cfg(feature = "tower")]
pub use layer::{RecordFuture, RecordLayer, RecordService};
pub use outcome::RecordedOutcome;
pub use writer::RecordSummary;

use std::error::Error;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use writer::{RecordedCall, Writer};

/// Writes the calls of a program to a file that [`LogReader`](crate::LogReader) and the command read: CSV. Calls never wait
/// for the file.
///
/// Put it **around** the breaker, so that rejected calls are in the log, too: replays then know that they were wanted.
///
/// ```
/// use atomic_breaker_tune::CallRecorder;
/// use atomic_breaker::{Breaker, Config, ManualClock};
/// use std::io;
///
/// # let folder = std::env::temp_dir().join(format!("recorder-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let breaker = Breaker::new(Config::new(), ManualClock::new());
/// let recorder = CallRecorder::builder().start(folder.join("calls.csv"))?;
///
/// let result = recorder.call("db-1", || breaker.call(|| Err::<(), _>(io::Error::other("no answer"))));
/// assert!(result.is_err());
///
/// assert_eq!(recorder.finish().written, 1);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), io::Error>(())
/// ```
///
/// # Bounds
///
/// - A call costs two readings of the clock, a copy of its key and a place in a queue of fixed [length](CallRecorderBuilder::queue),
///   which a thread of the recorder empties. When the queue is full, calls are dropped and counted.
/// - The file ends at a [size](CallRecorderBuilder::max_bytes), and at the first error of the disk: further calls are dropped and
///   counted.
/// - To record less, keep [a share of the keys](CallRecorderBuilder::share_of_keys): all calls of a key or none, because what
///   trips a breaker is calls that follow each other.
///
/// Lines are written when calls end, and reach the file within a second.
#[derive(Debug)]
pub struct CallRecorder {
    sender: Option<SyncSender<RecordedCall>>,
    dropped: Arc<AtomicU64>,
    writer: Option<JoinHandle<RecordSummary>>,
    share: u8,
    began: Instant,
    /// The wall clock at that moment, so that no jump of it is in the log.
    began_at: Duration,
}

/// The settings of a [`CallRecorder`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct CallRecorderBuilder {
    queue: usize,
    share: u8,
    max_bytes: u64,
}

impl Default for CallRecorderBuilder {
    fn default() -> Self {
        Self {
            queue: 8_192,
            share: 100,
            max_bytes: 1 << 30,
        }
    }
}

impl CallRecorderBuilder {
    /// Sets the number of calls that may wait for the file: 8,192 unless set, at least 1.
    pub const fn queue(mut self, calls: usize) -> Self {
        self.queue = calls;
        self
    }

    /// The share of the keys whose calls are recorded, in percent: all unless set.
    ///
    /// # Panics
    /// If `percent` is 0 or more than 100.
    pub const fn share_of_keys(mut self, percent: u8) -> Self {
        assert!(
            1 <= percent && percent <= 100,
            "percent must be from 1 to 100"
        );
        self.share = percent;
        self
    }

    /// The size at which the file ends: a gibibyte unless set.
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Creates the file, which must not exist yet, and starts the thread that writes it. A program that is started again needs
    /// another name, such as one with the time; the number of the process does not differ in a container.
    pub fn start(self, path: impl AsRef<Path>) -> io::Result<CallRecorder> {
        let (sender, receiver) = sync_channel(self.queue.max(1));
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer::create(path.as_ref(), self.max_bytes, Arc::clone(&dropped))?;
        let writer = std::thread::Builder::new()
            .name("recorder".into())
            .spawn(move || writer.run(&receiver))?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Ok(CallRecorder {
            sender: Some(sender),
            dropped,
            writer: Some(writer),
            share: self.share,
            began: Instant::now(),
            began_at: since.unwrap_or_default(),
        })
    }
}

impl CallRecorder {
    /// A builder with the usual settings.
    pub fn builder() -> CallRecorderBuilder {
        CallRecorderBuilder::default()
    }

    /// Makes a call and records it: `Ok` as a success, a rejection by a breaker as such, wherever in the error's chain it is,
    /// and every other `Err` as a failure.
    pub fn call<T, E: Error + 'static>(
        &self,
        key: &str,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let call = self.begin(key);
        let result = operation();
        call.end(RecordedOutcome::from_result(&result));
        result
    }

    /// [`call`](Self::call) for a future. If it is dropped, the call is recorded as cancelled.
    pub async fn call_async<T, E: Error + 'static>(
        &self,
        key: &str,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let call = self.begin(key);
        let result = future.await;
        call.end(RecordedOutcome::from_result(&result));
        result
    }

    /// Begins a call, which is recorded when it [ends](Recording::end), or as cancelled when it is dropped.
    pub fn begin(&self, key: &str) -> Recording<&Self> {
        Recording::begin(self, key)
    }

    fn keeps(&self, key: &str) -> bool {
        self.share == 100 || {
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            hasher.hash_one(key) % 100 < u64::from(self.share)
        }
    }

    /// Writes the calls that wait, and closes the file.
    pub fn finish(mut self) -> RecordSummary {
        self.close().unwrap_or_default()
    }

    fn close(&mut self) -> Option<RecordSummary> {
        self.sender = None;
        self.writer.take()?.join().ok()
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        self.close();
    }
}

/// A call that is being recorded. `H` leads to the recorder: a reference or an `Arc`.
#[derive(Debug)]
#[must_use = "a recording that is dropped is recorded as cancelled"]
pub struct Recording<H: Deref<Target = CallRecorder>> {
    recorder: H,
    /// `None` if the key is not recorded, or the call has ended.
    key: Option<Box<str>>,
    began: Instant,
}

impl<H: Deref<Target = CallRecorder>> Recording<H> {
    /// [`CallRecorder::begin`] for a recording that owns its handle to the recorder.
    pub fn begin(recorder: H, key: &str) -> Self {
        let key = recorder.keeps(key).then(|| key.into());
        Self {
            recorder,
            key,
            began: Instant::now(),
        }
    }

    /// Records that the call has ended.
    pub fn end(mut self, outcome: RecordedOutcome) {
        self.write(outcome);
    }

    fn write(&mut self, outcome: RecordedOutcome) {
        let Some(key) = self.key.take() else { return };
        let recorder = &*self.recorder;
        let since = self.began.saturating_duration_since(recorder.began);
        let line = RecordedCall {
            start: recorder.began_at + since,
            took: self.began.elapsed(),
            outcome,
            key,
        };
        let sent = recorder.sender.as_ref().map(|sender| sender.try_send(line));
        if !matches!(sent, Some(Ok(()))) {
            recorder.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<H: Deref<Target = CallRecorder>> Drop for Recording<H> {
    fn drop(&mut self) {
        self.write(RecordedOutcome::Cancelled);
    }
}
