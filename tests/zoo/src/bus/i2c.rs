// SPDX-License-Identifier: MIT OR Apache-2.0
//! I²C, at 400 kHz.

use std::cell::RefCell;
use std::rc::Rc;

use embassy_time::Duration;
use embedded_hal::i2c::{Error, ErrorKind, ErrorType, I2c, NoAcknowledgeSource, Operation};

use crate::time::{pass, transfer};

/// The target did not acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack;

impl Error for Nack {
    fn kind(&self) -> ErrorKind {
        ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address)
    }
}

/// A model of a chip on an I²C bus.
pub trait I2cChip {
    /// Returns whether the chip listens to this address.
    fn listens(&self, address: u8) -> bool;

    /// Takes what is written in one go.
    ///
    /// # Errors
    /// The chip does not acknowledge.
    fn write(&mut self, address: u8, bytes: &[u8]) -> Result<(), Nack>;

    /// Answers a read.
    ///
    /// # Errors
    /// The chip does not acknowledge.
    fn read(&mut self, address: u8, bytes: &mut [u8]) -> Result<(), Nack>;
}

/// The bus of one chip, blocking and async.
#[derive(Debug)]
pub struct I2cBus<C>(Rc<RefCell<C>>);

impl<C> I2cBus<C> {
    /// Creates a bus with this chip.
    pub fn new(chip: C) -> Self {
        Self(Rc::new(RefCell::new(chip)))
    }

    /// Returns the chip, to look at.
    pub fn chip(&self) -> Rc<RefCell<C>> {
        self.0.clone()
    }
}

impl<C> Clone for I2cBus<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C> ErrorType for I2cBus<C> {
    type Error = Nack;
}

impl<C: I2cChip> I2cBus<C> {
    fn carry(&self, address: u8, operations: &mut [Operation<'_>]) -> Result<(), Nack> {
        let mut chip = self.0.borrow_mut();
        if !chip.listens(address) {
            return Err(Nack);
        }
        let mut written = Vec::new();
        let mut operations = operations.iter_mut().peekable();
        while let Some(operation) = operations.next() {
            match operation {
                Operation::Write(bytes) => {
                    written.extend_from_slice(bytes);
                    if !matches!(operations.peek(), Some(Operation::Write(_))) {
                        chip.write(address, &std::mem::take(&mut written))?;
                    }
                }
                Operation::Read(bytes) => chip.read(address, bytes)?,
            }
        }
        Ok(())
    }
}

/// Nine clocks for each byte and for the address.
fn takes(operations: &[Operation<'_>]) -> Duration {
    let bytes = operations.iter().map(|operation| match operation {
        Operation::Read(bytes) => bytes.len() + 1,
        Operation::Write(bytes) => bytes.len() + 1,
    });
    Duration::from_micros(bytes.sum::<usize>() as u64 * 9_000 / 400)
}

impl<C: I2cChip> I2c for I2cBus<C> {
    fn transaction(&mut self, address: u8, operations: &mut [Operation<'_>]) -> Result<(), Nack> {
        pass(takes(operations));
        self.carry(address, operations)
    }
}

impl<C: I2cChip> embedded_hal_async::i2c::I2c for I2cBus<C> {
    async fn transaction(
        &mut self,
        address: u8,
        operations: &mut [Operation<'_>],
    ) -> Result<(), Nack> {
        transfer(takes(operations)).await;
        self.carry(address, operations)
    }
}
