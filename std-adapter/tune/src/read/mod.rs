//! Logs of calls, from a file.

mod calls;
mod columns;
mod csv_file;
mod envoy;
mod error;
mod json_lines;
mod line;
mod nginx;
mod otlp;
mod request;
mod stream;
mod time;

pub use columns::{Column, Unit};
pub use error::{OtherUnit, ReadError, Skipped, Words};
pub use stream::Stream;

use std::io::BufRead;

use crate::log::Log;
use calls::Calls;
use columns::Columns;

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values, whose first line names the columns.
    Csv,
    /// An object of JSON per line.
    JsonLines,
    /// An access log of nginx, written with this format. Each upstream of a request is a call, and its key the upstream's
    /// address. A group without live upstreams has rejected a call; a call without a status was left by its caller.
    ///
    /// ```text
    /// log_format breaker 'msec=$msec request_time=$request_time upstream=$upstream_addr '
    ///                    'status=$upstream_status time=$upstream_response_time';
    /// ```
    Nginx,
    /// An access log of Envoy in its default format. The key is the upstream's address, or without one the authority; flags
    /// of the response decide before its status: `UO`, `UH`, `OM` and `DO` reject a call.
    Envoy,
    /// Spans of OpenTelemetry in the JSON of its protocol, a batch per line, as the collector's file exporter writes them.
    /// Those of kind client are calls; the key is `server.address`, `peer.service`, `net.peer.name` or `rpc.service`.
    Otlp,
}

/// How a log is read.
///
/// ```
/// use atomic_breaker_tune::{Met, Reading};
///
/// let file = "start_ms,duration_ms,outcome,key\n0,12.5,ok,a.example\n10,250,timeout,b.example\n";
/// let read = Reading::new().read(file.as_bytes())?;
/// assert_eq!(read.log.calls()[1].ending().met, Met::Failure);
/// assert_eq!(read.log.keys()[1].as_ref(), "b.example");
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
/// [`unit`](Self::unit) says otherwise. If nothing says the unit of a start that would be Unix time of this century in
/// another one, the log is [refused](ReadError::Unit).
///
/// # Outcomes
///
/// | outcome | counts as |
/// |---|---|
/// | `ok`, `success`, `true`, statuses 100 to 399, and 400 to 498 but for 408 and 429 | success: the resource has answered |
/// | 408, statuses 500 to 599 | failure |
/// | `ignored`, `cancelled`, `canceled`, 499: the caller has left; 429: its quota is used up | nothing that is known of the resource |
/// | `rejected` | a breaker rejected it: it would have met what its neighbour met |
/// | any other word, such as `failed`, `timeout`, `refused` | failure; [`Skipped::failures`] lists them |
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Reading {
    format: Option<Format>,
    columns: Columns,
    one_key: bool,
}

impl Reading {
    /// The format is that of the first line, and columns have their usual names.
    pub fn new() -> Self {
        Self::default()
    }

    /// The format, rather than what the first line looks like.
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// The name of a column.
    pub fn column(mut self, column: Column, name: impl Into<String>) -> Self {
        self.columns.set(column, name.into());
        self
    }

    /// The unit of times in columns whose names do not say it.
    pub fn unit(mut self, unit: Unit) -> Self {
        self.columns.unit = Some(unit);
        self
    }

    /// The unit of starts that are numbers, whatever the name of their column says.
    pub fn start_unit(mut self, unit: Unit) -> Self {
        self.columns.start_unit = Some(unit);
        self
    }

    /// All calls have the same key.
    pub fn one_key(mut self) -> Self {
        self.one_key = true;
        self
    }

    /// Reads a whole log, whatever the order of its lines.
    pub fn read(&self, input: impl BufRead) -> Result<ReadLog, ReadError> {
        let mut stream = Calls::new(self, input)?;
        let mut calls = Vec::new();
        for call in &mut stream {
            if calls.len() == u32::MAX as usize {
                return Err(ReadError::TooLong);
            }
            calls.push(call);
        }
        let (keys, skipped) = stream.end()?;
        Ok(ReadLog {
            log: Log::new(calls, keys),
            skipped,
        })
    }

    /// Reads a log call by call, for a log larger than memory. Lines may be out of order by as much as
    /// [`Stream::WINDOW`] calls; one that comes later is skipped, and counted.
    pub fn stream<R: BufRead>(&self, input: R) -> Result<Stream<R>, ReadError> {
        Ok(Stream::new(Calls::new(self, input)?))
    }
}

/// A log that was read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadLog {
    /// Its calls.
    pub log: Log,
    /// The lines that are not in it.
    pub skipped: Skipped,
}
