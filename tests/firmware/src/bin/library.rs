// SPDX-License-Identifier: MIT OR Apache-2.0
//! A library with a breaker inside, and a loop that uses it: no executor, no timer of embassy, and a clock that is widened from
//! a counter of 16 bits.
#![no_std]
#![no_main]

use core::sync::atomic::Ordering::Relaxed;

use atomic_breaker_embassy::Clock;
use atomic_breaker_embassy::word::AtomicU32;
use embedded_hal::i2c::{ErrorKind, ErrorType, I2c, NoAcknowledgeSource, Operation};
use firmware::thermometer::{Error, Thermometer};
use firmware::{on_interrupt, pass, start};

/// Stands for a timer of 16 bits that counts milliseconds; it goes round soon.
static COUNTER: AtomicU32 = AtomicU32::new(0xFF00);
static LAST: AtomicU32 = AtomicU32::new(0);

fn count() -> u16 {
    COUNTER.load(Relaxed) as u16
}

#[derive(Clone, Copy)]
struct Widened;

impl Clock for Widened {
    fn now_ms(&self) -> u32 {
        let before = LAST.load(Relaxed);
        let passed = count().wrapping_sub(before as u16);
        let now = before.wrapping_add(passed.into());
        LAST.store(now, Relaxed);
        now
    }
}

/// A bus whose device answers again after a while.
struct Bus {
    back_at: u32,
    asked: u32,
}

impl ErrorType for Bus {
    type Error = ErrorKind;
}

impl I2c for Bus {
    fn transaction(&mut self, _: u8, operations: &mut [Operation<'_>]) -> Result<(), ErrorKind> {
        self.asked += 1;
        if Widened.now_ms() < self.back_at {
            return Err(ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address));
        }
        for operation in operations {
            if let Operation::Read(buffer) = operation {
                buffer.copy_from_slice(&[21, 0x80]);
            }
        }
        Ok(())
    }
}

/// The time for which the device is silent.
const SILENT_MS: u32 = 1_200;

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    on_interrupt(|| {
        COUNTER.fetch_add(1, Relaxed);
    });
    let _ = start();
    let begin = Widened.now_ms();
    let mut bus = Bus {
        back_at: begin + SILENT_MS,
        asked: 0,
    };
    let mut thermometer = Thermometer::new(&mut bus, Widened);
    let (mut failed, mut rested) = (0, 0);
    let degrees = loop {
        match thermometer.degrees() {
            Ok(degrees) => break degrees,
            Err(Error::Bus(_)) => failed += 1,
            Err(Error::Resting { retry_in_ms }) => {
                rested += 1;
                let since = Widened.now_ms();
                while Widened.now_ms().wrapping_sub(since) < retry_in_ms {}
            }
            Err(_) => unreachable!("there are two errors"),
        }
    };
    let took = Widened.now_ms() - begin;
    // Three to trip, then one each 500 ms and a tick or two of 64 ms.
    assert_eq!((degrees, failed, bus.asked), (21, 5, 6));
    assert!((1_500..=2_000).contains(&took), "{took}");
    assert!(
        Widened.now_ms() > 0xFFFF && count() < 0xFF00,
        "it has gone round"
    );
    pass!(
        "{failed} reads of a sensor that was silent for {SILENT_MS} ms, {rested} rests, through a library"
    );
}
