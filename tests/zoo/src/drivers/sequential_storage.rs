// SPDX-License-Identifier: MIT OR Apache-2.0
//! A map in flash: W25Q32JV, `w25q32jv`, and `sequential-storage` over it.

use std::rc::Rc;

use embassy_time::{Duration, Instant};
use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::Error;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};
use w25q32jv::W25q32jv;

use crate::bus::{Pin, SpiBus, SpiChip};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};

/// The model of a W25Q32JV, of which four sectors are there.
#[derive(Debug)]
pub struct Flash {
    condition: Rc<Condition>,
    cycles: u32,
    bytes: Vec<u8>,
    /// `true` if the next write or erase is permitted.
    is_enabled: bool,
    busy_until: Instant,
    command: Vec<u8>,
}

const SECTOR: usize = 4_096;
const MAP: usize = 4 * SECTOR;

impl Flash {
    fn address(&self) -> usize {
        let address = self.command[1..4].iter();
        address.fold(0, |sum, byte| sum << 8 | usize::from(*byte)) % MAP
    }

    fn is_busy(&self) -> bool {
        self.busy_until > Instant::now()
    }

    /// Programs or erases, unless the chip is mute: then it says that it has.
    fn change(&mut self, change: impl FnOnce(&mut [u8]), takes: u64) {
        if std::mem::take(&mut self.is_enabled) && !self.condition.is(Ill::Mute) {
            change(&mut self.bytes);
            self.busy_until = Instant::now() + Duration::from_millis(takes);
        }
    }
}

impl SpiChip for Flash {
    fn select(&mut self) {
        if self.condition.was_cycled(&mut self.cycles) {
            self.is_enabled = false;
        }
        self.command.clear();
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        if self.condition.is(Ill::Silent) {
            return 0xFF;
        }
        self.command.push(byte);
        let at = self.command.len();
        match self.command[0] {
            0x05 if at > 1 => u8::from(self.is_busy()) | u8::from(self.is_enabled) << 1,
            0x03 if at > 4 && self.condition.is(Ill::Rubbish) => self.condition.noise(),
            0x03 if at > 4 => self.bytes[(self.address() + at - 5) % MAP],
            _ => 0,
        }
    }

    fn deselect(&mut self) {
        let command = std::mem::take(&mut self.command);
        if self.is_busy() || command.is_empty() {
            return;
        }
        self.command = command;
        match self.command[0] {
            0x06 => self.is_enabled = true,
            0x99 => self.condition.reset(),
            0x20 => {
                let sector = self.address() / SECTOR * SECTOR;
                self.change(|bytes| bytes[sector..][..SECTOR].fill(0xFF), 45);
            }
            0x02 => {
                let (at, page) = (self.address(), self.command.split_off(4));
                let program = |bytes: &mut [u8]| {
                    for (cell, byte) in bytes[at..].iter_mut().zip(page) {
                        *cell &= byte;
                    }
                };
                self.change(program, 1);
            }
            _ => {}
        }
    }
}

/// The driver of the chip over its model.
pub type Chip = W25q32jv<SpiBus<Flash>, Pin, Pin>;

/// Creates the driver of the chip over its model, which is erased.
pub fn chip(condition: &Rc<Condition>) -> Chip {
    let chip = Flash {
        condition: condition.clone(),
        cycles: 0,
        bytes: vec![0xFF; MAP],
        is_enabled: false,
        busy_until: Instant::now(),
        command: Vec::new(),
    };
    W25q32jv::new(SpiBus::new(chip), Pin::default(), Pin::default()).unwrap()
}

/// `sequential-storage`: a value is stored and fetched.
pub struct Map<F: NorFlash> {
    driver: MapStorage<u8, F, Cache<Uncached, Uncached, Uncached, u8>>,
}

impl Map<Chip> {
    /// Creates the map over the driver of the chip.
    pub fn new(condition: &Rc<Condition>) -> Self {
        Self::over(chip(condition))
    }
}

impl<F: NorFlash> Map<F> {
    /// Creates the map over a chip.
    pub fn over(chip: F) -> Self {
        let config = MapConfig::new(0..MAP as u32);
        Self {
            driver: MapStorage::new(chip, config, Cache::new_uncached()),
        }
    }
}

impl<F: NorFlash> Subject for Map<F> {
    type Error = Error<F::Error>;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        // So large that the pages are full and are used again every few minutes.
        let (mut buffer, key, value) = ([0; 128], truth as u8 % 8, [truth; 16]);
        self.driver.store_item(&mut buffer, &key, &value).await?;
        let back = self.driver.fetch_item(&mut buffer, &key).await?;
        Ok(Reading::compared(back == Some(value)))
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        // The map keeps nothing of the chip, and the chip nothing of settings.
        Ok(())
    }
}
