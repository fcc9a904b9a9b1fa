// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flash that is ill: reads, writes and erases fail or lie when they are told to, and bits are stuck. Unlike `Chip` it
//! may be written twice, which clears more bits: after a lie that cannot be avoided.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use super::random::Random;

pub(crate) const PAGE: usize = 128;

/// The driver says that it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

impl NorFlashError for Failed {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

/// What goes wrong with an operation.
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
    /// Success, but the bytes are not those in the flash; the next read is right.
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
}

/// Clones are the same flash.
#[derive(Clone)]
pub(crate) struct Ill<const W: usize> {
    bytes: Rc<RefCell<Vec<u8>>>,
    /// Bits that stay 0 or 1, whatever is done: their masks for each byte.
    stuck: Rc<RefCell<Vec<(u8, u8)>>>,
    random: Rc<RefCell<Random>>,
    /// Operations so far.
    pub(crate) operations: Rc<Cell<u64>>,
    /// Those in which something goes wrong, with what.
    plan: Rc<RefCell<(std::ops::Range<u64>, Vec<Fault>)>>,
    /// How often it did.
    pub(crate) hits: Rc<Cell<u32>>,
}

impl<const W: usize> Ill<W> {
    pub(crate) fn holding(bytes: Vec<u8>, seed: u64) -> Self {
        Self {
            stuck: Rc::new(RefCell::new(vec![(0xFF, 0); bytes.len()])),
            bytes: Rc::new(RefCell::new(bytes)),
            random: Rc::new(RefCell::new(Random::new(seed))),
            operations: Rc::default(),
            plan: Rc::new(RefCell::new((0..0, Vec::new()))),
            hits: Rc::default(),
        }
    }

    /// Lets something go wrong in those operations, counted from now: one of these faults, if it can.
    pub(crate) fn plan(&self, after: u64, times: u64, faults: &[Fault]) {
        let first = self.operations.get() + after;
        *self.plan.borrow_mut() = (first..first.saturating_add(times), faults.to_vec());
    }

    /// From now on a bit stays as it is: cannot be written, or not be erased.
    pub(crate) fn stick(&self, bit: usize) {
        let (masks, mask) = (&mut self.stuck.borrow_mut()[bit / 8], 1 << (bit % 8));
        if self.bytes.borrow()[bit / 8] & mask == 0 {
            masks.0 &= !mask;
        } else {
            masks.1 |= mask;
        }
    }

    /// Whether the time of the plan is over and nothing went wrong, as no operation was of that kind.
    pub(crate) fn is_spared(&self) -> bool {
        let plan = self.plan.borrow();
        self.hits.get() == 0 && !plan.1.is_empty() && self.operations.get() >= plan.0.end
    }

    /// Nothing goes wrong any more. What lies there stays.
    pub(crate) fn heal(&self) {
        self.plan.borrow_mut().1.clear();
        self.stuck.borrow_mut().fill((0xFF, 0));
    }

    pub(crate) fn range(&self) -> std::ops::Range<u32> {
        0..self.bytes.borrow().len() as u32
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bytes.borrow().clone()
    }

    fn settle(&self) {
        let stuck = self.stuck.borrow();
        for (byte, (zeros, ones)) in self.bytes.borrow_mut().iter_mut().zip(&*stuck) {
            *byte = *byte & zeros | ones;
        }
    }

    /// What goes wrong now, of what can.
    fn fault(&self, can: fn(&Fault) -> bool) -> Option<Fault> {
        let now = self.operations.get();
        self.operations.set(now + 1);
        let plan = self.plan.borrow();
        let faults: Vec<_> = plan.1.iter().copied().filter(can).collect();
        if !plan.0.contains(&now) || faults.is_empty() {
            return None;
        }
        self.hits.set(self.hits.get() + 1);
        let which = self.random.borrow_mut().below(faults.len() as u64);
        Some(faults[which as usize])
    }

    fn noise(&self, bytes: &mut [u8]) {
        let mut random = self.random.borrow_mut();
        bytes.fill_with(|| random.byte());
    }

    fn below(&self, limit: usize) -> usize {
        self.random.borrow_mut().below(limit as u64) as usize
    }
}

impl<const W: usize> ErrorType for Ill<W> {
    type Error = Failed;
}

impl<const W: usize> ReadNorFlash for Ill<W> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), Failed> {
        let at = offset as usize;
        into.copy_from_slice(&self.bytes.borrow()[at..at + into.len()]);
        let is_of_reads = |it: &Fault| *it == Fault::ReadFails || Fault::READ_WRONG.contains(it);
        match self.fault(is_of_reads) {
            Some(Fault::ReadFails) => return Err(Failed),
            Some(Fault::ReadsErased) => into.fill(0xFF),
            Some(Fault::ReadsZeros) => into.fill(0),
            Some(Fault::ReadsBit) => {
                let bit = self.below(into.len() * 8);
                into[bit / 8] ^= 1 << (bit % 8);
            }
            Some(Fault::ReadsNoise) => self.noise(into),
            _ => {}
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.borrow().len()
    }
}

impl<const W: usize> NorFlash for Ill<W> {
    const WRITE_SIZE: usize = W;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Failed> {
        let (from, len) = (from as usize, (to - from) as usize);
        let is_of_erases = |it: &Fault| {
            matches!(
                it,
                Fault::EraseFails(_) | Fault::EraseLies(_) | Fault::EraseErrs
            )
        };
        let fault = self.fault(is_of_erases);
        let done = match fault {
            Some(Fault::EraseFails(done) | Fault::EraseLies(done)) => done.of(len),
            _ => len,
        };
        // From one end or from the other.
        let start = from + self.below(2) * (len - done);
        let before = self.bytes();
        self.bytes.borrow_mut()[start..start + done].fill(0xFF);
        if fault == Some(Fault::EraseErrs) {
            for _ in 0..=self.below(4) {
                let at = from + self.below(len);
                self.bytes.borrow_mut()[at] &= before[at];
            }
        }
        self.settle();
        match fault {
            Some(Fault::EraseFails(_)) => Err(Failed),
            _ => Ok(()),
        }
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Failed> {
        let (at, len) = (offset as usize, bytes.len());
        assert!(at.is_multiple_of(W) && len.is_multiple_of(W) && len > 0);
        let is_of_writes = |it: &Fault| {
            matches!(
                it,
                Fault::WriteFails(_) | Fault::WriteLies(_) | Fault::WriteErrs
            )
        };
        let fault = self.fault(is_of_writes);
        let done = match fault {
            Some(Fault::WriteFails(done) | Fault::WriteLies(done)) => done.of(len),
            _ => len,
        };
        let before = self.bytes();
        for (place, byte) in self.bytes.borrow_mut()[at..at + done].iter_mut().zip(bytes) {
            *place &= byte;
        }
        if fault == Some(Fault::WriteErrs) {
            let bit = self.below(len * 8);
            let mask = 1 << (bit % 8);
            self.bytes.borrow_mut()[at + bit / 8] ^= before[at + bit / 8] & mask;
        }
        self.settle();
        match fault {
            Some(Fault::WriteFails(_)) => Err(Failed),
            _ => Ok(()),
        }
    }
}
