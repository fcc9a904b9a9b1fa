// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reader of a log.

use std::io::BufRead;

use super::calls::CallReader;
use super::columns::{Column, TimeUnit};
use super::error::{ReadError, ReadSummary};
use super::format::LogFormat;
use super::named::Columns;
use super::stream::LogStream;
use crate::log::CallLog;

/// Reads logs.
///
/// ```
/// use atomic_breaker_tune::{Failure, LogReader};
///
/// let file = "start_ms,duration_ms,outcome,key\n0,12.5,ok,a.example\n10,250,timeout,b.example\n";
/// let read = LogReader::new().read(file.as_bytes())?;
/// assert_eq!(read.log.calls()[1].completion().outcome, Failure::new().into());
/// assert_eq!(read.log.keys()[1].as_ref(), "b.example");
///
/// // Lines that are no calls are skipped. If most of them are, the rest may not be what it seems.
/// assert!(!read.summary.is_mostly_skipped(), "{:?}", read.summary.first);
/// # Ok::<(), atomic_breaker_tune::ReadError>(())
/// ```
///
/// # Columns
///
/// Fields of JSON are named in the same way, `request.start_ms` within an object. Each line of JSON may have others; a column
/// that was [named](Self::column) must be in one of them.
///
/// | column | what | unless named |
/// |---|---|---|
/// | start | when the call began: a number since any moment, or a time by RFC 3339 | `start_ms`, `start_s`, `start_us`, `start_ns`, `start`, `timestamp`, `time` |
/// | duration | how long it took | `duration_ms`, `duration_s`, `duration_us`, `duration_ns`, `duration` |
/// | outcome | a word, or a status of HTTP | `outcome`, `status` |
/// | key | what was called; optional | `key`, `host` |
/// | `retry_after` | how long its resource asks to be left alone; optional | `retry_after_ms`, `retry_after_s` |
/// | attempt | which try of a request it is, counted from 1; optional | `attempt` |
/// | request | a name that the tries of a request share; optional | `request`, `request_id` |
///
/// The end of a column's name says its unit: `_s`, `_ms`, `_us` or `_ns`. Without one it is milliseconds, unless
/// [`unit`](Self::unit) says otherwise, or it is one of nginx or Caddy, in seconds: `msec`, `request_time`,
/// `upstream_response_time`, `ts`, and a `duration` beside `ts`. A start that is named `msec`, `time_iso8601` or `ts` is when the
/// call ended. If nothing says the unit of a start that would be Unix time of this century in
/// another one, the log is [refused](ReadError::Unit), and so is one whose starts have [several units](ReadError::Mixed).
///
/// # Outcomes
///
/// | outcome | counts as |
/// |---|---|
/// | `ok`, `success`, `true`, statuses 100 to 399, and 400 to 498 but for 408 and 429; 501, 505, 507 | success: the resource has answered |
/// | 408, the other statuses from 500 to 599; 0 (also 000) and -1, which stand for no answer | failure |
/// | `cancelled`, `canceled`, 499: the caller has left | what a breaker makes of a permit that is dropped; after 250 ms or more the call has hung, and is wasted |
/// | `ignored`; 429: the caller's quota is used up; 511: a network wants a login first | nothing that is known of the resource |
/// | `rejected` | a breaker rejected it: it would have ended as its neighbour did |
/// | any other word, such as `failed`, `timeout`, `refused` | failure; [`ReadSummary::failures`] lists them |
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LogReader {
    format: Option<LogFormat>,
    columns: Columns,
    one_key: bool,
}

impl LogReader {
    /// A reader that takes the format from the first line, and expects the usual names of columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the format, rather than taking it from the first line.
    pub fn format(mut self, format: LogFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the name of a column.
    pub fn column(mut self, column: Column, name: impl Into<String>) -> Self {
        self.columns.given[column as usize] = Some(name.into());
        self
    }

    /// Sets the unit of times in columns whose names do not say it: milliseconds unless set.
    pub fn unit(mut self, unit: TimeUnit) -> Self {
        self.columns.unit = Some(unit);
        self
    }

    /// Sets the unit of starts that are numbers, whatever the name of their column says.
    pub fn start_unit(mut self, unit: TimeUnit) -> Self {
        self.columns.start_unit = Some(unit);
        self
    }

    /// Gives all calls the same key.
    pub fn one_key(mut self) -> Self {
        self.one_key = true;
        self
    }

    /// Reads a whole log, whatever the order of its lines.
    pub fn read(&self, input: impl BufRead) -> Result<ReadLog, ReadError> {
        let mut stream = self.calls(input)?;
        let calls = stream.by_ref().collect();
        let (keys, summary) = stream.end()?;
        Ok(ReadLog {
            log: CallLog::new(calls, keys),
            summary,
        })
    }

    /// Reads a log call by call, for a log larger than memory. Lines may be out of order by as much as
    /// [`LogStream::WINDOW`] calls; a call that comes later is skipped, and counted.
    pub fn stream<R: BufRead>(&self, input: R) -> Result<LogStream<R>, ReadError> {
        Ok(LogStream::new(self.calls(input)?))
    }

    fn calls<R: BufRead>(&self, input: R) -> Result<CallReader<R>, ReadError> {
        CallReader::new(self.format, &self.columns, self.one_key, input)
    }
}

/// A log that was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadLog {
    /// The calls.
    pub log: CallLog,
    /// The lines that were read, and those that were skipped.
    pub summary: ReadSummary,
}
