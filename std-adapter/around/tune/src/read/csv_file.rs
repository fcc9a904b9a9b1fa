// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comma-separated values.

use std::borrow::Cow;

use csv_core::Reader;

use super::columns::{Column, TimeUnit};
use super::error::ReadError;
use super::logged::{FieldText, LineFields};
use super::named::Columns;

pub(super) struct CsvParser {
    /// The place of each column, and its unit.
    places: [Option<(usize, Option<TimeUnit>)>; Column::COUNT],
    pub(super) guesses: Vec<(Column, String)>,
    fields: Fields,
}

/// The fields of one line. Values within quotes may contain commas, but no line ends.
struct Fields {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

impl Fields {
    fn new() -> Self {
        Self {
            reader: Reader::new(),
            text: Vec::new(),
            ends: Vec::new(),
            count: 0,
        }
    }

    fn split(&mut self, line: &str) {
        // Space for as many bytes and fields as the line can have.
        self.text.resize(self.text.len().max(line.len()), 0);
        let most = line.bytes().filter(|byte| *byte == b',').count() + 1;
        self.ends.resize(self.ends.len().max(most), 0);
        self.reader.reset();
        let (_, _, written, ended) =
            self.reader
                .read_record(line.as_bytes(), &mut self.text, &mut self.ends);
        self.count = ended;
        // The empty input that follows says that the line is over.
        let (text, ends) = (&mut self.text[written..], &mut self.ends[ended..]);
        let (_, _, _, ended) = self.reader.read_record(b"", text, ends);
        self.count += ended;
    }

    fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends[..self.count].get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        str::from_utf8(&self.text[start..end]).ok().map(str::trim)
    }
}

impl CsvParser {
    pub(super) fn new(first: &str, columns: &Columns) -> Result<Self, ReadError> {
        let mut fields = Fields::new();
        fields.split(first);
        let names = (0..fields.count).filter_map(|place| fields.get(place));
        let names: Vec<String> = names.map(str::to_owned).collect();
        let place = |column: Column| {
            let place = |wanted: &str| names.iter().position(|name| name == wanted);
            let mut wanted = columns.names(column).into_iter();
            wanted.find_map(|name| Some((place(name)?, columns.unit_of(column, name))))
        };
        columns.check(|column| place(column).is_some(), &names)?;
        Ok(Self {
            places: Column::ALL.map(place),
            guesses: columns.guesses(|column| place(column).is_some(), &names),
            fields,
        })
    }

    pub(super) fn row<'p>(&'p mut self, line: &str) -> LineFields<'p> {
        self.fields.split(line);
        let field = |(place, unit): (usize, Option<TimeUnit>)| {
            let text = Cow::Borrowed(self.fields.get(place)?);
            Some(FieldText { text, unit })
        };
        self.places.map(|place| place.and_then(field))
    }
}
