//! The calls of a log, in the order of its lines.

use std::borrow::Cow;
use std::io::BufRead;

use super::columns::{Column, Unit};
use super::error::{ReadError, Skipped};
use super::line::Lines;
use super::request::Requests;
use super::{Format, Reading, csv_file, envoy, json_lines, nginx, otlp, time};
use crate::call::Call;

/// What a line says in a column.
#[derive(Clone, Debug)]
pub(super) struct Field<'l> {
    pub(super) text: Cow<'l, str>,
    /// Of a time. `None` if it is not said anywhere.
    pub(super) unit: Option<Unit>,
}

/// What a line says.
#[derive(Clone, Debug, Default)]
pub(super) struct Row<'l> {
    pub(super) fields: [Option<Field<'l>>; Column::COUNT],
}

/// A way to find the calls of a line.
enum Parser {
    Csv(Box<csv_file::Parser>),
    Json(Box<json_lines::Parser>),
    Nginx,
    Envoy,
    Otlp,
}

/// What the first line looks like.
fn format_of(first: &str) -> Format {
    let first = first.trim_start();
    let bare = first.replace(char::is_whitespace, "");
    if bare.starts_with("{\"resourceSpans\"") {
        Format::Otlp
    } else if first.starts_with('{') {
        Format::JsonLines
    } else if first.starts_with('[') {
        Format::Envoy
    } else if first.starts_with("msec=") {
        Format::Nginx
    } else {
        Format::Csv
    }
}

/// The calls of a log, in the order of its lines.
pub(super) struct Calls<R> {
    lines: Lines<R>,
    parser: Parser,
    requests: Requests,
    skipped: Skipped,
    /// Why reading ended before the end.
    error: Option<ReadError>,
    /// What times are relative to: that of the first call.
    origin: Option<i128>,
    /// Whether the unit of times may be another one than it seems.
    doubts_units: bool,
    /// Of the last line, the last one first.
    found: Vec<Call>,
}

impl<R: BufRead> Calls<R> {
    pub(super) fn new(reading: &Reading, input: R) -> Result<Self, ReadError> {
        let mut lines = Lines::new(input);
        let first = lines.peek()?.ok_or(ReadError::Empty)?;
        let format = reading.format.unwrap_or_else(|| format_of(first));
        let columns = &reading.columns;
        let parser = match format {
            Format::Csv => {
                let parser = csv_file::Parser::new(first, columns)?;
                lines.skip();
                Parser::Csv(Box::new(parser))
            }
            Format::JsonLines => Parser::Json(Box::new(json_lines::Parser::new(columns))),
            Format::Nginx => Parser::Nginx,
            Format::Envoy => Parser::Envoy,
            Format::Otlp => Parser::Otlp,
        };
        Ok(Self {
            lines,
            parser,
            requests: Requests::new(reading.one_key),
            skipped: Skipped::default(),
            error: None,
            origin: None,
            doubts_units: !columns.is_unit_given(),
            found: Vec::new(),
        })
    }

    /// The names of the keys, and what was skipped.
    pub(super) fn end(mut self) -> Result<(Vec<Box<str>>, Skipped), ReadError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let are_all_skipped = self.origin.is_none() && self.skipped.count == self.skipped.lines;
        self.skipped.guesses = match self.parser {
            Parser::Json(parser) => {
                parser.check(are_all_skipped)?;
                parser.guesses()
            }
            Parser::Csv(parser) => parser.guesses,
            _ => Vec::new(),
        };
        if are_all_skipped {
            return Err(ReadError::NoCall(Box::new(self.skipped)));
        }
        Ok((self.requests.into_keys(), self.skipped))
    }
}

impl<R: BufRead> Iterator for Calls<R> {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
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
            self.skipped.lines += 1;
            let mut taken = Taken {
                origin: &mut self.origin,
                requests: &mut self.requests,
                skipped: &mut self.skipped,
                found: &mut self.found,
                doubts_units: self.doubts_units,
            };
            let read = line.map_err(|why| Wrong::Line(why.into()));
            match read.and_then(|line| taken.line(&mut self.parser, line)) {
                Ok(()) => {}
                Err(Wrong::Line(why)) => self.skipped.add(number, why),
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
    skipped: &'t mut Skipped,
    found: &'t mut Vec<Call>,
    doubts_units: bool,
}

impl Taken<'_> {
    fn line(&mut self, parser: &mut Parser, line: &str) -> Result<(), Wrong> {
        match parser {
            Parser::Csv(parser) => self.row(&parser.row(line))?,
            Parser::Json(parser) => self.row(&parser.row(line)?)?,
            Parser::Envoy => self.call(envoy::call(line)?)?,
            Parser::Nginx => nginx::calls(line)?
                .into_iter()
                .try_for_each(|call| self.call(call))?,
            Parser::Otlp => {
                // A span that is wrong takes none of its batch with it.
                let taken = otlp::calls(line)?.into_iter().map(|span| self.call(span?));
                let (_, wrong): (Vec<_>, Vec<_>) = taken.partition(Result::is_ok);
                wrong.into_iter().collect::<Result<(), String>>()?;
            }
        }
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), Wrong> {
        let logged = time::logged(row, &mut self.skipped.failures)?;
        if self.doubts_units && self.origin.is_none() {
            match time::doubt(row) {
                Some((doubt, false)) => return Err(Wrong::Log(ReadError::Unit(doubt))),
                Some((doubt, true)) => self.skipped.unit = Some(doubt),
                None => {}
            }
        }
        Ok(self.call(logged)?)
    }

    fn call(&mut self, logged: time::Logged<'_>) -> Result<(), String> {
        self.found
            .push(time::call(logged, self.origin, self.requests)?);
        Ok(())
    }
}
