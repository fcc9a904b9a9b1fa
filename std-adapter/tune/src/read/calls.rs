//! The calls of a log, in the order of its lines.

use std::borrow::Cow;
use std::io::{self, BufRead};

use super::columns::{Column, Columns};
use super::error::{ReadError, Skipped};
use super::line::Lines;
use super::request::Requests;
use super::{Format, Reading, csv_file, json_lines, time};
use crate::call::Call;

/// What a line says.
#[derive(Clone, Debug, Default)]
pub(super) struct Row<'l> {
    pub(super) fields: [Option<Cow<'l, str>>; Column::COUNT],
}

/// A way to find the fields of a line.
enum Parser {
    Csv(Box<csv_file::Parser>),
    Json(json_lines::Parser),
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
}

impl<R: BufRead> Calls<R> {
    pub(super) fn new(reading: &Reading, input: R) -> Result<Self, ReadError> {
        let mut lines = Lines::new(input);
        let first = lines.peek()?.ok_or(ReadError::Empty)?;
        let format = reading.format.unwrap_or({
            if first.trim_start().starts_with('{') {
                Format::JsonLines
            } else {
                Format::Csv
            }
        });
        let mut columns = reading.columns.clone();
        let parser = match format {
            Format::Csv => {
                let parser = csv_file::Parser::new(first, &mut columns)?;
                lines.skip();
                Parser::Csv(Box::new(parser))
            }
            Format::JsonLines => Parser::Json(json_lines::Parser::new(first, &mut columns)?),
        };
        Ok(Self {
            lines,
            parser,
            requests: Requests::new(reading.one_key),
            columns,
            skipped: Skipped::default(),
            error: None,
            origin: None,
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
            let (number, line) = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => {
                    self.error = Some(error);
                    return None;
                }
            };
            self.skipped.lines += 1;
            let call = line
                .map_err(str::to_owned)
                .and_then(|line| match &mut self.parser {
                    Parser::Csv(parser) => Ok(parser.row(line)),
                    Parser::Json(parser) => parser.row(line),
                })
                .and_then(|row| {
                    let requests = &mut self.requests;
                    time::call(&row, &self.columns, &mut self.origin, requests)
                });
            match call {
                Ok(call) => return Some(call),
                Err(why) => self.skipped.add(number, why),
            }
        }
    }
}
