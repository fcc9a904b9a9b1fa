// SPDX-License-Identifier: MIT OR Apache-2.0
//! A clock that may stand still: DS3231 and `ds323x`.

use std::rc::Rc;
use std::time::Duration;

use ds323x::ic::DS3231;
use ds323x::interface::I2cInterface;
use ds323x::{DateTimeAccess, Ds323x, Error, NaiveDate, NaiveDateTime};
use embassy_time::Instant;
use embedded_hal::i2c::I2c;

use crate::bus::{I2cBus, I2cChip, Nack};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};

const STATUS: usize = 0x0F;
/// The oscillator stopped at some time.
const STOPPED: u8 = 0x80;

/// The model of a DS3231 without a battery.
#[derive(Debug)]
pub struct Ds3231 {
    condition: Rc<Condition>,
    cycles: u32,
    registers: [u8; 19],
    pointer: usize,
    /// The last second that was counted.
    counted: u64,
}

const fn decimal(byte: u8) -> u8 {
    (byte >> 4) * 10 + (byte & 0x0F)
}

const fn packed(number: u8) -> u8 {
    ((number / 10) << 4) | (number % 10)
}

impl Ds3231 {
    fn power_on(&mut self) {
        self.registers = [0; 19];
        self.registers[4] = 1;
        self.registers[5] = 1;
        self.registers[STATUS] = 0x88;
    }

    /// Counts the seconds that have passed, of one day, which is enough here.
    fn count(&mut self) {
        if self.condition.was_cycled(&mut self.cycles) {
            self.power_on();
        }
        let now = Instant::now().as_secs();
        let passed = now - std::mem::replace(&mut self.counted, now);
        if self.condition.is(Ill::Mute) {
            self.registers[STATUS] |= STOPPED;
            return;
        }
        let [seconds, minutes, hours] = [0, 1, 2].map(|at| u64::from(decimal(self.registers[at])));
        let all = hours * 3_600 + minutes * 60 + seconds + passed;
        self.registers[0] = packed((all % 60) as u8);
        self.registers[1] = packed((all / 60 % 60) as u8);
        self.registers[2] = packed((all / 3_600) as u8);
    }
}

impl I2cChip for Ds3231 {
    fn listens(&self, address: u8) -> bool {
        address == 0x68 && !self.condition.is(Ill::Silent)
    }

    fn write(&mut self, _: u8, bytes: &[u8]) -> Result<(), Nack> {
        self.count();
        self.pointer = bytes[0].into();
        self.registers[self.pointer..][..bytes.len() - 1].copy_from_slice(&bytes[1..]);
        Ok(())
    }

    fn read(&mut self, _: u8, bytes: &mut [u8]) -> Result<(), Nack> {
        self.count();
        bytes.copy_from_slice(&self.registers[self.pointer..][..bytes.len()]);
        if self.condition.is(Ill::Rubbish) {
            bytes.fill(0xFF);
        }
        Ok(())
    }
}

/// `ds323x`, and its flag for a time that is not to be trusted.
pub struct Clock<B: I2c> {
    driver: Ds323x<I2cInterface<B>, DS3231>,
}

/// The time of the system, by which the clock is set: from the network, say.
fn time() -> NaiveDateTime {
    let midnight = NaiveDate::from_ymd_opt(2026, 1, 1).and_then(|day| day.and_hms_opt(0, 0, 0));
    midnight.unwrap() + Duration::from_secs(Instant::now().as_secs())
}

impl Clock<I2cBus<Ds3231>> {
    /// Creates the driver over the model, and sets the clock.
    pub fn new(condition: &Rc<Condition>) -> Self {
        let mut chip = Ds3231 {
            condition: condition.clone(),
            cycles: 0,
            registers: [0; 19],
            pointer: 0,
            counted: Instant::now().as_secs(),
        };
        chip.power_on();
        let mut clock = Self {
            driver: Ds323x::new_ds3231(I2cBus::new(chip)),
        };
        clock.set().unwrap();
        clock
    }
}

impl<B: I2c> Clock<B> {
    fn set(&mut self) -> Result<(), Error<B::Error>> {
        self.driver.set_datetime(&time())?;
        self.driver.clear_has_been_stopped_flag()
    }
}

impl<B: I2c> Subject for Clock<B> {
    type Error = Error<B::Error>;

    async fn measure(&mut self, _: u32) -> Result<Reading, Self::Error> {
        let (before, shown, after) = (time(), self.driver.datetime()?, time());
        Ok(Reading {
            right: before <= shown && shown <= after,
            plausible: !self.driver.has_been_stopped()?,
        })
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        self.set()
    }
}
