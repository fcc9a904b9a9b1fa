//! The calls of a log, in the order of its lines.

use std::borrow::Cow;
use std::io::{self, BufRead};

use super::columns::{Column, Columns};
use super::error::{ReadError, Skipped};
use super::line::Lines;
use super::request::Requests;
use super::{Format, Reading, csv_file, envoy, json_lines, nginx, otlp, time};
use crate::call::Call;

/// What a line says.
#[derive(Clone, Debug, Default)]
pub(super) struct Row<'l> {
    pub(super) fields: [Option<Cow<'l, str>>; Column::COUNT],
}

/// A way to find the calls of a line.
enum Parser {
    Csv(Box<csv_file::Parser>),
    Json(json_lines::Parser),
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
    columns: Columns,
    skipped: Skipped,
    error: Option<io::Error>,
    /// What times are relative to: that of the first call.
    origin: Option<i128>,
    /// Of the last line, the last one first.
    found: Vec<Call>,
}

impl<R: BufRead> Calls<R> {
    pub(super) fn new(reading: &Reading, input: R) -> Result<Self, ReadError> {
        let mut lines = Lines::new(input);
        let first = lines.peek()?.ok_or(ReadError::Empty)?;
        let format = reading.format.unwrap_or_else(|| format_of(first));
        let mut columns = reading.columns.clone();
        let parser = match format {
            Format::Csv => {
                let parser = csv_file::Parser::new(first, &mut columns)?;
                lines.skip();
                Parser::Csv(Box::new(parser))
            }
            Format::JsonLines => Parser::Json(json_lines::Parser::new(first, &mut columns)?),
            Format::Nginx => Parser::Nginx,
            Format::Envoy => Parser::Envoy,
            Format::Otlp => Parser::Otlp,
        };
        Ok(Self {
            lines,
            parser,
            requests: Requests::new(reading.one_key),
            columns,
            skipped: Skipped::default(),
            error: None,
            origin: None,
            found: Vec::new(),
        })
    }

    /// The names of the keys, and what was skipped.
    pub(super) fn end(self) -> Result<(Vec<Box<str>>, Skipped), ReadError> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        if self.skipped.count == self.skipped.lines {
            return Err(ReadError::NoCall(self.skipped));
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
                    self.error = Some(error);
                    return None;
                }
            };
            self.skipped.lines += 1;
            let (origin, requests) = (&mut self.origin, &mut self.requests);
            let words = &mut self.skipped.failures;
            let mut one = |logged: time::Logged<'_>| {
                let call = time::call(logged, origin, requests)?;
                self.found.push(call);
                Ok(())
            };
            let read = line
                .map_err(str::to_owned)
                .and_then(|line| match &mut self.parser {
                    Parser::Csv(parser) => {
                        one(time::logged(&parser.row(line), &self.columns, words)?)
                    }
                    Parser::Json(parser) => {
                        one(time::logged(&parser.row(line)?, &self.columns, words)?)
                    }
                    Parser::Envoy => one(envoy::call(line)?),
                    Parser::Nginx => nginx::calls(line)?.into_iter().try_for_each(one),
                    Parser::Otlp => otlp::calls(line)?.into_iter().try_for_each(one),
                });
            if let Err(why) = read {
                self.skipped.add(number, why);
            }
            self.found.reverse();
        }
    }
}
