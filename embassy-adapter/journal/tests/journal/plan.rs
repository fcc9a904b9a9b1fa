// SPDX-License-Identifier: MIT OR Apache-2.0
//! The faults of a flash's operations, and their times.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
    Erase,
}

/// The fault of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error, before anything, in the middle, or after everything was done.
    ReadFails,
    WriteFails(Done),
    EraseFails(Done),
    /// Success, but this many bytes were written or erased.
    WriteLies(Done),
    EraseLies(Done),
    /// Success, but a bit is not what was written, or some bits are not erased.
    WriteErrs,
    EraseErrs,
    /// Success, but the bytes are not those in the flash.
    ReadsErased,
    ReadsZeros,
    ReadsBit,
    ReadsNoise,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Nothing,
    Half,
    Everything,
}

impl Done {
    fn of(self, len: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Half => len / 2,
            Self::Everything => len,
        }
    }
}

impl Fault {
    /// The driver says so.
    pub(crate) const TOLD: [Self; 7] = [
        Self::ReadFails,
        Self::WriteFails(Done::Nothing),
        Self::WriteFails(Done::Half),
        Self::WriteFails(Done::Everything),
        Self::EraseFails(Done::Nothing),
        Self::EraseFails(Done::Half),
        Self::EraseFails(Done::Everything),
    ];
    /// The flash is worn out, and the driver does not know.
    pub(crate) const WORN: [Self; 6] = [
        Self::WriteLies(Done::Nothing),
        Self::WriteLies(Done::Half),
        Self::WriteErrs,
        Self::EraseLies(Done::Nothing),
        Self::EraseLies(Done::Half),
        Self::EraseErrs,
    ];
    pub(crate) const READ_WRONG: [Self; 4] = [
        Self::ReadsErased,
        Self::ReadsZeros,
        Self::ReadsBit,
        Self::ReadsNoise,
    ];

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let told = Self::TOLD.into_iter();
        told.chain(Self::WORN).chain(Self::READ_WRONG)
    }

    /// The operation with which it goes wrong.
    pub(crate) fn operation(self) -> Operation {
        match self {
            Self::WriteFails(_) | Self::WriteLies(_) | Self::WriteErrs => Operation::Write,
            Self::EraseFails(_) | Self::EraseLies(_) | Self::EraseErrs => Operation::Erase,
            _ => Operation::Read,
        }
    }

    /// The number of the bytes that are written or erased.
    pub(crate) fn done(this: Option<Self>, len: usize) -> usize {
        match this {
            Some(
                Self::WriteFails(done)
                | Self::WriteLies(done)
                | Self::EraseFails(done)
                | Self::EraseLies(done),
            ) => done.of(len),
            _ => len,
        }
    }

    /// Returns whether the driver reports that it failed.
    pub(crate) fn is_told(this: Option<Self>) -> bool {
        this.is_some_and(|it| Self::TOLD.contains(&it))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// The operations in which something goes wrong, counted from the first of all.
    pub(crate) operations: Range<u64>,
    /// The bytes that are read wrong: all, if it is empty.
    pub(crate) place: Range<usize>,
    /// The largest number of times.
    pub(crate) times: u64,
    /// One of these goes wrong, if it can.
    pub(crate) faults: Vec<Fault>,
    /// `true` if a wrong answer is the same again for the same bytes.
    pub(crate) is_same: bool,
}

impl Plan {
    /// As soon as it can.
    pub(crate) fn once(fault: Fault) -> Self {
        Self {
            operations: 0..u64::MAX,
            times: 1,
            faults: vec![fault],
            ..Self::default()
        }
    }

    /// The faults of an operation on those bytes.
    pub(crate) fn of(&self, now: u64, operation: Operation, bytes: &Range<usize>) -> Vec<Fault> {
        if self.times == 0 || !self.operations.contains(&now) || self.part(bytes).is_empty() {
            return Vec::new();
        }
        let can = |it: &Fault| it.operation() == operation;
        self.faults.iter().copied().filter(can).collect()
    }

    /// Those of the bytes that are read wrong.
    pub(crate) fn part(&self, bytes: &Range<usize>) -> Range<usize> {
        if self.place.is_empty() {
            return bytes.clone();
        }
        bytes.start.max(self.place.start)..bytes.end.min(self.place.end)
    }
}
