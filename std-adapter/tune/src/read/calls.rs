//! The calls of a log, in the order of its lines.

use std::io::BufRead;

use super::csv_file::CsvParser;
use super::error::{ReadError, ReadSummary};
use super::format::LogFormat;
use super::json_lines::JsonParser;
use super::line::Lines;
use super::logged::{LineFields, Logged, doubt};
use super::named::Columns;
use super::request::Requests;
use super::{envoy, nginx, otlp};
use crate::log::LoggedCall;

/// A way to find the calls of a line.
enum LineParser {
    Csv(Box<CsvParser>),
    Json(Box<JsonParser>),
    Nginx,
    Envoy,
    Otlp,
}

/// The calls of a log, in the order of its lines.
pub(super) struct CallReader<R> {
    lines: Lines<R>,
    parser: LineParser,
    requests: Requests,
    summary: ReadSummary,
    /// Why reading ended before the end.
    error: Option<ReadError>,
    /// The time of the first call, to which others are relative.
    origin: Option<i128>,
    /// Whether the unit of times may be another one than it seems.
    doubts_units: bool,
    /// The calls of the last line, the last one first.
    found: Vec<LoggedCall>,
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
            LogFormat::Otlp => LineParser::Otlp,
        };
        Ok(Self {
            lines,
            parser,
            requests: Requests::new(one_key),
            summary: ReadSummary::default(),
            error: None,
            origin: None,
            doubts_units: !columns.is_unit_given(),
            found: Vec::new(),
        })
    }

    /// The names of the keys, and what was read.
    pub(super) fn end(mut self) -> Result<(Vec<Box<str>>, ReadSummary), ReadError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let are_all_skipped = self.origin.is_none() && self.summary.skipped == self.summary.lines;
        self.summary.guesses = match self.parser {
            LineParser::Json(parser) => {
                parser.check(are_all_skipped)?;
                parser.guesses()
            }
            LineParser::Csv(parser) => parser.guesses,
            _ => Vec::new(),
        };
        if are_all_skipped {
            return Err(ReadError::NoCall(Box::new(self.summary)));
        }
        Ok((self.requests.into_keys(), self.summary))
    }
}

impl<R: BufRead> Iterator for CallReader<R> {
    type Item = LoggedCall;

    fn next(&mut self) -> Option<LoggedCall> {
        loop {
            if let Some(call) = self.found.pop() {
                return Some(call);
            }
            let (number, line) = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => {
                    self.error = Some(error.into());
                    return None;
                }
            };
            self.summary.lines += 1;
            let mut taken = Taken {
                origin: &mut self.origin,
                requests: &mut self.requests,
                summary: &mut self.summary,
                found: &mut self.found,
                doubts_units: self.doubts_units,
            };
            let read = line.map_err(|why| Wrong::Line(why.into()));
            match read.and_then(|line| taken.line(&mut self.parser, line)) {
                Ok(()) => {}
                Err(Wrong::Line(why)) => self.summary.add(number, why),
                Err(Wrong::Log(error)) => {
                    self.error = Some(error);
                    return None;
                }
            }
            self.found.reverse();
        }
    }
}

/// Why a line is no call, or why no line is.
enum Wrong {
    Line(String),
    Log(ReadError),
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Self::Line(why)
    }
}

/// What a line adds to.
struct Taken<'t> {
    origin: &'t mut Option<i128>,
    requests: &'t mut Requests,
    summary: &'t mut ReadSummary,
    found: &'t mut Vec<LoggedCall>,
    doubts_units: bool,
}

impl Taken<'_> {
    fn line(&mut self, parser: &mut LineParser, line: &str) -> Result<(), Wrong> {
        match parser {
            LineParser::Csv(parser) => self.row(&parser.row(line))?,
            LineParser::Json(parser) => self.row(&parser.row(line)?)?,
            LineParser::Envoy => self.call(envoy::call(line)?)?,
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
        let logged = Logged::of(row, &mut self.summary.failures)?;
        if self.doubts_units && self.origin.is_none() {
            match doubt(row) {
                Some((doubt, false)) => return Err(Wrong::Log(ReadError::Unit(doubt))),
                Some((doubt, true)) => self.summary.unit = Some(doubt),
                None => {}
            }
        }
        Ok(self.call(logged)?)
    }

    fn call(&mut self, logged: Logged<'_>) -> Result<(), String> {
        self.found.push(logged.call(self.origin, self.requests)?);
        Ok(())
    }
}
