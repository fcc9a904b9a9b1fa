// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flash chip that falls asleep, and a modem that hangs.

use embassy_time::Timer;
use embedded_io::{ErrorKind, ErrorType as IoErrorType, Read, Write};
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use firmware::block_for_ms;

use crate::day::{Ailment, Day};

const PAGE: usize = 1_024;
pub const CAPACITY: usize = 24 * PAGE;

/// A flash chip on a bus of its own.
pub struct Chip<'d> {
    day: &'d Day,
    ailment: Ailment<'d>,
    bytes: &'d mut [u8; CAPACITY],
}

impl<'d> Chip<'d> {
    pub fn new(day: &'d Day, bytes: &'d mut [u8; CAPACITY]) -> Self {
        Self {
            day,
            ailment: Ailment::from_hour(6, 1, day),
            bytes,
        }
    }

    fn answer(&self) -> Result<(), NorFlashErrorKind> {
        if self.ailment.ails() {
            let _call = self.day.call_in_vain();
            return Err(NorFlashErrorKind::Other);
        }
        Ok(())
    }

    pub async fn wake_up(&mut self) {
        Timer::after_millis(5).await;
        self.ailment.treat(1);
    }

    pub async fn cycle_power(&mut self) {
        Timer::after_millis(100).await;
        self.ailment.treat(2);
    }
}

impl ErrorType for Chip<'_> {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Chip<'_> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        self.answer()?;
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        CAPACITY
    }
}

impl NorFlash for Chip<'_> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        self.answer()?;
        Timer::after_millis(50).await;
        self.bytes[from as usize..to as usize].fill(0xFF);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        self.answer()?;
        Timer::after_millis(1).await;
        self.bytes[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// A modem on a serial port that blocks. It answers with two letters.
pub struct Modem<'d> {
    day: &'d Day,
    ailment: Ailment<'d>,
    answer: [u8; 2],
}

impl<'d> Modem<'d> {
    pub fn new(day: &'d Day) -> Self {
        Self {
            day,
            ailment: Ailment::from_hour(3, 3, day),
            answer: *b"OK",
        }
    }

    pub fn cycle_power(&mut self) {
        self.day.is_joined.set(false);
        block_for_ms(2_000);
        self.ailment.treat(3);
    }

    fn is_joined(&self) -> bool {
        if self.ailment.ails() {
            self.day.is_joined.set(false);
        }
        self.day.is_joined.get()
    }
}

impl IoErrorType for Modem<'_> {
    type Error = ErrorKind;
}

impl Write for Modem<'_> {
    fn write(&mut self, command: &[u8]) -> Result<usize, ErrorKind> {
        self.answer = *b"OK";
        match command {
            b"ATZ\r" => self.ailment.treat(1),
            b"AT+CFUN=1,1\r" => self.ailment.treat(2),
            b"AT+JOIN\r" => self.day.is_joined.set(true),
            b"AT+JOIN?\r" if !self.is_joined() => self.answer = *b"NO",
            _ => {}
        }
        Ok(command.len())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Read for Modem<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        if self.ailment.ails() {
            let _call = self.day.call_in_vain();
            // The port's own patience.
            block_for_ms(500);
            return Err(ErrorKind::TimedOut);
        }
        buffer.copy_from_slice(&self.answer[..buffer.len()]);
        Ok(buffer.len())
    }
}
