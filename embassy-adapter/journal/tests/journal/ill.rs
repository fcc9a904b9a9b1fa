// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flash that is ill: reads, writes and erases fail or lie when they are told to, bits are stuck, and the power fails.
//! Unlike `Chip` it may be written twice, which clears more bits: after a lie that cannot be avoided.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use super::plan::{Fault, Operation, Plan};
use super::power::{Power, tear_erase, tear_write};
use super::random::Random;

pub(crate) const PAGE: usize = 128;

/// The driver says that it failed, or the power has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

impl NorFlashError for Failed {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

/// Clones are the same flash.
#[derive(Clone)]
pub(crate) struct Ill<const W: usize> {
    bytes: Rc<RefCell<Vec<u8>>>,
    /// Bits that stay 0 or 1, whatever is done: their masks for each byte.
    stuck: Rc<RefCell<Vec<(u8, u8)>>>,
    random: Rc<RefCell<Random>>,
    /// Operations so far.
    pub(crate) operations: Rc<RefCell<Vec<Operation>>>,
    plan: Rc<RefCell<Plan>>,
    /// The number of times that something went wrong.
    pub(crate) hits: Rc<Cell<u32>>,
    /// A read takes a moment; a write or an erase one for each byte.
    pub(crate) power: Rc<RefCell<Power>>,
}

impl<const W: usize> Ill<W> {
    pub(crate) fn holding(bytes: Vec<u8>, seed: u64) -> Self {
        Self {
            stuck: Rc::new(RefCell::new(vec![(0xFF, 0); bytes.len()])),
            bytes: Rc::new(RefCell::new(bytes)),
            random: Rc::new(RefCell::new(Random::new(seed))),
            operations: Rc::default(),
            plan: Rc::default(),
            hits: Rc::default(),
            power: Rc::default(),
        }
    }

    fn now(&self) -> u64 {
        self.operations.borrow().len() as u64
    }

    /// Lets something go wrong in those operations, counted from now: one of these faults, if it can.
    pub(crate) fn plan(&self, after: u64, times: u64, faults: &[Fault]) {
        let first = self.now() + after;
        *self.plan.borrow_mut() = Plan {
            operations: first..first.saturating_add(times),
            times,
            faults: faults.to_vec(),
            ..Plan::default()
        };
    }

    pub(crate) fn set(&self, plan: Plan) {
        *self.plan.borrow_mut() = plan;
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

    /// Returns whether the time of the plan is over and nothing went wrong, as no operation was of that kind.
    pub(crate) fn is_spared(&self) -> bool {
        let plan = self.plan.borrow();
        self.hits.get() == 0 && !plan.faults.is_empty() && self.now() >= plan.operations.end
    }

    /// Nothing goes wrong any more, and the power stays. What lies there stays, too.
    pub(crate) fn heal(&self) {
        self.plan.borrow_mut().faults.clear();
        self.stuck.borrow_mut().fill((0xFF, 0));
        self.power.borrow_mut().up();
    }

    pub(crate) fn range(&self) -> Range<u32> {
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

    /// The fault of an operation now, if it has one.
    fn fault(&self, operation: Operation, bytes: &Range<usize>) -> Option<Fault> {
        let now = self.now();
        self.operations.borrow_mut().push(operation);
        let mut plan = self.plan.borrow_mut();
        let faults = plan.of(now, operation, bytes);
        if faults.is_empty() {
            return None;
        }
        plan.times -= 1;
        self.hits.set(self.hits.get() + 1);
        Some(faults[self.below(faults.len())])
    }

    /// Changes what was read.
    fn lie(&self, fault: Fault, read: &Range<usize>, into: &mut [u8]) {
        let plan = self.plan.borrow();
        let part = plan.part(read);
        let into = &mut into[part.start - read.start..part.end - read.start];
        let mut again = Random::new(part.start as u64);
        let random = &mut *self.random.borrow_mut();
        let random = if plan.is_same { &mut again } else { random };
        match fault {
            Fault::ReadsErased => into.fill(0xFF),
            Fault::ReadsZeros => into.fill(0),
            Fault::ReadsBit => {
                let bit = random.below(into.len() as u64 * 8) as usize;
                into[bit / 8] ^= 1 << (bit % 8);
            }
            Fault::ReadsNoise => into.fill_with(|| random.byte()),
            _ => {}
        }
    }

    fn below(&self, limit: usize) -> usize {
        self.random.borrow_mut().below(limit as u64) as usize
    }

    /// The number of bytes for which the power lasts.
    fn spend(&self, len: usize) -> usize {
        self.power.borrow_mut().spend(len as u64) as usize
    }

    fn check_power(&self) -> Result<(), Failed> {
        if self.power.borrow().is_off {
            Err(Failed)
        } else {
            Ok(())
        }
    }

    /// The driver's response in the end.
    fn answer(&self, fault: Option<Fault>) -> Result<(), Failed> {
        self.settle();
        self.check_power()?;
        if Fault::is_told(fault) {
            Err(Failed)
        } else {
            Ok(())
        }
    }
}

impl<const W: usize> ErrorType for Ill<W> {
    type Error = Failed;
}

impl<const W: usize> ReadNorFlash for Ill<W> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, into: &mut [u8]) -> Result<(), Failed> {
        self.check_power()?;
        let at = offset as usize;
        let read = at..at + into.len();
        let fault = self.fault(Operation::Read, &read);
        self.spend(1);
        into.copy_from_slice(&self.bytes.borrow()[read.clone()]);
        if let Some(fault) = fault {
            self.lie(fault, &read, into);
        }
        self.answer(fault)
    }

    fn capacity(&self) -> usize {
        self.bytes.borrow().len()
    }
}

impl<const W: usize> NorFlash for Ill<W> {
    const WRITE_SIZE: usize = W;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Failed> {
        self.check_power()?;
        let (from, len) = (from as usize, (to - from) as usize);
        let fault = self.fault(Operation::Erase, &(from..from + len));
        let done = Fault::done(fault, len);
        // From one end or from the other.
        let start = from + self.below(2) * (len - done);
        let before = self.bytes();
        let lasts = self.spend(len);
        {
            let page = &mut self.bytes.borrow_mut()[start..start + done];
            if lasts < len {
                tear_erase(page, lasts.min(done), &mut self.random.borrow_mut());
            } else {
                page.fill(0xFF);
            }
            if fault == Some(Fault::EraseErrs) {
                for _ in 0..=self.below(4) {
                    let at = self.below(len);
                    page[at] &= before[from + at];
                }
            }
        }
        self.answer(fault)
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Failed> {
        self.check_power()?;
        let (at, len) = (offset as usize, bytes.len());
        assert!(at.is_multiple_of(W) && len.is_multiple_of(W) && len > 0);
        let fault = self.fault(Operation::Write, &(at..at + len));
        let lasts = self.spend(len);
        let done = Fault::done(fault, len).min(lasts);
        let before = self.bytes();
        {
            let range = &mut self.bytes.borrow_mut()[at..at + len];
            for (place, byte) in range[..done].iter_mut().zip(bytes) {
                *place &= byte;
            }
            if done == lasts && lasts < len {
                let word = lasts - lasts % W;
                let byte = (lasts - word, bytes[lasts]);
                let random = &mut *self.random.borrow_mut();
                tear_write(&mut range[word..word + W], byte, false, random);
            }
            if fault == Some(Fault::WriteErrs) {
                let bit = self.below(len * 8);
                let mask = 1 << (bit % 8);
                range[bit / 8] ^= before[at + bit / 8] & mask;
            }
        }
        self.answer(fault)
    }
}
