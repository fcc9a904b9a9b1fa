// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thermometer with commands, a wait and a checksum: SHT40 and `sht4x`.

use std::rc::Rc;

use embassy_time::{Duration, Instant};
use embedded_hal::i2c::I2c;
use sht4x::{Error, Precision, Sht4x};

use crate::bus::{I2cBus, I2cChip, Nack};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};
use crate::time::Delay;

/// The checksum of Sensirion: x⁸ + x⁵ + x⁴ + 1, from 0xFF.
pub(super) fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0xFF, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum, _| match sum & 0x80 {
            0 => sum << 1,
            _ => (sum << 1) ^ 0x31,
        })
    })
}

/// Two words with their checksums, wrong ones if the chip is ill.
pub(super) fn words(condition: &Condition, words: &[u16], bytes: &mut [u8]) {
    let is_rubbish = condition.is(Ill::Rubbish);
    for (word, out) in words.iter().zip(bytes.chunks_mut(3)) {
        out[..2].copy_from_slice(&word.to_be_bytes());
        out[2] = checksum(&out[..2]) ^ u8::from(is_rubbish);
    }
}

/// The model of an SHT40.
#[derive(Debug)]
pub struct Sht40 {
    condition: Rc<Condition>,
    /// The end of the measurement.
    ready: Option<Instant>,
}

impl I2cChip for Sht40 {
    fn listens(&self, address: u8) -> bool {
        address == 0x44 && !self.condition.is(Ill::Silent)
    }

    fn write(&mut self, _: u8, bytes: &[u8]) -> Result<(), Nack> {
        match bytes {
            [0xFD] => self.ready = Some(Instant::now() + Duration::from_millis(8)),
            [0x94] => {
                self.condition.reset();
                self.ready = None;
            }
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, _: u8, bytes: &mut [u8]) -> Result<(), Nack> {
        let ready = self.ready.take().ok_or(Nack)?;
        if ready > Instant::now() || self.condition.is(Ill::Mute) {
            return Err(Nack);
        }
        let truth = self.condition.truth() as u16;
        words(&self.condition, &[0x6000 + truth, 0x8000], bytes);
        Ok(())
    }
}

/// `sht4x`, blocking.
pub struct Thermometer<B: I2c> {
    driver: Sht4x<B, Delay>,
}

/// Creates the bus with the sensor.
pub fn bus(condition: &Rc<Condition>) -> I2cBus<Sht40> {
    I2cBus::new(Sht40 {
        condition: condition.clone(),
        ready: None,
    })
}

impl Thermometer<I2cBus<Sht40>> {
    /// Creates the driver over the model.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self::over(bus(condition))
    }
}

impl<B: I2c> Thermometer<B> {
    /// Creates the driver over a bus.
    pub fn over(bus: B) -> Self {
        Self {
            driver: Sht4x::new(bus),
        }
    }
}

impl<B: I2c> Subject for Thermometer<B> {
    type Error = Error<B::Error>;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let shown = self.driver.measure(Precision::High, &mut Delay)?;
        let millis = shown.temperature_milli_celsius();
        let expected = (0x6000 + i64::from(truth)) * 175_000 / 0xFFFF - 45_000;
        Ok(Reading {
            right: (i64::from(millis) - expected).abs() < 3,
            plausible: (-20_000..60_000).contains(&millis),
        })
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        self.driver.soft_reset(&mut Delay)
    }
}
