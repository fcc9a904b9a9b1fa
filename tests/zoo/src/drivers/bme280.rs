// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temperature, pressure and humidity in registers, without a checksum: BME280 and `bme280`.

use std::rc::Rc;

use bme280::Error;
use bme280::i2c::BME280;
use embassy_time::{Duration, Instant};
use embedded_hal::i2c::I2c;

use crate::bus::{I2cBus, I2cChip, Nack};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};
use crate::time::Delay;

/// The model of a BME280. Its calibration makes the raw values simple.
#[derive(Debug)]
pub struct Bme280 {
    condition: Rc<Condition>,
    cycles: u32,
    registers: [u8; 256],
    pointer: u8,
    /// The end of the measurement.
    ready: Option<Instant>,
}

const RESET: u8 = 0xE0;
const HUMIDITY: u8 = 0xF2;
const CONTROL: u8 = 0xF4;
const DATA: u8 = 0xF7;

impl Bme280 {
    fn new(condition: &Rc<Condition>) -> Self {
        let mut chip = Self {
            condition: condition.clone(),
            cycles: 0,
            registers: [0; 256],
            pointer: 0,
            ready: None,
        };
        chip.power_on();
        chip
    }

    fn power_on(&mut self) {
        self.registers = [0; 256];
        self.ready = None;
        self.registers[0xD0] = 0x60;
        // A raw 5,120 is a degree, a tenth of a pascal less is one more, and 65,536 are 100 % of humidity.
        self.registers[0x8A..0x8C].copy_from_slice(&16_384_i16.to_le_bytes());
        self.registers[0x8E..0x90].copy_from_slice(&62_500_u16.to_le_bytes());
        self.registers[0xE1..0xE3].copy_from_slice(&100_i16.to_le_bytes());
        self.show(0x8_0000, 0x8_0000, 0x8000);
    }

    fn show(&mut self, pressure: u32, temperature: u32, humidity: u16) {
        let data = &mut self.registers[usize::from(DATA)..];
        data[..3].copy_from_slice(&(pressure << 12).to_be_bytes()[..3]);
        data[3..6].copy_from_slice(&(temperature << 12).to_be_bytes()[..3]);
        data[6..8].copy_from_slice(&humidity.to_be_bytes());
    }

    /// Ends a measurement whose time has come.
    fn measure(&mut self) {
        if self.ready.is_none_or(|ready| ready > Instant::now()) {
            return;
        }
        self.ready = None;
        self.registers[usize::from(CONTROL)] &= !0x03;
        if self.condition.is(Ill::Mute) {
            return;
        }
        let control = self.registers[usize::from(CONTROL)];
        let truth = self.condition.truth();
        // Without oversampling a value is skipped, and its register keeps that of the reset.
        let temperature = match control >> 5 {
            0 => 0x8_0000,
            _ => 20 * 5_120 + truth,
        };
        let pressure = match control >> 2 & 0x07 {
            0 => 0x8_0000,
            _ => 1_048_576 - 10 * (100_000 + truth),
        };
        let humidity = match self.registers[usize::from(HUMIDITY)] & 0x07 {
            0 => 0x8000,
            _ => 30_000 + truth as u16,
        };
        self.show(pressure, temperature, humidity);
    }
}

impl I2cChip for Bme280 {
    fn listens(&self, address: u8) -> bool {
        address == 0x76 && !self.condition.is(Ill::Silent)
    }

    fn write(&mut self, _: u8, bytes: &[u8]) -> Result<(), Nack> {
        if self.condition.was_cycled(&mut self.cycles) {
            self.power_on();
        }
        self.measure();
        self.pointer = bytes[0];
        match *bytes {
            [RESET, 0xB6] => {
                self.condition.reset();
                self.power_on();
            }
            [CONTROL, value] => {
                self.registers[usize::from(CONTROL)] = value;
                if value & 0x03 == 1 {
                    self.ready = Some(Instant::now() + Duration::from_millis(10));
                }
            }
            [register, value] => self.registers[usize::from(register)] = value,
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, _: u8, bytes: &mut [u8]) -> Result<(), Nack> {
        self.measure();
        bytes.copy_from_slice(&self.registers[usize::from(self.pointer)..][..bytes.len()]);
        if self.condition.is(Ill::Rubbish) && self.pointer == DATA {
            bytes.fill_with(|| self.condition.noise());
        }
        Ok(())
    }
}

/// `bme280`, blocking.
pub struct Weather<B: I2c> {
    driver: BME280<B>,
    last: u32,
}

impl Weather<I2cBus<Bme280>> {
    /// Creates the driver over the model, and sets the chip up.
    pub fn new(condition: &Rc<Condition>) -> Self {
        let bus = I2cBus::new(Bme280::new(condition));
        let mut driver = BME280::new_primary(bus);
        driver.init(&mut Delay).unwrap();
        Self { driver, last: 0 }
    }
}

impl<B: I2c> Subject for Weather<B> {
    type Error = Error<B::Error>;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let shown = self.driver.measure(&mut Delay)?;
        let truth = f32::from(truth as u16);
        let is = |value: f32, expected: f32| (value - expected).abs() < 0.3;
        Ok(Reading {
            right: is(shown.temperature * 5_120.0, 20.0 * 5_120.0 + truth)
                && is(shown.pressure, 100_000.0 + truth)
                && is(shown.humidity * 655.36, 30_000.0 + truth),
            // As narrow as the place allows, as power-on values and noise lie within the range of the chip. And of 20 bits
            // of pressure the last ones never stand still.
            plausible: (10.0..40.0).contains(&shown.temperature)
                && (90_000.0..105_000.0).contains(&shown.pressure)
                && std::mem::replace(&mut self.last, shown.pressure.to_bits())
                    != shown.pressure.to_bits(),
        })
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        // With its reset and its settings.
        self.driver.init(&mut Delay)
    }
}
