// SPDX-License-Identifier: MIT OR Apache-2.0
//! An ADC that is asked until its conversion has ended: ADS1115 and `ads1x1x`.

use std::rc::Rc;

use ads1x1x::ic::{Ads1115, Resolution16Bit};
use ads1x1x::mode::OneShot;
use ads1x1x::{Ads1x1x, Error, TargetAddr, channel};
use embassy_time::{Duration, Instant, Timer};
use embedded_hal::i2c::I2c;

use crate::bus::{I2cBus, I2cChip, Nack};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};

/// The model of an ADS1115.
#[derive(Debug)]
pub struct Converter {
    condition: Rc<Condition>,
    pointer: u8,
    config: u16,
    /// The end of the conversion.
    ready: Option<Instant>,
}

impl I2cChip for Converter {
    fn listens(&self, address: u8) -> bool {
        address == 0x48 && !self.condition.is(Ill::Silent)
    }

    fn write(&mut self, _: u8, bytes: &[u8]) -> Result<(), Nack> {
        self.pointer = bytes[0];
        if let [1, high, low] = *bytes {
            self.config = u16::from_be_bytes([high, low]);
            if high & 0x80 != 0 {
                self.ready = Some(Instant::now() + Duration::from_millis(8));
            }
        }
        Ok(())
    }

    fn read(&mut self, _: u8, bytes: &mut [u8]) -> Result<(), Nack> {
        let converts = self.ready.is_some_and(|ready| ready > Instant::now());
        let word = match self.pointer {
            // The bit that says that no conversion is under way.
            1 if converts || self.condition.is(Ill::Mute) => self.config & 0x7FFF,
            1 => self.config | 0x8000,
            // The input is at the supply.
            _ if self.condition.is(Ill::Rubbish) => 0x7FFF,
            _ => 0x1000 + self.condition.truth() as u16,
        };
        bytes.copy_from_slice(&word.to_be_bytes());
        Ok(())
    }
}

/// `ads1x1x`, one conversion at a time.
pub struct Voltage<B> {
    /// It is taken out while the driver is made anew.
    driver: Option<Ads1x1x<B, Ads1115, Resolution16Bit, OneShot>>,
}

impl Voltage<I2cBus<Converter>> {
    /// Creates the driver over the model.
    pub fn new(condition: &Rc<Condition>) -> Self {
        let chip = Converter {
            condition: condition.clone(),
            pointer: 0,
            config: 0x8583,
            ready: None,
        };
        let driver = Ads1x1x::new_ads1115(I2cBus::new(chip), TargetAddr::default());
        Self {
            driver: Some(driver),
        }
    }
}

impl<B: I2c> Subject for Voltage<B> {
    type Error = Error<B::Error>;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let driver = self.driver.as_mut().unwrap();
        let value = loop {
            match driver.read(channel::SingleA0) {
                Ok(value) => break value,
                Err(nb::Error::WouldBlock) => Timer::after_millis(1).await,
                Err(nb::Error::Other(error)) => return Err(error),
            }
        };
        Ok(Reading {
            right: i64::from(value) == 0x1000 + i64::from(truth),
            plausible: (0x0800..0x7000).contains(&value),
        })
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        // The chip has no reset of its own.
        let bus = self.driver.take().unwrap().destroy_ads1115();
        self.driver = Some(Ads1x1x::new_ads1115(bus, TargetAddr::default()));
        Ok(())
    }
}
