// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls of a log, in the order of its lines.

use std::io::BufRead;

use super::columns::{Column, TimeUnit};
use super::csv_file::CsvParser;
use super::error::{ReadError, ReadSummary};
use super::format::LogFormat;
use super::json_lines::JsonParser;
use super::line::Lines;
use super::logged::{LineFields, Logged, doubt, mixed};
use super::named::Columns;
use super::request::Requests;
use super::{envoy, nginx, otlp, traefik};
use crate::log::LoggedCall;

/// A way to find the calls of a line.
enum LineParser {
    Csv(Box<CsvParser>),
    Json(Box<JsonParser>),
    Nginx,
    Envoy,
    Traefik(Box<Columns>),
    Otlp,
}

/// The calls of a log, in the order of its lines.
pub(super) struct CallReader<R> {
    lines: Lines<R>,
    parser: LineParser,
    found: Found,
    /// The reason why reading ended before the end.
    error: Option<ReadError>,
}

impl<R: BufRead> CallReader<R> {
    /// Without a format, the first line tells it.
    pub(super) fn new(
        format: Option<LogFormat>,
        columns: &Columns,
        one_key: bool,
        input: R,
    ) -> Result<Self, ReadError> {
        let mut lines = Lines::new(input);
        let first = lines.peek()?.ok_or(ReadError::Empty)?;
        let parser = match format.unwrap_or_else(|| LogFormat::of_line(first)) {
            LogFormat::Csv => {
                let parser = CsvParser::new(first, columns)?;
                lines.skip();
                LineParser::Csv(Box::new(parser))
            }
            LogFormat::JsonLines => LineParser::Json(Box::new(JsonParser::new(columns))),
            LogFormat::Nginx => LineParser::Nginx,
            LogFormat::Envoy => LineParser::Envoy,
            LogFormat::Traefik => LineParser::Traefik(Box::new(columns.clone())),
            LogFormat::Otlp => LineParser::Otlp,
        };
        Ok(Self {
            lines,
            parser,
            found: Found {
                calls: Vec::new(),
                requests: Requests::new(one_key),
                summary: ReadSummary {
                    ends: columns.end().map(str::to_owned),
                    ..ReadSummary::default()
                },
                doubts_units: columns.unit.or(columns.start_unit).is_none(),
                first_unit: None,
            },
            error: None,
        })
    }

    /// The names of the keys, and what was read.
    pub(super) fn end(self) -> Result<(Vec<Box<str>>, ReadSummary), ReadError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let (requests, mut summary) = (self.found.requests, self.found.summary);
        let are_all_skipped = requests.origin.is_none() && summary.skipped == summary.lines;
        summary.guesses = match self.parser {
            LineParser::Json(parser) => {
                parser.check(are_all_skipped)?;
                parser.guesses()
            }
            LineParser::Csv(parser) => parser.guesses,
            _ => Vec::new(),
        };
        if are_all_skipped {
            return Err(ReadError::NoCall(Box::new(summary)));
        }
        Ok((requests.into_keys(), summary))
    }
}

impl<R: BufRead> Iterator for CallReader<R> {
    type Item = LoggedCall;

    fn next(&mut self) -> Option<LoggedCall> {
        loop {
            if let Some(call) = self.found.calls.pop() {
                return Some(call);
            }
            let (number, line) = match self.lines.next() {
                Ok(next) => next?,
                Err(error) => {
                    self.error = Some(error.into());
                    return None;
                }
            };
            self.found.summary.lines += 1;
            let read = line.map_err(|why| Wrong::Line(why.into()));
            match read.and_then(|line| self.found.line(&mut self.parser, line)) {
                Ok(()) => {}
                Err(Wrong::Line(why)) => self.found.summary.add(number, why),
                Err(Wrong::Log(error)) => {
                    self.error = Some(error);
                    return None;
                }
            }
            self.found.calls.reverse();
        }
    }
}

/// The reason why a line cannot be read, or the log.
enum Wrong {
    Line(String),
    Log(ReadError),
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Self::Line(why)
    }
}

/// The values that were found in the lines so far.
struct Found {
    /// The calls of the last line, the last one first.
    calls: Vec<LoggedCall>,
    requests: Requests,
    summary: ReadSummary,
    /// `true` if the unit of times may be another one than it seems.
    doubts_units: bool,
    /// The unit in which the first start is Unix time.
    first_unit: Option<TimeUnit>,
}

/// Starts that are further apart may have different units.
const YEAR_NS: u128 = 366 * 86_400 * 1_000_000_000;

impl Found {
    fn line(&mut self, parser: &mut LineParser, line: &str) -> Result<(), Wrong> {
        match parser {
            LineParser::Csv(parser) => self.row(&parser.row(line))?,
            LineParser::Json(parser) => self.row(&parser.row(line)?)?,
            LineParser::Envoy => self.call(envoy::call(line)?)?,
            LineParser::Traefik(columns) => {
                if let Some(call) = traefik::call(line, columns)? {
                    self.call(call)?;
                }
            }
            LineParser::Nginx => nginx::calls(line)?
                .into_iter()
                .try_for_each(|call| self.call(call))?,
            LineParser::Otlp => {
                // A span that is wrong takes none of its batch with it.
                let taken = otlp::calls(line)?.into_iter().map(|span| self.call(span?));
                let (_, wrong): (Vec<_>, Vec<_>) = taken.partition(Result::is_ok);
                wrong.into_iter().collect::<Result<(), String>>()?;
            }
        }
        Ok(())
    }

    fn row(&mut self, row: &LineFields<'_>) -> Result<(), Wrong> {
        let is_end = self.summary.ends.is_some();
        let logged = Logged::of(row, is_end, &mut self.summary.failures)?;
        if self.doubts_units && self.requests.origin.is_none() {
            match doubt(row) {
                Some((doubt, false)) => return Err(Wrong::Log(ReadError::Unit(doubt))),
                Some((doubt, true)) => self.summary.unit = Some(doubt),
                None => {}
            }
        }
        match self.requests.origin {
            None => {
                let start = row[Column::Start as usize].as_ref();
                self.first_unit = start.and_then(|start| TimeUnit::of_now(&start.text));
            }
            Some(first) if logged.began.abs_diff(first) > YEAR_NS => {
                if let Some(error) = mixed(row, self.first_unit) {
                    return Err(Wrong::Log(error));
                }
            }
            Some(_) => {}
        }
        Ok(self.call(logged)?)
    }

    fn call(&mut self, logged: Logged<'_>) -> Result<(), String> {
        self.calls.push(logged.call(&mut self.requests)?);
        Ok(())
    }
}
