// SPDX-License-Identifier: MIT OR Apache-2.0
//! A journal in flash is opened, keeps an entry, and sends all. The bytes beyond those of `call_timeout` are
//! the journal's.
#![no_std]
#![no_main]

use core::convert::Infallible;
use core::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config};
use code_size::{CONTROL, Silent, Ticks, operation_that_waits, run};
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use flash_journal::{Entry, Journal, JournalConfig};

static WORD: AtomicU32 = AtomicU32::new(0);
static RADIO: Breaker<Ticks, &AtomicU32> = Breaker::over(&WORD, Config::new(), Ticks);

/// Mapped flash with a register, which needs as little driver code as possible.
struct Flash;

impl ErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        for (byte, address) in bytes.iter_mut().zip(offset..) {
            // SAFETY: never run, only measured.
            *byte = unsafe { (address as *const u8).read_volatile() };
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        0x4_0000
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    async fn erase(&mut self, from: u32, _: u32) -> Result<(), Infallible> {
        // SAFETY: never run, only measured.
        unsafe { CONTROL.write_volatile(from) };
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        for (byte, address) in bytes.iter().zip(offset..) {
            // SAFETY: never run, only measured.
            unsafe { (address as *mut u8).write_volatile(*byte) };
        }
        Ok(())
    }
}

async fn send(entry: Entry<'_>) -> Result<u32, Silent> {
    let value = operation_that_waits().await?;
    Ok(value + entry.number)
}

async fn report(reading: &[u8]) -> u32 {
    let config = JournalConfig::new();
    let Ok(mut journal) = Journal::<_, 32>::open(Flash, 0x3_0000..0x4_0000, config).await else {
        return 1;
    };
    if journal.keep(reading).await.is_err() {
        return 2;
    }
    let limit = Duration::from_secs(1);
    match journal.send_all(&RADIO, limit, send).await {
        Ok(sent) => sent.count,
        Err(_) => 3,
    }
}

#[unsafe(no_mangle)]
extern "C" fn entry(reading: &[u8; 16]) -> u32 {
    run(report(reading))
}
