// SPDX-License-Identifier: MIT OR Apache-2.0
//! A log that is larger than memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

use super::calls::CallReader;
use super::error::{ReadError, ReadSummary};
use crate::log::LoggedCall;

/// A log that is read call by call, in the order of their start.
pub struct LogStream<R> {
    calls: CallReader<R>,
    /// Calls that were read, by their start and their number.
    window: BTreeMap<(u64, u64), LoggedCall>,
    read: u64,
    first_us: Option<u64>,
    released_us: u64,
    late: u64,
}

impl<R> fmt::Debug for LogStream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogStream")
            .field("late", &self.late)
            .finish_non_exhaustive()
    }
}

impl<R: BufRead> LogStream<R> {
    pub(super) fn new(calls: CallReader<R>) -> Self {
        Self {
            calls,
            window: BTreeMap::new(),
            read: 0,
            first_us: None,
            released_us: 0,
            late: 0,
        }
    }

    /// The number of calls by which a line may come late, as servers write a line when a call ends:
    /// 65,536.
    pub const WINDOW: usize = 1 << 16;

    /// Returns the summary of the lines that were read and skipped, once all calls are read; or the
    /// reason why reading ended.
    pub fn end(self) -> Result<ReadSummary, ReadError> {
        let (_, mut summary) = self.calls.end()?;
        summary.skipped += self.late;
        summary.late = self.late;
        Ok(summary)
    }
}

impl<R: BufRead> Iterator for LogStream<R> {
    type Item = LoggedCall;

    fn next(&mut self) -> Option<LoggedCall> {
        loop {
            while self.window.len() < Self::WINDOW {
                let Some(call) = self.calls.next() else { break };
                self.window.insert((call.start_us, self.read), call);
                self.read += 1;
            }
            let (_, mut call) = self.window.pop_first()?;
            if call.start_us < self.released_us {
                self.late += 1;
                continue;
            }
            self.released_us = call.start_us;
            let first = *self.first_us.get_or_insert(call.start_us);
            call.start_us -= first;
            return Some(call);
        }
    }
}
