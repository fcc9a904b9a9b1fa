// SPDX-License-Identifier: MIT OR Apache-2.0
//! SPI, at 8 MHz. It has no acknowledgement: no transfer ever fails.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use embassy_time::Duration;
use embedded_hal::spi::{ErrorType, Operation, SpiDevice};

use crate::time::{pass, transfer};

/// A model of a chip on an SPI bus.
pub trait SpiChip {
    /// The chip is selected.
    fn select(&mut self);

    /// Shifts a byte in and a byte out.
    fn exchange(&mut self, byte: u8) -> u8;

    /// The chip is no longer selected.
    fn deselect(&mut self) {}
}

/// The bus of one chip with its select pin, blocking and async.
#[derive(Debug)]
pub struct SpiBus<C>(Rc<RefCell<C>>);

impl<C> SpiBus<C> {
    /// Creates a bus with this chip.
    pub fn new(chip: C) -> Self {
        Self(Rc::new(RefCell::new(chip)))
    }

    /// Returns the chip, to look at.
    pub fn chip(&self) -> Rc<RefCell<C>> {
        self.0.clone()
    }
}

impl<C> Clone for SpiBus<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C> ErrorType for SpiBus<C> {
    type Error = Infallible;
}

/// A microsecond for each byte, and 50 to begin and to end; pauses besides.
fn takes(operations: &[Operation<'_, u8>]) -> Duration {
    let times = operations.iter().map(|operation| match operation {
        Operation::Read(bytes) | Operation::TransferInPlace(bytes) => bytes.len() as u64,
        Operation::Write(bytes) => bytes.len() as u64,
        Operation::Transfer(read, write) => read.len().max(write.len()) as u64,
        Operation::DelayNs(ns) => u64::from(*ns).div_ceil(1_000),
    });
    Duration::from_micros(50 + times.sum::<u64>())
}

impl<C: SpiChip> SpiBus<C> {
    fn shift(&self, operations: &mut [Operation<'_, u8>]) {
        let mut chip = self.0.borrow_mut();
        chip.select();
        for operation in operations {
            match operation {
                Operation::Read(bytes) => bytes.fill_with(|| chip.exchange(0)),
                Operation::Write(bytes) => bytes.iter().for_each(|&byte| {
                    chip.exchange(byte);
                }),
                Operation::Transfer(read, write) => {
                    for place in 0..read.len().max(write.len()) {
                        let came = chip.exchange(write.get(place).copied().unwrap_or(0));
                        if let Some(byte) = read.get_mut(place) {
                            *byte = came;
                        }
                    }
                }
                Operation::TransferInPlace(bytes) => {
                    for byte in bytes.iter_mut() {
                        *byte = chip.exchange(*byte);
                    }
                }
                Operation::DelayNs(_) => {}
            }
        }
        chip.deselect();
    }
}

impl<C: SpiChip> SpiDevice for SpiBus<C> {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Infallible> {
        pass(takes(operations));
        self.shift(operations);
        Ok(())
    }
}

impl<C: SpiChip> embedded_hal_async::spi::SpiDevice for SpiBus<C> {
    async fn transaction(
        &mut self,
        operations: &mut [Operation<'_, u8>],
    ) -> Result<(), Infallible> {
        transfer(takes(operations)).await;
        self.shift(operations);
        Ok(())
    }
}
