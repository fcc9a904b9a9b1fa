//! Comma-separated values.

use std::borrow::Cow;

use csv_core::{ReadRecordResult, Reader};

use super::calls::{Field, Row};
use super::columns::{Column, Columns, Unit};
use super::error::ReadError;

pub(super) struct Parser {
    /// Where each column is, and its unit.
    places: [Option<(usize, Option<Unit>)>; Column::COUNT],
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
            text: vec![0; 256],
            ends: vec![0; 16],
            count: 0,
        }
    }

    fn split(&mut self, line: &str) {
        self.reader.reset();
        let (mut input, mut written) = (line.as_bytes(), 0);
        self.count = 0;
        loop {
            let (result, read, wrote, ended) = self.reader.read_record(
                input,
                &mut self.text[written..],
                &mut self.ends[self.count..],
            );
            input = &input[read..];
            written += wrote;
            self.count += ended;
            match result {
                // The empty input that follows says that the line is over.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record | ReadRecordResult::End => return,
            }
        }
    }

    fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends[..self.count].get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        str::from_utf8(&self.text[start..end]).ok().map(str::trim)
    }
}

impl Parser {
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

    pub(super) fn row<'p>(&'p mut self, line: &str) -> Row<'p> {
        self.fields.split(line);
        let field = |(place, unit): (usize, Option<Unit>)| {
            let text = Cow::Borrowed(self.fields.get(place)?);
            Some(Field { text, unit })
        };
        Row {
            fields: self.places.map(|place| place.and_then(field)),
        }
    }
}
