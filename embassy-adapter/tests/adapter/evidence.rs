// SPDX-License-Identifier: MIT OR Apache-2.0
//! The evidence of a success: for buses and chips.
#![cfg(all(feature = "embedded-hal", feature = "embedded-storage"))]

use std::cell::Cell;

use atomic_breaker_embassy::{Failure, GuardedFlash, GuardedI2c, GuardedSpi, Outcome, State};
use core::time::Duration;
use embassy_time::MockDriver;
use embedded_hal::i2c::{self, ErrorKind, I2c, NoAcknowledgeSource};
use embedded_hal::spi::{self, SpiDevice};
use embedded_storage::nor_flash::{self, NorFlash, NorFlashErrorKind, ReadNorFlash};

use super::sim::{RULES, Sim, at_once, breaker};

const NACK: ErrorKind = ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address);

/// Acknowledges what is written. What is read fails, unless it works.
#[derive(Default)]
struct Acknowledging {
    works: bool,
}

impl i2c::ErrorType for Acknowledging {
    type Error = ErrorKind;
}

impl I2c for Acknowledging {
    fn transaction(
        &mut self,
        _: u8,
        operations: &mut [i2c::Operation<'_>],
    ) -> Result<(), ErrorKind> {
        let reads = |operation: &i2c::Operation<'_>| matches!(operation, i2c::Operation::Read(_));
        if self.works || !operations.iter().any(reads) {
            return Ok(());
        }
        Err(NACK)
    }
}

impl embedded_hal_async::i2c::I2c for Acknowledging {
    async fn transaction(
        &mut self,
        address: u8,
        operations: &mut [i2c::Operation<'_>],
    ) -> Result<(), ErrorKind> {
        I2c::transaction(self, address, operations)
    }
}

#[test]
fn a_sensor_that_acknowledges_commands_and_never_answers_trips_the_guard_of_its_bus() {
    use embedded_hal_async::i2c::I2c as Async;
    for is_async in [false, true] {
        let mut sim = Sim::new();
        let breaker = breaker(RULES);
        let mut bus = GuardedI2c::new(Acknowledging::default(), &breaker);
        // Command and answer, in two transactions, as drivers of sensors that need time to measure do.
        let mut measure = |works| {
            bus.device().works = works;
            if is_async {
                let _ = at_once(Async::write(&mut bus, 0x44, &[0xFD]));
                at_once(Async::read(&mut bus, 0x44, &mut [0; 6])).is_ok()
            } else {
                let _ = I2c::write(&mut bus, 0x44, &[0xFD]);
                I2c::read(&mut bus, 0x44, &mut [0; 6]).is_ok()
            }
        };
        assert!((0..10).all(|_| !measure(false)));
        assert_eq!(breaker.state(), State::Open);
        sim.pass(1_000);
        assert!(!measure(false), "the command alone does not close it");
        assert_eq!(breaker.snapshot().trips(), 2);
        sim.pass(1_000);
        assert!(measure(true));
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[test]
fn a_display_is_trusted_with_its_writes() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let mut display = GuardedI2c::new(Acknowledging::default(), &breaker).trusting_writes();
    breaker.trip();
    sim.pass(1_000);
    assert_eq!(display.write(0x3C, &[0x40, 0xFF]), Ok(()));
    assert_eq!(breaker.state(), State::Closed);
}

/// An EEPROM that acknowledges nothing while it writes a page, for 5 ms.
struct Eeprom<'a> {
    busy_until_ms: &'a Cell<u64>,
    is_dead: bool,
}

impl i2c::ErrorType for Eeprom<'_> {
    type Error = ErrorKind;
}

impl I2c for Eeprom<'_> {
    fn transaction(&mut self, _: u8, _: &mut [i2c::Operation<'_>]) -> Result<(), ErrorKind> {
        MockDriver::get().advance(embassy_time::Duration::from_millis(1));
        let now_ms = super::sim::now();
        if self.is_dead || now_ms < self.busy_until_ms.get() {
            return Err(NACK);
        }
        self.busy_until_ms.set(now_ms + 5);
        Ok(())
    }
}

/// As drivers of EEPROMs do: writes until the chip acknowledges, for 20 ms at most.
fn write_page(bus: &mut impl I2c) -> bool {
    (0..20).any(|_| bus.write(0x50, &[0; 32]).is_ok())
}

#[test]
fn a_chip_that_is_busy_is_none_that_fails_where_a_row_must_last() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES.lasting(Duration::from_millis(50)));
    let busy_until_ms = Cell::new(0);
    let chip = Eeprom {
        busy_until_ms: &busy_until_ms,
        is_dead: false,
    };
    let mut bus = GuardedI2c::new(chip, &breaker).trusting_writes();
    assert!((0..100).all(|_| write_page(&mut bus)));
    assert_eq!(breaker.state(), State::Closed);
    bus.device().is_dead = true;
    for _ in 0..3 {
        assert!(!write_page(&mut bus));
        sim.pass(100);
    }
    assert_eq!(breaker.state(), State::Open);
}

/// A chip on SPI that is dead reads as the line is: all ones.
struct Line {
    reads: u8,
}

impl spi::ErrorType for Line {
    type Error = spi::ErrorKind;
}

