// SPDX-License-Identifier: MIT OR Apache-2.0
//! The progress of the search, and Ctrl-C, which ends it with the best so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

/// The second Ctrl-C ends the program, with what shells call an interrupt.
const INTERRUPTED: i32 = 130;

pub(crate) struct Progress {
    /// Drawn on standard error, and only if that is a terminal.
    bar: ProgressBar,
    is_stopped: Arc<AtomicBool>,
}

impl Progress {
    pub(crate) fn new(tries: usize) -> Self {
        let bar = ProgressBar::new(tries as u64);
        if let Ok(style) = ProgressStyle::with_template(
            "{bar:40} {pos} of {len} settings, {eta} left; Ctrl-C for the best so far",
        ) {
            bar.set_style(style);
        }
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopped);
        // Without a handler Ctrl-C ends the program, as it does elsewhere.
        let _ = ctrlc::set_handler(move || {
            if stop.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
        });
        Self { bar, is_stopped }
    }

    /// Shows how many settings have been tried. Returns whether to try more.
    pub(crate) fn goes_on(&self, done: usize) -> bool {
        self.bar.set_position(done as u64);
        !self.is_stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Runs a closure on so many threads; 0 for one per core.
pub(crate) fn in_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(run),
        Err(_) => run(),
    }
}
