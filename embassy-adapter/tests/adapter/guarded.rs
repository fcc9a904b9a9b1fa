// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unmodified drivers behind a breaker.
#![cfg(all(feature = "embedded-hal", feature = "embedded-io"))]

use atomic_breaker_embassy::{
    Breaker, EmbassyClock, Failure, GuardedError, GuardedI2c, GuardedIo, GuardedSpi, Outcome,
    Rejected, State,
};
use embedded_hal::i2c::{self, Error as _, I2c, NoAcknowledgeSource};
use embedded_hal::spi::{self, SpiDevice};
use embedded_io_async as io;

use super::sim::{RULES, Sim, at_once, breaker};

/// A device on any bus that fails as a test tells it to, and counts what reaches it.
struct Fake<E> {
    fails: Option<E>,
    reached: u32,
}

impl<E: Copy> Fake<E> {
    fn new(fails: Option<E>) -> Self {
        Self { fails, reached: 0 }
    }

    fn answer(&mut self) -> Result<(), E> {
        self.reached += 1;
        self.fails.map_or(Ok(()), Err)
    }
}

impl i2c::ErrorType for Fake<i2c::ErrorKind> {
    type Error = i2c::ErrorKind;
}

impl I2c for Fake<i2c::ErrorKind> {
    fn transaction(&mut self, _: u8, _: &mut [i2c::Operation<'_>]) -> Result<(), i2c::ErrorKind> {
        self.answer()
    }
}

impl embedded_hal_async::i2c::I2c for Fake<i2c::ErrorKind> {
    async fn transaction(
        &mut self,
        _: u8,
        _: &mut [i2c::Operation<'_>],
    ) -> Result<(), i2c::ErrorKind> {
        self.answer()
    }
}

impl spi::ErrorType for Fake<spi::ErrorKind> {
    type Error = spi::ErrorKind;
}

impl SpiDevice for Fake<spi::ErrorKind> {
    fn transaction(&mut self, _: &mut [spi::Operation<'_, u8>]) -> Result<(), spi::ErrorKind> {
        self.answer()
    }
}

impl embedded_hal_async::spi::SpiDevice for Fake<spi::ErrorKind> {
    async fn transaction(
        &mut self,
        _: &mut [spi::Operation<'_, u8>],
    ) -> Result<(), spi::ErrorKind> {
        self.answer()
    }
}

impl io::ErrorType for Fake<io::ErrorKind> {
    type Error = io::ErrorKind;
}

impl io::Read for Fake<io::ErrorKind> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, io::ErrorKind> {
        self.answer().map(|()| buffer.len())
    }
}

impl io::Write for Fake<io::ErrorKind> {
    async fn write(&mut self, buffer: &[u8]) -> Result<usize, io::ErrorKind> {
        self.answer().map(|()| buffer.len())
    }

