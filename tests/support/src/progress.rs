// SPDX-License-Identifier: MIT OR Apache-2.0
//! The progress that is shown while a scene is played.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line that is redrawn on a terminal; elsewhere each update is a new line.
pub struct Progress {
    is_terminal: bool,
    last: Instant,
}

impl Progress {
    #[expect(clippy::new_without_default, reason = "it looks at the terminal")]
    pub fn new() -> Self {
        Self {
            is_terminal: io::stdout().is_terminal(),
            last: Instant::now(),
        }
    }

    /// Returns whether it is time for the next line.
    pub fn is_due(&mut self) -> bool {
        let interval = if self.is_terminal { 100 } else { 500 };
        let is_due = self.last.elapsed() >= Duration::from_millis(interval);
        if is_due {
            self.last = Instant::now();
        }
        is_due
    }

    pub fn show(&self, line: &str) -> io::Result<()> {
        let mut output = io::stdout();
        if self.is_terminal {
            write!(output, "\r{line}")?;
            output.flush()
        } else {
            writeln!(output, "{line}")
        }
    }

    pub fn end(&self) -> io::Result<()> {
        if self.is_terminal { say("") } else { Ok(()) }
    }
}

/// `println!` without its panic, for readers that go away in the middle, as `head` does.
pub fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
