// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CAN controller over SPI, and a node that answers on the bus: MCP2515 and `mcp25xx`.

use std::rc::Rc;

use embassy_time::{Duration, Instant, Timer};
use embedded_can::nb::Can;
use embedded_can::{Frame, Id, StandardId};
use mcp25xx::bitrates::clock_16mhz::CNF_500K_BPS;
use mcp25xx::registers::{OperationMode, RXB0CTRL, RXM};
use mcp25xx::{CanFrame, Config, MCP25xx};

use crate::bus::{SpiBus, SpiChip};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};

/// The model of an MCP2515 with three buffers to send and one to receive, and of a node that answers a frame two milliseconds
/// later.
#[derive(Debug)]
pub struct Controller {
    condition: Rc<Condition>,
    cycles: u32,
    registers: [u8; 128],
    command: Vec<u8>,
    /// The time of the answer, and the buffer that it answers.
    answer: Option<(Instant, usize)>,
}

const CANCTRL: usize = 0x0F;
const CNF1: usize = 0x2A;
/// The buffers to send: a register of control each, then identifier and data.
const SENT: [usize; 3] = [0x30, 0x40, 0x50];
const RECEIVED: usize = 0x61;
const FLAGS: usize = 0x2C;

const QUESTION: u16 = 0x123;
const ANSWER: u16 = 0x124;

impl Controller {
    fn power_on(&mut self) {
        self.registers = [0; 128];
        self.registers[CANCTRL] = 0x87;
        self.answer = None;
    }

    /// The bits of the status that say which buffers wait to be sent.
    fn waiting(&self) -> u8 {
        let bits = SENT.iter().zip([0x04, 0x10, 0x40]);
        bits.map(|(at, bit)| {
            if self.registers[*at] & 0x08 == 0 {
                0
            } else {
                bit
            }
        })
        .sum()
    }

    /// Sends what is to be sent, and receives the answer.
    fn work(&mut self) {
        let is_normal = self.registers[CANCTRL] >> 5 == 0 && self.registers[CNF1 - 1] != 0;
        if !is_normal || self.condition.is(Ill::Mute) {
            return;
        }
        for at in SENT {
            if self.registers[at] & 0x08 != 0 {
                self.registers[at] &= !0x08;
                self.answer = Some((Instant::now() + Duration::from_millis(2), at + 1));
            }
        }
        if let Some((then, sent)) = self.answer
            && then <= Instant::now()
        {
            self.answer = None;
            self.registers.copy_within(sent..sent + 13, RECEIVED);
            self.registers[RECEIVED] = (ANSWER >> 3) as u8;
            self.registers[RECEIVED + 1] = (ANSWER << 5) as u8;
            self.registers[FLAGS] |= 0x01;
        }
    }
}

impl SpiChip for Controller {
    fn select(&mut self) {
        if self.condition.was_cycled(&mut self.cycles) {
            self.power_on();
        }
        self.work();
        self.command.clear();
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        if self.condition.is(Ill::Silent) {
            return 0xFF;
        }
        self.command.push(byte);
        let at = self.command.len();
        match self.command[..] {
            [0xC0] => {
                self.condition.reset();
                self.power_on();
                0
            }
            [0x02, address, .., value] if at > 2 => {
                self.registers[usize::from(address) + at - 3] = value;
                0
            }
            // The identifier and what follows.
            [load @ (0x40 | 0x42 | 0x44), .., value] if at > 1 => {
                self.registers[SENT[usize::from(load & 0x06) / 2] + at - 1] = value;
                0
            }
            [send @ (0x81 | 0x82 | 0x84)] => {
                self.registers[SENT[usize::from(send & 0x06) / 2]] |= 0x08;
                0
            }
            [0xA0, _] if self.condition.is(Ill::Rubbish) => 0x01,
            [0xA0, _] => (self.registers[FLAGS] & 0x01) | self.waiting(),
            [0x90, ..] if at > 1 && self.condition.is(Ill::Rubbish) => self.condition.noise(),
            [0x90, ..] if at > 1 => self.registers[RECEIVED + at - 2],
            _ => 0,
        }
    }

    fn deselect(&mut self) {
        if self.command.first() == Some(&0x90) {
            self.registers[FLAGS] &= !0x01;
        }
    }
}

/// The bare driver over the model.
pub type Driver = MCP25xx<SpiBus<Controller>>;

/// Creates the driver over the model, not set up.
pub fn driver(condition: &Rc<Condition>) -> Driver {
    let mut chip = Controller {
        condition: condition.clone(),
        cycles: 0,
        registers: [0; 128],
        command: Vec::new(),
        answer: None,
    };
    chip.power_on();
    MCP25xx {
        spi: SpiBus::new(chip),
    }
}

/// Resets the controller and sets it up.
pub fn set_up(driver: &mut Driver) {
    let config = Config::default()
        .mode(OperationMode::NormalOperation)
        .bitrate(CNF_500K_BPS)
        .receive_buffer_0(RXB0CTRL::default().with_rxm(RXM::ReceiveAny));
    let Ok(()) = driver.apply_config(&config);
}

/// `mcp25xx`: a question to another node, and its answer.
pub struct Question<C, S> {
    can: C,
    set_up: S,
}

impl Question<Driver, fn(&mut Driver)> {
    /// Creates the driver over the model, and sets the controller up.
    pub fn new(condition: &Rc<Condition>) -> Self {
        let mut can = driver(condition);
        set_up(&mut can);
        Self::over(can, set_up)
    }
}

impl<C, S: FnMut(&mut C)> Question<C, S> {
    /// Creates it over a controller that is set up.
    pub const fn over(can: C, set_up: S) -> Self {
        Self { can, set_up }
    }
}

impl<C: Can<Frame = CanFrame>, S: FnMut(&mut C)> Subject for Question<C, S> {
    type Error = C::Error;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let id = |raw| StandardId::new(raw).unwrap();
        let question = CanFrame::new(id(QUESTION), &truth.to_be_bytes()).unwrap();
        loop {
            match self.can.transmit(&question) {
                Ok(_) => break,
                Err(nb::Error::WouldBlock) => Timer::after_millis(1).await,
                Err(nb::Error::Other(error)) => return Err(error),
            }
        }
        loop {
            match self.can.receive() {
                Ok(frame) => {
                    return Ok(Reading {
                        right: frame.data() == truth.to_be_bytes(),
                        plausible: frame.id() == Id::Standard(id(ANSWER)),
                    });
                }
                Err(nb::Error::WouldBlock) => Timer::after_millis(1).await,
                Err(nb::Error::Other(error)) => return Err(error),
            }
        }
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        (self.set_up)(&mut self.can);
        Ok(())
    }
}
