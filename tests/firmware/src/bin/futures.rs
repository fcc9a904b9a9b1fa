// SPDX-License-Identifier: MIT OR Apache-2.0
//! The size of the futures in RAM, beside that of the operation itself: the buffers and drivers that it holds.
#![no_std]
#![no_main]

use core::convert::Infallible;
use core::future::pending;
use core::mem::size_of_val;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;

use atomic_breaker_embassy::word::AtomicU32;
use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedI2c, Retry, static_breaker};
use embassy_executor::Spawner;
use embedded_hal::i2c::{ErrorKind, ErrorType as I2cErrorType, Operation};
use embedded_hal_async::i2c::I2c;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use firmware::pass;
use flash_journal::{Entry, Journal, JournalConfig};
use semihosting::println;

static WORD: AtomicU32 = AtomicU32::new(0);
static RADIO: Breaker<EmbassyClock, &AtomicU32> = Breaker::over(&WORD, Config::new(), EmbassyClock);

static_breaker! {
    struct Handle: Breaker = Breaker::builder(Config::new(), EmbassyClock);
}

/// A bus whose driver holds nothing but what it is given.
struct Bus;

impl I2cErrorType for Bus {
    type Error = ErrorKind;
}

impl I2c for Bus {
    async fn transaction(&mut self, _: u8, _: &mut [Operation<'_>]) -> Result<(), ErrorKind> {
        pending().await
    }
}

/// Erased flash whose driver holds nothing. It keeps the head of the first page only, which the journal reads back.
struct Flash;

const START: u32 = 0x3_0000;
static HEAD: [AtomicU8; 32] = [const { AtomicU8::new(0xFF) }; 32];

impl ErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0xFF);
        if offset == START {
            for (byte, held) in bytes.iter_mut().zip(&HEAD) {
                *byte = held.load(Ordering::Relaxed);
            }
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

    async fn erase(&mut self, _: u32, _: u32) -> Result<(), Infallible> {
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        if offset == START {
            for (byte, held) in bytes.iter().zip(&HEAD) {
                held.store(*byte, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    let send = pending::<Result<(), ()>>;
    let limit = Duration::from_secs(1);
    let policy = Retry::new();
    let mut bus = GuardedI2c::new(Bus, &RADIO).time_limit(limit);
    let mut by_handle = GuardedI2c::new(Bus, Handle).time_limit(limit);
    let mut read = [0; 2];
    println!("{:6}  ready", size_of_val(&RADIO.ready()));
    println!("{:6}  call_async", size_of_val(&RADIO.call_async(send)));
    println!(
        "{:6}  call_timeout",
        size_of_val(&RADIO.call_timeout(limit, send))
    );
    println!("{:6}  retry", size_of_val(&RADIO.retry(policy, send)));
    println!(
        "{:6}  retry_try_limit",
        size_of_val(&RADIO.retry(policy.try_limit(limit), send))
    );
    println!(
        "{:6}  transaction",
        size_of_val(&Bus.write_read(0x48, &[0], &mut read))
    );
    println!(
        "{:6}  guarded_transaction",
        size_of_val(&bus.write_read(0x48, &[0], &mut read))
    );
    println!(
        "{:6}  guarded_transaction_by_handle",
        size_of_val(&by_handle.write_read(0x48, &[0], &mut read))
    );

    let opening = Journal::<_, 32>::open(Flash, START..0x4_0000, JournalConfig::new());
    println!("{:6}  journal_open", size_of_val(&opening));
    let mut journal = opening.await.unwrap();
    println!("{:6}  journal_keep", size_of_val(&journal.keep(&[0; 32])));
    let send = async |_: Entry<'_>| Ok::<(), ()>(());
    println!(
        "{:6}  journal_send_all",
        size_of_val(&journal.send_all(&RADIO, limit, send))
    );
    pass!("bytes of each future are counted");
}
