// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of bounded length, from a file that may be anything.

use std::io::{self, BufRead, Read};

/// A longer line is skipped without being kept.
const LONGEST: u64 = 1 << 24;

pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    /// `true` if the line was looked at and is still to come.
    is_peeked: bool,
    is_too_long: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
            is_peeked: false,
            is_too_long: false,
        }
    }

    /// Reads the next line that is not empty, whether it is text or not.
    fn advance(&mut self) -> io::Result<bool> {
        loop {
            self.line.clear();
            let mut line = self.input.by_ref().take(LONGEST);
            if line.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(false);
            }
            self.number += 1;
            let has_end = self.line.pop_if(|last| *last == b'\n').is_some();
            self.is_too_long = !has_end && self.input.skip_until(b'\n')? > 0;
            if self.is_too_long || !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// The first line, which is then still to come.
    pub(super) fn peek(&mut self) -> io::Result<Option<&str>> {
        self.is_peeked = self.advance()?;
        let text = str::from_utf8(&self.line).unwrap_or_default();
        // Some editors write a byte order mark.
        Ok(self.is_peeked.then(|| text.trim_start_matches('\u{feff}')))
    }

    /// The line that was looked at is not a call.
    pub(super) fn skip(&mut self) {
        self.is_peeked = false;
    }

    /// The next line with its number, or why it cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Result<&str, &'static str>)>> {
        if !std::mem::take(&mut self.is_peeked) && !self.advance()? {
            return Ok(None);
        }
        let text = if self.is_too_long {
            Err("is longer than 16 MiB")
        } else {
            str::from_utf8(&self.line).map_err(|_| "is not UTF-8")
        };
        Ok(Some((self.number, text)))
    }
}
