//! What could not be read, and why.

use std::error::Error;
use std::fmt;
use std::io;

use super::columns::Column;

/// Lines that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// All lines of the log, without the names of columns and empty ones.
    pub lines: u64,
    /// How many were skipped.
    pub count: u64,
    /// The numbers of the first ten, counted from 1, and why.
    pub first: Vec<(u64, String)>,
}

impl Skipped {
    const SHOWN: usize = 10;

    pub(super) fn add(&mut self, number: u64, why: String) {
        self.count += 1;
        if self.first.len() < Self::SHOWN {
            self.first.push((number, why));
        }
    }
}

impl fmt::Display for Skipped {
    /// A line for each that is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} lines were skipped", self.count, self.lines)?;
        for (number, why) in &self.first {
            write!(f, "\n  line {number}: {why}")?;
        }
        let more = self.count - self.first.len() as u64;
        if more > 0 {
            write!(f, "\n  and {more} more")?;
        }
        Ok(())
    }
}

/// Why a log cannot be read at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// There is nothing in it.
    Empty,
    /// A column is missing.
    NoColumn {
        /// Which.
        column: Column,
        /// The names that were looked for.
        names: Vec<String>,
        /// The columns that there are.
        found: Vec<String>,
    },
    /// Not one of its lines could be read.
    NoCall(Skipped),
    /// It has more than 4 294 967 295 calls: [stream](super::Reading::stream) it.
    TooLong,
    /// It could not be read.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the log is empty"),
            Self::NoColumn {
                column,
                names,
                found,
            } => write!(
                f,
                "no column says the {column}: name it; looked for {}, found {}",
                names.join(", "),
                found.join(", ")
            ),
            Self::NoCall(skipped) => write!(f, "no line is a call: {skipped}"),
            Self::TooLong => f.write_str(
                "more calls than a log in memory holds: replay one set of rules, which needs no memory",
            ),
            Self::Io(error) => error.fmt(f),
        }
    }
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
