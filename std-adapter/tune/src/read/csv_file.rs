//! Comma-separated values.

use std::borrow::Cow;

use csv_core::{ReadRecordResult, Reader};

use super::calls::Row;
use super::columns::{Column, Columns};
use super::error::ReadError;

pub(super) struct Parser {
    places: [Option<usize>; Column::COUNT],
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
    pub(super) fn new(first: &str, columns: &mut Columns) -> Result<Self, ReadError> {
        let mut fields = Fields::new();
        fields.split(first);
        let names = (0..fields.count).filter_map(|place| fields.get(place));
        let names: Vec<String> = names.map(str::to_owned).collect();
        let place = |wanted: &str| names.iter().position(|name| name == wanted);
        columns.find(|name| place(name).is_some(), || names.clone())?;
        Ok(Self {
            places: Column::ALL.map(|column| columns.name(column).and_then(place)),
            fields,
        })
    }

    pub(super) fn row<'p>(&'p mut self, line: &str) -> Row<'p> {
        self.fields.split(line);
        let field = |place: Option<usize>| place.and_then(|place| self.fields.get(place));
        Row {
            fields: self.places.map(|place| field(place).map(Cow::Borrowed)),
        }
    }
}
