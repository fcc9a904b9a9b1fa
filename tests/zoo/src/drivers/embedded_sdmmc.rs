// SPDX-License-Identifier: MIT OR Apache-2.0
//! A card: SD over SPI, with checksums, and `embedded-sdmmc`.

use std::collections::VecDeque;
use std::rc::Rc;

use embedded_hal::spi::SpiDevice;
use embedded_sdmmc::sdcard::spi::{Error, SdCard};
use embedded_sdmmc::{Block, BlockDevice, BlockIdx};

use crate::bus::{SpiBus, SpiChip};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};
use crate::time::Delay;

/// The model of an SDHC card of 64 blocks.
#[derive(Debug)]
pub struct Card {
    condition: Rc<Condition>,
    cycles: u32,
    is_idle: bool,
    /// `true` if the next command belongs to an application.
    is_escaped: bool,
    input: Input,
    output: VecDeque<u8>,
    blocks: Vec<[u8; 512]>,
}

/// The input that the card expects next.
#[derive(Debug)]
enum Input {
    Command(Vec<u8>),
    /// A block to this place: its token, its bytes, its checksum.
    Block(usize, Vec<u8>),
}

/// The checksum of blocks: x¹⁶ + x¹² + x⁵ + 1.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum = bytes.iter().fold(0_u16, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| match sum & 0x8000 {
            0 => sum << 1,
            _ => (sum << 1) ^ 0x1021,
        })
    });
    sum.to_be_bytes()
}

impl Card {
    fn command(&mut self, command: &[u8]) {
        let place = usize::from(command[4]) % 64;
        let (idle, is_escaped) = (u8::from(self.is_idle), std::mem::take(&mut self.is_escaped));
        self.output.push_back(0xFF);
        match (command[0] & 0x3F, is_escaped) {
            (0, _) => {
                self.condition.reset();
                self.is_idle = true;
                self.output.push_back(1);
            }
            (8, _) => self.output.extend([idle, 0, 0, 1, 0xAA]),
            (41, true) => {
                self.is_idle = false;
                self.output.push_back(0);
            }
            (55, _) => {
                self.is_escaped = true;
                self.output.push_back(idle);
            }
            (58, _) => self.output.extend([idle, 0xC0, 0xFF, 0x80, 0]),
            (13, _) => self.output.extend([idle, 0]),
            // In its idle state the card knows neither reading nor writing.
            (17 | 24, _) if self.is_idle => self.output.push_back(0x05),
            (17, _) => {
                self.output.push_back(0);
                // One that is mute looks for the block for ever.
                if !self.condition.is(Ill::Mute) {
                    let block = self.blocks[place];
                    self.output.extend([0xFF, 0xFE]);
                    self.output.extend(block);
                    let rubbish = u8::from(self.condition.is(Ill::Rubbish));
                    self.output.extend(checksum(&block).map(|it| it ^ rubbish));
                }
            }
            (24, _) => {
                self.output.push_back(0);
                self.input = Input::Block(place, Vec::new());
            }
            _ => self.output.push_back(idle),
        }
    }

    fn take(&mut self, byte: u8) {
        match &mut self.input {
            Input::Command(bytes) => {
                // Between commands the line is high.
                if bytes.is_empty() && byte >> 6 != 1 {
                    return;
                }
                bytes.push(byte);
                if bytes.len() == 6 {
                    let command = std::mem::take(bytes);
                    self.output.clear();
                    self.command(&command);
                }
            }
            Input::Block(place, bytes) => {
                if bytes.is_empty() && byte != 0xFE {
                    return;
                }
                bytes.push(byte);
                if bytes.len() == 515 {
                    let is_right = bytes[513..] == checksum(&bytes[1..513]);
                    if is_right {
                        self.blocks[*place].copy_from_slice(&bytes[1..513]);
                    }
                    // Accepted, or not; then busy for a while.
                    let answer = if is_right { 0x05 } else { 0x0B };
                    self.output.extend([answer, 0, 0, 0]);
                    self.input = Input::Command(Vec::new());
                }
            }
        }
    }
}

impl SpiChip for Card {
    fn select(&mut self) {
        if self.condition.was_cycled(&mut self.cycles) {
            self.is_idle = true;
            self.is_escaped = false;
            self.output.clear();
            self.input = Input::Command(Vec::new());
        }
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        if self.condition.is(Ill::Silent) {
            return 0xFF;
        }
        let out = self.output.pop_front().unwrap_or(0xFF);
        self.take(byte);
        out
    }
}

/// `embedded-sdmmc`: a block is written and read back.
pub struct Blocks<B: SpiDevice> {
    driver: SdCard<B, Delay>,
}

impl Blocks<SpiBus<Card>> {
    /// Creates the driver over the model.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self::over(bus(condition))
    }
}

/// Creates the bus with the card.
pub fn bus(condition: &Rc<Condition>) -> SpiBus<Card> {
    SpiBus::new(Card {
        condition: condition.clone(),
        cycles: 0,
        is_idle: true,
        is_escaped: false,
        input: Input::Command(Vec::new()),
        output: VecDeque::new(),
        blocks: vec![[0; 512]; 64],
    })
}

impl<B: SpiDevice> Blocks<B> {
    /// Creates the driver over a bus.
    pub fn over(bus: B) -> Self {
        Self {
            driver: SdCard::new(bus, Delay),
        }
    }
}

impl<B: SpiDevice> Subject for Blocks<B> {
    type Error = Error;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let place = BlockIdx(truth % 64);
        let mut block = Block::new();
        block.contents[..4].copy_from_slice(&truth.to_be_bytes());
        self.driver.write(std::slice::from_ref(&block), place)?;
        let mut back = [Block::new()];
        self.driver.read(&mut back, place)?;
        Ok(Reading::compared(back[0].contents == block.contents))
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        // The driver sets the card up before it next uses it.
        self.driver.mark_card_uninit();
        Ok(())
    }
}
