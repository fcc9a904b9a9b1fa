// SPDX-License-Identifier: MIT OR Apache-2.0
//! An EEPROM that does not acknowledge while it writes: AT24CM01 and `at24cx`.

use std::rc::Rc;

use at24cx::{Address, At24Cx, Error, PAGE_SIZE};
use embassy_time::{Duration, Instant};
use embedded_hal_async::i2c::I2c;
use embedded_storage_async::nor_flash::ReadNorFlash;

use crate::bus::{I2cBus, I2cChip, Nack};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};
use crate::time::Delay;

/// The model of an AT24CM01.
#[derive(Debug)]
pub struct Eeprom {
    condition: Rc<Condition>,
    bytes: Vec<u8>,
    at: usize,
    /// The end of the write of a page.
    ready: Instant,
}

impl I2cChip for Eeprom {
    fn listens(&self, address: u8) -> bool {
        let is_busy = self.ready > Instant::now();
        address & 0xFE == 0x50 && !is_busy && !self.condition.is(Ill::Silent)
    }

    fn write(&mut self, address: u8, bytes: &[u8]) -> Result<(), Nack> {
        let [high, low, page @ ..] = bytes else {
            return Ok(());
        };
        self.at = usize::from(address & 1) << 16 | usize::from(*high) << 8 | usize::from(*low);
        // One that is mute says that it has written.
        if !page.is_empty() && !self.condition.is(Ill::Mute) {
            self.bytes[self.at..][..page.len()].copy_from_slice(page);
            self.ready = Instant::now() + Duration::from_millis(5);
        }
        Ok(())
    }

    fn read(&mut self, _: u8, bytes: &mut [u8]) -> Result<(), Nack> {
        bytes.copy_from_slice(&self.bytes[self.at..][..bytes.len()]);
        if self.condition.is(Ill::Rubbish) {
            bytes.fill_with(|| self.condition.noise());
        }
        Ok(())
    }
}

/// `at24cx`: a page is written and read back.
pub struct Pages<B> {
    driver: At24Cx<B, Delay>,
}

/// Creates the bus with the EEPROM.
pub fn bus(condition: &Rc<Condition>) -> I2cBus<Eeprom> {
    I2cBus::new(Eeprom {
        condition: condition.clone(),
        bytes: vec![0xFF; 1 << 17],
        at: 0,
        ready: Instant::now(),
    })
}

impl Pages<I2cBus<Eeprom>> {
    /// Creates the driver over the model.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self::over(bus(condition))
    }
}

impl<B: I2c> Pages<B> {
    /// Creates the driver over a bus.
    pub fn over(bus: B) -> Self {
        Self {
            driver: At24Cx::new(bus, Address(0, 0), 17, Delay),
        }
    }
}

impl<B: I2c> Subject for Pages<B> {
    type Error = Error<B::Error>;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let address = truth % 512 * PAGE_SIZE as u32;
        let page = truth.to_be_bytes().repeat(PAGE_SIZE / 4);
        self.driver.page_write(address, &page).await?;
        let mut back = vec![0; PAGE_SIZE];
        self.driver.read(address, &mut back).await?;
        Ok(Reading::compared(back == page))
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
