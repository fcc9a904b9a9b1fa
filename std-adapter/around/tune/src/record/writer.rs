// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that writes the file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::outcome::RecordedOutcome;

/// A call that has ended.
#[derive(Debug)]
pub(super) struct RecordedCall {
    /// The time since 1970.
    pub(super) start: Duration,
    pub(super) took: Duration,
    pub(super) outcome: RecordedOutcome,
    pub(super) key: Box<str>,
}

/// The summary of a recorder.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RecordSummary {
    /// The number of calls that are in the file.
    pub written: u64,
    /// The number of calls that are not: the queue or the file was full, or the disk failed.
    pub dropped: u64,
    /// The error that ended the file, if one did.
    pub error: Option<io::Error>,
}

pub(super) struct Writer {
    file: BufWriter<File>,
    left: u64,
    dropped: Arc<AtomicU64>,
    written: u64,
    error: Option<io::Error>,
}

/// The longest time until a written line reaches the file.
const FLUSH: Duration = Duration::from_secs(1);
/// The longest key that is recorded, in bytes.
const KEY_BYTES: usize = 1_024;

impl Writer {
    pub(super) fn create(path: &Path, max_bytes: u64, dropped: Arc<AtomicU64>) -> io::Result<Self> {
        let file = File::create_new(path).map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    "a log is never overwritten, name a new file for each start"
                }
                _ => "the log cannot be created",
            };
            io::Error::new(error.kind(), format!("{}: {what}: {error}", path.display()))
        })?;
        let mut file = BufWriter::new(file);
        let heading = b"start_ms,duration_ms,outcome,key\n";
        file.write_all(heading)?;
        Ok(Self {
            file,
            left: max_bytes.saturating_sub(heading.len() as u64),
            dropped,
            written: 0,
            error: None,
        })
    }

    pub(super) fn run(mut self, lines: &Receiver<RecordedCall>) -> RecordSummary {
        let mut is_flushed = true;
        let mut flushed = std::time::Instant::now();
        loop {
            match lines.recv_timeout(FLUSH) {
                Ok(line) => {
                    self.write(&line);
                    is_flushed = false;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !is_flushed && flushed.elapsed() >= FLUSH {
                self.note(|file| file.flush());
                (is_flushed, flushed) = (true, std::time::Instant::now());
            }
        }
        self.note(|file| file.flush());
        RecordSummary {
            written: self.written,
            dropped: self.dropped.load(Ordering::Relaxed),
            error: self.error,
        }
    }

    fn note(&mut self, act: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> bool {
        if self.error.is_some() {
            return false;
        }
        self.error = act(&mut self.file).err();
        self.error.is_none()
    }

    fn write(&mut self, line: &RecordedCall) {
        let text = text(line);
        let fits = line.key.len() <= KEY_BYTES && text.len() as u64 <= self.left;
        if fits && self.note(|file| file.write_all(text.as_bytes())) {
            self.left -= text.len() as u64;
            self.written += 1;
        } else {
            // A shorter line may still fit, but a log with holes is worth less than one that ends.
            if line.key.len() <= KEY_BYTES {
                self.left = 0;
            }
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn text(line: &RecordedCall) -> String {
    let ms = |time: Duration| format!("{}.{:03}", time.as_millis(), time.as_micros() % 1_000);
    let key: String = line
        .key
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
    let key = if key.contains(['"', ',']) {
        format!("\"{}\"", key.replace('"', "\"\""))
    } else {
        key
    };
    let (start, took) = (ms(line.start), ms(line.took));
    format!("{start},{took},{},{key}\n", line.outcome.word())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn a_full_disk_ends_the_file_and_is_reported() {
        let (sender, lines) = sync_channel(10_000);
        for _ in 0..10_000 {
            let line = RecordedCall {
                start: Duration::ZERO,
                took: Duration::ZERO,
                outcome: RecordedOutcome::Ok,
                key: "key".into(),
            };
            sender.send(line).unwrap();
        }
        drop(sender);
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let writer = Writer {
            file: BufWriter::new(full),
            left: u64::MAX,
            dropped: Arc::default(),
            written: 0,
            error: None,
        };
        let summary = writer.run(&lines);
        assert_eq!(summary.error.unwrap().kind(), io::ErrorKind::StorageFull);
        // Calls in the buffer had been taken for written.
        assert_eq!(summary.written + summary.dropped, 10_000);
        assert!(summary.dropped > 9_000);
    }
}