impl SpiDevice for Line {
    fn transaction(
        &mut self,
        operations: &mut [spi::Operation<'_, u8>],
    ) -> Result<(), spi::ErrorKind> {
        for operation in operations {
            if let spi::Operation::Read(buffer) = operation {
                buffer.fill(self.reads);
            }
        }
        Ok(())
    }
}

impl embedded_hal_async::spi::SpiDevice for Line {
    async fn transaction(
        &mut self,
        operations: &mut [spi::Operation<'_, u8>],
    ) -> Result<(), spi::ErrorKind> {
        SpiDevice::transaction(self, operations)
    }
}

fn not_all_ones(read: &[u8]) -> Outcome {
    if read.iter().all(|byte| *byte == 0xFF) {
        Failure::new().into()
    } else {
        Outcome::Success
    }
}

#[test]
fn a_dead_chip_on_spi_is_noticed_by_a_check_of_what_was_read() {
    use embedded_hal_async::spi::SpiDevice as Async;
    for is_async in [false, true] {
        let mut sim = Sim::new();
        let breaker = breaker(RULES);
        let mut chip = GuardedSpi::new(Line { reads: 0xFF }, &breaker).with_check(not_all_ones);
        let mut read = |reads| {
            chip.device().reads = reads;
            let status = &mut [0; 2];
            let operations = &mut [spi::Operation::Write(&[0x9F]), spi::Operation::Read(status)];
            if is_async {
                at_once(Async::transaction(&mut chip, operations)).is_ok()
            } else {
                SpiDevice::transaction(&mut chip, operations).is_ok()
            }
        };
        assert!((0..3).all(|_| read(0xFF)));
        assert!(!read(0xFF));
        assert_eq!(breaker.state(), State::Open);
        sim.pass(1_000);
        assert!(read(0x17));
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[test]
fn nothing_on_spi_shows_that_the_chip_works_unless_it_is_checked_or_trusted() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let mut chip = GuardedSpi::new(Line { reads: 0 }, &breaker);
    breaker.trip();
    sim.pass(1_000);
    for _ in 0..10 {
        assert_eq!(SpiDevice::read(&mut chip, &mut [0_u8]), Ok(()));
        assert_eq!(breaker.state(), State::HalfOpen);
    }
    let mut chip = chip.trusting_writes();
    assert_eq!(SpiDevice::write(&mut chip, &[0_u8]), Ok(()));
    assert_eq!(breaker.state(), State::Closed);
}

/// Reads, and does not write.
struct ReadOnly {
    is_worn: bool,
}

impl nor_flash::ErrorType for ReadOnly {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for ReadOnly {
    const READ_SIZE: usize = 1;

    fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        Ok(())
    }

    fn capacity(&self) -> usize {
        4_096
    }
}

impl NorFlash for ReadOnly {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 256;

    fn erase(&mut self, _: u32, _: u32) -> Result<(), NorFlashErrorKind> {
        if self.is_worn {
            return Err(NorFlashErrorKind::Other);
        }
        Ok(())
    }

    fn write(&mut self, _: u32, _: &[u8]) -> Result<(), NorFlashErrorKind> {
        self.erase(0, 0)
    }
}

impl nor_flash::MultiwriteNorFlash for ReadOnly {}

#[test]
fn a_read_neither_hides_nor_closes_what_a_write_has_opened() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let mut flash = GuardedFlash::new(ReadOnly { is_worn: true }, &breaker);
    assert_eq!(flash.read(0, &mut [0]), Ok(()));
    for _ in 0..3 {
        assert!(flash.write(0, &[0; 4]).is_err());
        let _ = flash.read(0, &mut [0]);
    }
    assert_eq!(breaker.state(), State::Open);
    for trips in 2..5 {
        sim.pass(1_000);
        assert_eq!(flash.read(0, &mut [0]), Ok(()));
        assert_eq!(breaker.state(), State::HalfOpen);
        assert!(flash.erase(0, 256).is_err());
        assert_eq!(breaker.snapshot().trips(), trips);
    }
    flash.device().is_worn = false;
    sim.pass(1_000);
    assert_eq!(flash.write(0, &[0; 4]), Ok(()));
    assert_eq!(breaker.state(), State::Closed);
    // Now a read proves as much as before.
    breaker.trip();
    sim.pass(1_000);
    assert_eq!(flash.read(0, &mut [0]), Ok(()));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_guarded_chip_can_be_written_twice_if_the_chip_can() {
    fn twice(_: &mut impl nor_flash::MultiwriteNorFlash) {}
    let breaker = breaker(RULES);
    twice(&mut GuardedFlash::new(
        ReadOnly { is_worn: false },
        &breaker,
    ));
}

/// A driver that keeps nothing of its bus's error, so that the compiler does not see the guard in it.
#[test]
fn a_retry_around_a_driver_that_hides_its_guarded_bus_closes_again() {
    use atomic_breaker_embassy::{Mutating, Retry};
    use embedded_hal_async::i2c::I2c as Async;
    let breaker = breaker(RULES);
    let sensor = Acknowledging { works: true };
    let mut bus = GuardedI2c::new(sensor, &breaker);
    let mut sim = Sim::new();
    breaker.trip();
    sim.run(async {
        let policy = Retry::new()
            .tries(1)
            .wait_for_breaker(Duration::from_secs(60));
        let read = Mutating(async || Async::read(&mut bus, 0x44, &mut [0; 6]).await.map_err(drop));
        assert_eq!(breaker.retry(policy, read).await, Ok(()));
    });
    assert_eq!(breaker.state(), State::Closed);
}
