// SPDX-License-Identifier: MIT OR Apache-2.0
//! The emulated flash of an nRF51: written in words, erased in pages of 1 KiB.

use core::convert::Infallible;

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

const READY: *const u32 = 0x4001_E400 as *const u32;
const CONFIG: *mut u32 = 0x4001_E504 as *mut u32;
const ERASEPAGE: *mut u32 = 0x4001_E508 as *mut u32;

/// The operations that `CONFIG` lets the processor do.
const READ_ONLY: u32 = 0;
const WRITE: u32 = 1;
const ERASE: u32 = 2;

const PAGE: usize = 1024;
const WORD: usize = 4;

/// The flash controller. One at a time.
pub struct Nvmc;

/// Lets the processor do that meanwhile.
fn with_config(config: u32, change: impl FnOnce()) {
    // SAFETY: registers of the emulated board, which only this module touches.
    unsafe {
        CONFIG.write_volatile(config);
        change();
        while READY.read_volatile() == 0 {}
        CONFIG.write_volatile(READ_ONLY);
    }
}

impl ErrorType for Nvmc {
    type Error = Infallible;
}

impl ReadNorFlash for Nvmc {
    const READ_SIZE: usize = WORD;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        assert!(offset as usize + bytes.len() <= self.capacity());
        for (word, address) in bytes.chunks_mut(WORD).zip((offset..).step_by(WORD)) {
            // SAFETY: within the flash, which is mapped from 0 on.
            let read = unsafe { (address as *const u32).read_volatile() };
            word.copy_from_slice(&read.to_le_bytes()[..word.len()]);
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        256 * 1024
    }
}

impl NorFlash for Nvmc {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        for page in (from..to).step_by(PAGE) {
            // SAFETY: a register of the emulated board.
            with_config(ERASE, || unsafe { ERASEPAGE.write_volatile(page) });
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        assert!(offset as usize + bytes.len() <= self.capacity());
        with_config(WRITE, || {
            for (word, address) in bytes.chunks_exact(WORD).zip((offset..).step_by(WORD)) {
                let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                // SAFETY: within the flash, where no program is: the journal's range.
                unsafe { (address as *mut u32).write_volatile(word) };
            }
        });
        Ok(())
    }
}
