// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines that could not be read, and the reasons.

use std::error::Error;
use std::fmt;
use std::io;

use super::columns::{Column, TimeUnit};

/// The summary of a reading: the number of lines, those that were skipped and why, and the words that were taken for a
/// failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadSummary {
    /// All lines of the log, without the names of columns and empty ones.
    pub lines: u64,
    /// The number of lines that were skipped.
    pub skipped: u64,
    /// The number of these that came [too late](super::LogStream::WINDOW) in a stream; they are not among the first
    /// ten.
    pub late: u64,
    /// The numbers of the first ten lines that were skipped, counted from 1, and why.
    pub first: Vec<(u64, String)>,
    /// The outcomes in CSV and JSON lines that were taken for failures: a word that was meant otherwise is among them.
    pub failures: WordCounts,
    /// Columns that were not read, because they were not named, though they may be meant: of CSV and JSON lines.
    pub guesses: Vec<(Column, String)>,
    /// Starts in a column whose name says milliseconds, which they may not be.
    pub unit: Option<UnitDoubt>,
    /// The name of the start, if servers write there when a call ended: it began its duration before.
    pub ends: Option<String>,
}

/// A start that is read in milliseconds, but is Unix time of this century in another unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnitDoubt {
    /// The start of the first call, as it is written.
    pub start: String,
    /// The unit in which it is Unix time.
    pub seems: TimeUnit,
}

impl fmt::Display for UnitDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the first call's start is {}: Unix time of this century, if it is in {}, but it is read in {}",
            self.start.escape_debug(),
            self.seems,
            TimeUnit::Millis
        )
    }
}

/// Words, and how often they occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordCounts {
    found: Vec<(String, u64)>,
    others: u64,
}

impl WordCounts {
    const SHOWN: usize = 20;
    const LONGEST: usize = 40;

    /// The first twenty different words, in the order in which they were met, and how often.
    pub fn found(&self) -> &[(String, u64)] {
        &self.found
    }

    /// The number of times that other words were met.
    pub const fn others(&self) -> u64 {
        self.others
    }

    pub(super) fn add(&mut self, word: &str) {
        let is_it = |(found, _): &&mut (String, u64)| found == word;
        if let Some((_, count)) = self.found.iter_mut().find(is_it) {
            *count += 1;
        } else if self.found.len() < Self::SHOWN && word.len() <= Self::LONGEST {
            self.found.push((word.to_owned(), 1));
        } else {
            self.others += 1;
        }
    }
}

impl fmt::Display for WordCounts {
    /// `timeout (12), 503 (3) and 7 others`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (word, count)) in self.found.iter().enumerate() {
            let before = if place == 0 { "" } else { ", " };
            write!(f, "{before}{} ({count})", word.escape_debug())?;
        }
        match self.others {
            0 => Ok(()),
            others => write!(f, " and {others} others"),
        }
    }
}

impl ReadSummary {
    const SHOWN: usize = 10;

    /// Returns whether so many lines were skipped that the others may not be like them.
    pub const fn is_mostly_skipped(&self) -> bool {
        self.skipped > self.lines / 2
    }

    pub(super) fn add(&mut self, number: u64, why: String) {
        self.skipped += 1;
        if self.first.len() < Self::SHOWN {
            self.first.push((number, why));
        }
    }
}

impl fmt::Display for ReadSummary {
    /// Shows a line of text for each of the first lines that were skipped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} lines were skipped", self.skipped, self.lines)?;
        for (number, why) in &self.first {
            write!(f, "\n  line {number}: {why}")?;
        }
        let more = self.skipped - self.late - self.first.len() as u64;
        if more > 0 {
            write!(f, "\n  and {more} more")?;
        }
        if self.late > 0 {
            let late = self.late;
            write!(f, "\n  {late} came too late: the stream was past them")?;
        }
        Ok(())
    }
}

/// The reason why a log cannot be read at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The log is empty.
    Empty,
    /// Columns are missing.
    NoColumn {
        /// The columns that are missing, and the names that were looked for.
        missing: Vec<(Column, Vec<String>)>,
        /// The columns that there are; in JSON lines, the fields of the first line.
        found: Vec<String>,
        /// Columns that may be meant.
        guesses: Vec<(Column, String)>,
    },
    /// Nothing says the unit of the starts, and milliseconds are unlikely: [say it](super::LogReader::start_unit).
    Unit(UnitDoubt),
    /// Starts are Unix time of this century in several units.
    Mixed {
        /// The first start in another unit than that of the first call, as it is written.
        start: String,
        /// The unit in which it is Unix time.
        seems: TimeUnit,
        /// The unit in which the start of the first call is.
        first: TimeUnit,
    },
    /// No line of the log could be read.
    NoCall(Box<ReadSummary>),
    /// The log could not be read.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the log is empty"),
            Self::NoColumn {
                missing,
                found,
                guesses,
            } => no_column(f, missing, found, guesses),
            Self::Unit(unit) => write!(f, "{unit}: say which unit it is"),
            Self::Mixed {
                start,
                seems,
                first,
            } => write!(
                f,
                "a start is {}: Unix time of this century, if it is in {seems}, but the first one is in {first}: give all \
                 lines one unit",
                start.escape_debug()
            ),
            Self::NoCall(skipped) => write!(f, "no line is a call: {skipped}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

fn no_column(
    f: &mut fmt::Formatter<'_>,
    missing: &[(Column, Vec<String>)],
    found: &[String],
    guesses: &[(Column, String)],
) -> fmt::Result {
    const MOST: usize = 30;
    f.write_str("no column says ")?;
    for (place, (column, names)) in missing.iter().enumerate() {
        let before = if place == 0 { "" } else { ", nor " };
        write!(f, "{before}the {column} (looked for {})", names.join(", "))?;
    }
    f.write_str(": name it; found ")?;
    for (place, name) in found.iter().take(MOST).enumerate() {
        let before = if place == 0 { "" } else { ", " };
        write!(f, "{before}{}", shown(name))?;
    }
    match found.len() {
        0 => f.write_str("none")?,
        1..=MOST => {}
        more => write!(f, " and {} others", more - MOST)?,
    }
    for (place, (column, name)) in guesses.iter().enumerate() {
        let before = if place == 0 { "; perhaps" } else { "," };
        write!(f, "{before} {} is the {column}", shown(name))?;
    }
    Ok(())
}

/// The beginning of a name, without what a terminal would take for a command.
fn shown(name: &str) -> String {
    let start: String = name.chars().take(WordCounts::LONGEST).collect();
    let more = if start.len() < name.len() { "…" } else { "" };
    format!("{}{more}", start.escape_debug())
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
