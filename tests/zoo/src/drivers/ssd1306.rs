// SPDX-License-Identifier: MIT OR Apache-2.0
//! A display over I²C, which is only ever written to: SSD1306 and `ssd1306`.

use std::cell::RefCell;
use std::rc::Rc;

use embedded_hal::i2c::I2c;
use ssd1306::mode::{BufferedGraphicsMode, DisplayConfig};
use ssd1306::prelude::{DisplayRotation, DisplaySize128x64, I2CInterface};
use ssd1306::{I2CDisplayInterface, Ssd1306};

use crate::bus::{I2cBus, I2cChip, Nack};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};

/// The model of an SSD1306: its memory, and the commands that say where bytes go.
#[derive(Debug)]
pub struct Panel {
    condition: Rc<Condition>,
    cycles: u32,
    memory: [[u8; 128]; 8],
    /// First and last, of columns and pages.
    columns: [usize; 2],
    pages: [usize; 2],
    at: [usize; 2],
    is_on: bool,
    /// A command of which more bytes come.
    command: Vec<u8>,
}

impl Panel {
    fn power_on(&mut self) {
        self.condition.reset();
        self.memory = [[0; 128]; 8];
        self.is_on = false;
        self.command.clear();
    }

    fn command(&mut self, byte: u8) {
        self.command.push(byte);
        let more = match self.command[0] {
            0x21 | 0x22 => 3,
            0x20 | 0x81 | 0x8D | 0xA8 | 0xD3 | 0xD5 | 0xD9 | 0xDA | 0xDB => 2,
            _ => 1,
        };
        if self.command.len() < more {
            return;
        }
        match self.command[..] {
            [0x21, first, last] => {
                self.columns = [first.into(), last.into()];
                self.at[0] = first.into();
            }
            [0x22, first, last] => {
                self.pages = [first.into(), last.into()];
                self.at[1] = first.into();
            }
            [0xAE] => self.is_on = false,
            [0xAF] => self.is_on = true,
            _ => {}
        }
        self.command.clear();
    }

    fn data(&mut self, byte: u8) {
        let [column, page] = self.at;
        self.memory[page % 8][column % 128] = byte;
        self.at[0] += 1;
        if self.at[0] > self.columns[1] {
            self.at[0] = self.columns[0];
            self.at[1] = match page {
                page if page >= self.pages[1] => self.pages[0],
                page => page + 1,
            };
        }
    }

    /// Returns whether this pixel is lit, and no other.
    fn shows(&self, [x, y]: [usize; 2]) -> bool {
        let is_lit = self.memory[y / 8][x] == 1 << (y % 8);
        let lit = self.memory.as_flattened().iter().map(|it| it.count_ones());
        self.is_on && is_lit && lit.sum::<u32>() == 1 && self.condition.ill().is_none()
    }
}

impl I2cChip for Panel {
    fn listens(&self, address: u8) -> bool {
        address == 0x3C && !self.condition.is(Ill::Silent)
    }

    fn write(&mut self, _: u8, bytes: &[u8]) -> Result<(), Nack> {
        if self.condition.was_cycled(&mut self.cycles) {
            self.power_on();
        }
        // One that is mute stays dark, one that is ill otherwise shows noise; both acknowledge.
        for &byte in &bytes[1..] {
            match bytes[0] {
                0x00 => self.command(byte),
                _ => self.data(byte),
            }
        }
        Ok(())
    }

    fn read(&mut self, _: u8, _: &mut [u8]) -> Result<(), Nack> {
        Ok(())
    }
}

type Driver<B> =
    Ssd1306<I2CInterface<B>, DisplaySize128x64, BufferedGraphicsMode<DisplaySize128x64>>;

/// `ssd1306` with its own picture of the panel.
pub struct Picture<B> {
    driver: Driver<B>,
    panel: Rc<RefCell<Panel>>,
    /// The pixel that is lit.
    last: [u32; 2],
}

impl Picture<I2cBus<Panel>> {
    /// Creates the driver over the model, and switches the panel on.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self::over(condition, |bus| bus)
    }
}

impl<B: I2c> Picture<B> {
    /// Creates the driver over a bus that is made of that of the model, and switches the panel on.
    pub fn over(condition: &Rc<Condition>, wrap: impl FnOnce(I2cBus<Panel>) -> B) -> Self {
        let bus = I2cBus::new(Panel {
            condition: condition.clone(),
            cycles: 0,
            memory: [[0; 128]; 8],
            columns: [0, 127],
            pages: [0, 7],
            at: [0, 0],
            is_on: false,
            command: Vec::new(),
        });
        let panel = bus.chip();
        let interface = I2CDisplayInterface::new(wrap(bus));
        let driver = Ssd1306::new(interface, DisplaySize128x64, DisplayRotation::Rotate0);
        let mut driver = driver.into_buffered_graphics_mode();
        driver.init().unwrap();
        Self {
            driver,
            panel,
            last: [0, 0],
        }
    }
}

impl<B: I2c> Subject for Picture<B> {
    type Error = display_interface::DisplayError;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let [x, y] = std::mem::replace(&mut self.last, [truth % 128, truth % 64]);
        self.driver.set_pixel(x, y, false);
        let [x, y] = self.last;
        self.driver.set_pixel(x, y, true);
        self.driver.flush()?;
        Ok(Reading {
            right: self.panel.borrow().shows(self.last.map(|it| it as usize)),
            // Nobody can look but a person.
            plausible: true,
        })
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        // All of the picture is sent next time, as the panel has forgotten it.
        self.driver.init()
    }
}