    async fn flush(&mut self) -> Result<(), io::ErrorKind> {
        self.answer()
    }
}

/// A driver that knows nothing about breakers.
fn temperature<I: I2c>(bus: &mut I) -> Result<u16, I::Error> {
    let mut raw = [0; 2];
    bus.write_read(0x48, &[0], &mut raw)?;
    Ok(u16::from_be_bytes(raw))
}

const NACK: i2c::ErrorKind = i2c::ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address);

#[test]
fn an_unmodified_driver_is_stopped_after_three_failures_and_comes_back() {
    let mut sim = Sim::new();
    let breaker = breaker(RULES);
    let mut bus = GuardedI2c::new(Fake::new(Some(NACK)), &breaker);
    for _ in 0..3 {
        let error = temperature(&mut bus).unwrap_err();
        assert_eq!(error, GuardedError::Device(NACK));
        assert_eq!(error.kind(), NACK, "the kind is kept");
    }
    let rejected = temperature(&mut bus).unwrap_err();
    assert_eq!(rejected.kind(), i2c::ErrorKind::Other);
    assert_eq!(
        rejected.rejected().and_then(Rejected::retry_in_ms),
        Some(1_000)
    );
    assert_eq!(bus.device().reached, 3, "the bus was left alone");

    bus.device().fails = None;
    sim.pass(1_000);
    assert_eq!(temperature(&mut bus), Ok(0));
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(bus.release().reached, 4);
}

type I2cCall = fn(&mut GuardedI2c<Fake<i2c::ErrorKind>, &Breaker>) -> bool;

#[test]
fn every_i2c_operation_is_guarded_blocking_and_async() {
    let _time = Sim::new();
    let calls: [I2cCall; 8] = [
        |bus| I2c::read(bus, 1_u8, &mut [0]).is_err(),
        |bus| I2c::write(bus, 1_u8, &[0]).is_err(),
        |bus| I2c::write_read(bus, 1_u8, &[0], &mut [0]).is_err(),
        |bus| I2c::transaction(bus, 1_u8, &mut []).is_err(),
        |bus| at_once(embedded_hal_async::i2c::I2c::read(bus, 1_u8, &mut [0])).is_err(),
        |bus| at_once(embedded_hal_async::i2c::I2c::write(bus, 1_u8, &[0])).is_err(),
        |bus| {
            at_once(embedded_hal_async::i2c::I2c::write_read(
                bus,
                1_u8,
                &[0],
                &mut [0],
            ))
            .is_err()
        },
        |bus| {
            at_once(embedded_hal_async::i2c::I2c::transaction(
                bus,
                1_u8,
                &mut [],
            ))
            .is_err()
        },
    ];
    for call in calls {
        let breaker = Breaker::new(RULES, EmbassyClock);
        let mut bus = GuardedI2c::new(Fake::new(None), &breaker);
        assert!(!call(&mut bus));
        bus.device().fails = Some(NACK);
        assert!((0..5).all(|_| call(&mut bus)));
        assert_eq!(bus.device().reached, 4, "then rejected");
    }
}

type SpiCall = fn(&mut GuardedSpi<Fake<spi::ErrorKind>, &Breaker>) -> bool;

#[test]
fn every_spi_operation_is_guarded_blocking_and_async() {
    use embedded_hal_async::spi::SpiDevice as Async;
    let _time = Sim::new();
    let calls: [SpiCall; 10] = [
        |bus| SpiDevice::read(bus, &mut [0_u8]).is_err(),
        |bus| SpiDevice::write(bus, &[0_u8]).is_err(),
        |bus| SpiDevice::transfer(bus, &mut [0_u8], &[0]).is_err(),
        |bus| SpiDevice::transfer_in_place(bus, &mut [0_u8]).is_err(),
        |bus| SpiDevice::<u8>::transaction(bus, &mut []).is_err(),
        |bus| at_once(Async::read(bus, &mut [0_u8])).is_err(),
        |bus| at_once(Async::write(bus, &[0_u8])).is_err(),
        |bus| at_once(Async::transfer(bus, &mut [0_u8], &[0])).is_err(),
        |bus| at_once(Async::transfer_in_place(bus, &mut [0_u8])).is_err(),
        |bus| at_once(Async::<u8>::transaction(bus, &mut [])).is_err(),
    ];
    for call in calls {
        let breaker = Breaker::new(RULES, EmbassyClock);
        let mut bus = GuardedSpi::new(Fake::new(None), &breaker);
        assert!(!call(&mut bus));
        bus.device().fails = Some(spi::ErrorKind::ModeFault);
        assert!((0..5).all(|_| call(&mut bus)));
        assert_eq!(bus.device().reached, 4, "then rejected");
    }
}

type IoCall = fn(&mut GuardedIo<Fake<io::ErrorKind>, &Breaker>) -> bool;

#[test]
fn writes_and_flushes_of_a_stream_are_guarded() {
    use io::Write;
    let _time = Sim::new();
    let calls: [IoCall; 2] = [
        |port| at_once(port.write(&[0; 4])).is_err(),
        |port| at_once(port.flush()).is_err(),
    ];
    for call in calls {
        let breaker = Breaker::new(RULES, EmbassyClock);
        let mut port = GuardedIo::new(Fake::new(None), &breaker);
        assert!(!call(&mut port));
        port.device().fails = Some(io::ErrorKind::ConnectionReset);
        assert!((0..5).all(|_| call(&mut port)));
        assert_eq!(port.device().reached, 4, "then rejected");
    }
}

#[test]
fn errors_that_are_not_the_devices_fault_do_not_count() {
    let _time = Sim::new();
    let breaker = breaker(RULES);
    let mut bus = GuardedI2c::new(Fake::new(Some(i2c::ErrorKind::ArbitrationLoss)), &breaker);
    let mut port = GuardedIo::new(Fake::new(Some(io::ErrorKind::InvalidInput)), &breaker);
    for _ in 0..10 {
        assert!(temperature(&mut bus).is_err());
        assert!(at_once(io::Write::write(&mut port, &[1])).is_err());
        assert_eq!(breaker.snapshot().failures(), 0);
    }
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn kinds_have_the_weights_that_are_set() {
    fn classify(kind: i2c::ErrorKind) -> Outcome {
        match kind {
            i2c::ErrorKind::Bus => Failure::tripping().into(),
            _ => Failure::new().into(),
        }
    }
    let _time = Sim::new();
    let breaker = breaker(RULES);
    let mut bus = GuardedI2c::new(Fake::new(Some(NACK)), &breaker).with_classifier(classify);
    assert!(temperature(&mut bus).is_err());
    assert_eq!(breaker.snapshot().failures(), 1);
    bus.device().fails = Some(i2c::ErrorKind::Bus);
    assert!(temperature(&mut bus).is_err());
    assert_eq!(breaker.state(), State::Open);
}
