// SPDX-License-Identifier: MIT OR Apache-2.0
//! A display over SPI, of which nothing ever comes back: ILI9341, `ili9341` and `display-interface-spi`.

use std::cell::RefCell;
use std::rc::Rc;

use display_interface::DisplayError;
use display_interface_spi::SPIInterface;
use embedded_hal::spi::SpiDevice;
use ili9341::{DisplaySize240x320, Ili9341, ModeState, Orientation};

use crate::bus::{Pin, SpiBus, SpiChip};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};
use crate::time::Delay;

/// The model of an ILI9341: its memory, as far as it is drawn to.
#[derive(Debug)]
pub struct Screen {
    condition: Rc<Condition>,
    cycles: u32,
    /// High for data, low for a command.
    data: Pin,
    command: u8,
    bytes: Vec<u8>,
    columns: [u16; 2],
    pages: [u16; 2],
    memory: Vec<u16>,
    is_awake: bool,
    is_on: bool,
}

const WIDTH: usize = 240;

impl Screen {
    fn power_on(&mut self) {
        self.condition.reset();
        self.memory = vec![0; WIDTH * 320];
        (self.is_awake, self.is_on) = (false, false);
    }

    fn data(&mut self, byte: u8) {
        self.bytes.push(byte);
        match (self.command, &self.bytes[..]) {
            (0x2A, &[a, b, c, d]) => self.columns = [[a, b], [c, d]].map(u16::from_be_bytes),
            (0x2B, &[a, b, c, d]) => self.pages = [[a, b], [c, d]].map(u16::from_be_bytes),
            (0x2C, bytes) if bytes.len() % 2 == 0 => {
                let pixel = bytes.len() / 2 - 1;
                let color = u16::from_be_bytes([bytes[2 * pixel], bytes[2 * pixel + 1]]);
                let width = usize::from(self.columns[1] - self.columns[0]) + 1;
                let x = usize::from(self.columns[0]) + pixel % width;
                let y = usize::from(self.pages[0]) + pixel / width;
                self.memory[y * WIDTH + x] = color;
            }
            _ => {}
        }
    }

    fn shows(&self, [x, y]: [u16; 2], color: u16) -> bool {
        let is_well = self.is_awake && self.is_on && self.condition.ill().is_none();
        let rows = usize::from(y)..usize::from(y) + 4;
        is_well
            && rows
                .flat_map(|y| &self.memory[y * WIDTH + usize::from(x)..][..4])
                .all(|it| *it == color)
    }
}

impl SpiChip for Screen {
    fn select(&mut self) {
        if self.condition.was_cycled(&mut self.cycles) {
            self.power_on();
        }
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        if self.condition.is(Ill::Silent) {
            return 0;
        }
        if self.data.is_high() {
            self.data(byte);
            return 0;
        }
        self.command = byte;
        self.bytes.clear();
        match byte {
            0x01 => self.power_on(),
            0x11 => self.is_awake = true,
            0x29 => self.is_on = true,
            _ => {}
        }
        0
    }
}

type Driver<B> = Ili9341<SPIInterface<B, Pin>, Pin>;

/// `ili9341`, that draws a square.
pub struct Square<B> {
    driver: Driver<B>,
    screen: Rc<RefCell<Screen>>,
}

impl<B: SpiDevice> Square<B> {
    /// Creates the driver over a bus that is made of that of the model, and switches the screen on.
    pub fn over(condition: &Rc<Condition>, wrap: impl FnOnce(SpiBus<Screen>) -> B) -> Self {
        let data = Pin::default();
        let bus = SpiBus::new(Screen {
            condition: condition.clone(),
            cycles: 0,
            data: data.clone(),
            command: 0,
            bytes: Vec::new(),
            columns: [0, 0],
            pages: [0, 0],
            memory: vec![0; WIDTH * 320],
            is_awake: false,
            is_on: false,
        });
        let screen = bus.chip();
        let interface = SPIInterface::new(wrap(bus), data);
        let (reset, mode) = (Pin::default(), Orientation::PortraitFlipped);
        let driver = Ili9341::new(interface, reset, &mut Delay, mode, DisplaySize240x320);
        Self {
            driver: driver.unwrap(),
            screen,
        }
    }
}

impl Square<SpiBus<Screen>> {
    /// Creates the driver over the model, and switches the screen on.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self::over(condition, |bus| bus)
    }
}

impl<B: SpiDevice> Subject for Square<B> {
    type Error = DisplayError;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let ([x, y], color) = ([truth as u16 % 200, truth as u16 % 300], truth as u16 + 1);
        let pixels = [color; 16];
        self.driver.draw_raw_slice(x, y, x + 3, y + 3, &pixels)?;
        Ok(Reading {
            right: self.screen.borrow().shows([x, y], color),
            // Nobody can look but a person.
            plausible: true,
        })
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        // What `new` does after its resets, which only it can do: a cycle of the power stands in for them.
        self.driver.set_orientation(Orientation::PortraitFlipped)?;
        self.driver.sleep_mode(ModeState::Off)?;
        self.driver.display_mode(ModeState::On)
    }
}
