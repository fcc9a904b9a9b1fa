// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sensor that measures by itself and is asked whether it has: SCD40 and `scd4x`.

use std::rc::Rc;

use embassy_time::{Duration, Instant, Timer};
use embedded_hal::i2c::I2c;
use scd4x::{Error, Scd4x};

use super::sht4x::words;
use crate::bus::{I2cBus, I2cChip, Nack};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};
use crate::time::Delay;

/// The model of an SCD40, that measures each half second here instead of each five.
#[derive(Debug)]
pub struct Scd40 {
    condition: Rc<Condition>,
    cycles: u32,
    running_since: Option<Instant>,
    /// Measurements that were read.
    read: u64,
    command: u16,
}

impl Scd40 {
    fn measured(&self) -> u64 {
        let running = self.running_since.map(|since| since.elapsed());
        running.map_or(0, |time| time.as_millis() / 500)
    }
}

impl I2cChip for Scd40 {
    fn listens(&self, address: u8) -> bool {
        address == 0x62 && !self.condition.is(Ill::Silent)
    }

    fn write(&mut self, _: u8, bytes: &[u8]) -> Result<(), Nack> {
        if self.condition.was_cycled(&mut self.cycles) {
            self.running_since = None;
        }
        self.command = u16::from_be_bytes([bytes[0], bytes[1]]);
        match self.command {
            0x21B1 => {
                self.running_since = Some(Instant::now());
                self.read = 0;
            }
            0x3F86 => self.running_since = None,
            0x3646 => self.condition.reset(),
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, _: u8, bytes: &mut [u8]) -> Result<(), Nack> {
        let is_ready = self.measured() > self.read && !self.condition.is(Ill::Mute);
        match self.command {
            0xE4B8 => words(&self.condition, &[0x8000 | u16::from(is_ready)], bytes),
            0xEC05 if is_ready => {
                self.read = self.measured();
                let truth = self.condition.truth() as u16;
                words(&self.condition, &[400 + truth, 0x6000, 0x8000], bytes);
            }
            _ => return Err(Nack),
        }
        Ok(())
    }
}

/// `scd4x`, blocking, asked until it is ready.
pub struct Air<B: I2c> {
    driver: Scd4x<B, Delay>,
}

impl Air<I2cBus<Scd40>> {
    /// Creates the driver over the model, and starts measuring.
    pub fn new(condition: &Rc<Condition>) -> Self {
        let chip = Scd40 {
            condition: condition.clone(),
            cycles: 0,
            running_since: None,
            read: 0,
            command: 0,
        };
        let mut driver = Scd4x::new(I2cBus::new(chip), Delay);
        driver.start_periodic_measurement().unwrap();
        Self { driver }
    }
}

impl<B: I2c> Subject for Air<B> {
    type Error = Error<B::Error>;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        while !self.driver.data_ready_status()? {
            Timer::after_millis(20).await;
        }
        let shown = self.driver.measurement()?;
        Ok(Reading {
            right: u32::from(shown.co2) == 400 + truth,
            plausible: (300..5_000).contains(&shown.co2),
        })
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        self.driver.stop_periodic_measurement()?;
        self.driver.reinit()?;
        Timer::after(Duration::from_millis(30)).await;
        self.driver.start_periodic_measurement()
    }
}
