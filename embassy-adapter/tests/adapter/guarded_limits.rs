// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guarded devices that hang, and streams whose peer is dead.
#![cfg(all(feature = "embedded-hal", feature = "embedded-io"))]

use std::cell::Cell;
use std::future::pending;

use atomic_breaker_embassy::{
    Failure, GuardedError, GuardedI2c, GuardedIo, GuardedSpi, State, TimeLimit,
};
use embassy_time::{Duration, with_timeout};
use embedded_hal_async::{i2c, spi};
use embedded_io_async::{self as io, Error as _, Read, Write};

use super::sim::{RULES, Sim, breaker};

const LIMIT: Duration = Duration::from_millis(20);

/// A bus whose clock line is held low.
struct Hung(Cell<u32>);

impl i2c::ErrorType for Hung {
    type Error = i2c::ErrorKind;
}

impl i2c::I2c for Hung {
    async fn transaction(
        &mut self,
        _: u8,
        _: &mut [i2c::Operation<'_>],
    ) -> Result<(), i2c::ErrorKind> {
        self.0.set(self.0.get() + 1);
        pending().await
    }
}

impl spi::ErrorType for Hung {
    type Error = spi::ErrorKind;
}

impl spi::SpiDevice for Hung {
    async fn transaction(
        &mut self,
        _: &mut [spi::Operation<'_, u8>],
    ) -> Result<(), spi::ErrorKind> {
        pending().await
    }
}

/// A driver that knows nothing about breakers.
async fn temperature<I: i2c::I2c>(bus: &mut I) -> Result<u16, I::Error> {
    let mut raw = [0; 2];
    bus.write_read(0x48, &[0], &mut raw).await?;
    Ok(u16::from_be_bytes(raw))
}

#[test]
fn a_hung_bus_trips_by_the_time_limit_of_its_guard() {
    let breaker = breaker(RULES);
    let mut bus = GuardedI2c::new(Hung(Cell::new(0)), &breaker).time_limit(LIMIT);
    let took = Sim::new().run(async {
        for _ in 0..3 {
            let error = temperature(&mut bus).await.unwrap_err();
            assert_eq!(error, GuardedError::TimedOut);
        }
        assert!(
            temperature(&mut bus)
                .await
                .unwrap_err()
                .rejected()
                .is_some()
        );
        assert_eq!(bus.device().0.get(), 3, "then left alone");
    });
    assert_eq!((took, breaker.state()), (60, State::Open));
}

#[test]
fn a_timeout_of_a_guard_has_the_weight_that_the_limit_says() {
    let breaker = breaker(RULES);
    let limit = TimeLimit::from(core::time::Duration::from_millis(20));
    let limit = limit.counting_as(Failure::tripping());
    let mut flash = GuardedSpi::new(Hung(Cell::new(0)), &breaker).time_limit(limit);
    Sim::new().run(async {
        let read = spi::SpiDevice::read(&mut flash, &mut [0_u8]).await;
        assert_eq!(read, Err(GuardedError::TimedOut));
    });
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_timeout_around_a_driver_is_no_substitute() {
    let breaker = breaker(RULES);
    let mut bus = GuardedI2c::new(Hung(Cell::new(0)), &breaker);
    Sim::new().run(async {
        for _ in 0..50 {
            assert!(with_timeout(LIMIT, temperature(&mut bus)).await.is_err());
        }
    });
    assert_eq!(
        breaker.state(),
        State::Closed,
        "the price that the docs state"
    );
}

#[test]
fn a_probe_of_a_hung_bus_opens_the_breaker_again() {
    let breaker = breaker(RULES);
    let mut bus = GuardedI2c::new(Hung(Cell::new(0)), &breaker).time_limit(LIMIT);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.run(async {
        let _ = temperature(&mut bus).await;
    });
    assert_eq!(
        (breaker.state(), breaker.snapshot().trips()),
        (State::Open, 2)
    );
}

/// A modem whose peer is gone: what is written goes into a buffer, and nothing comes back.
struct Deaf;

impl io::ErrorType for Deaf {
    type Error = io::ErrorKind;
}

impl Read for Deaf {
    async fn read(&mut self, _: &mut [u8]) -> Result<usize, io::ErrorKind> {
        pending().await
    }
}

impl Write for Deaf {
    async fn write(&mut self, buffer: &[u8]) -> Result<usize, io::ErrorKind> {
        Ok(buffer.len())
    }

    async fn flush(&mut self) -> Result<(), io::ErrorKind> {
        Ok(())
    }
}

/// A command and its answer, by a driver that knows nothing about breakers.
async fn command<P: Read + Write>(port: &mut P) -> Result<u8, P::Error> {
    let mut answer = [0];
    port.write(b"AT\r").await?;
    port.flush().await?;
    port.read(&mut answer).await?;
    Ok(answer[0])
}

#[test]
fn a_dead_peer_trips_though_writes_succeed() {
    let breaker = breaker(RULES);
    let mut port = GuardedIo::new(Deaf, &breaker).time_limit(LIMIT);
    Sim::new().run(async {
        for _ in 0..3 {
            let error = command(&mut port).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
    });
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_write_into_a_buffer_does_not_close_a_half_open_breaker() {
    let breaker = breaker(RULES);
    let mut port = GuardedIo::new(Deaf, &breaker).time_limit(LIMIT);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.run(async {
        assert!(port.write(b"AT\r").await.is_ok());
        assert!(port.flush().await.is_ok());
        assert_eq!(breaker.state(), State::HalfOpen);
        assert!(command(&mut port).await.is_err());
    });
    assert_eq!(
        (breaker.state(), breaker.snapshot().trips()),
        (State::Open, 2)
    );
}

#[test]
fn writes_count_where_the_user_says_so() {
    let breaker = breaker(RULES);
    let mut log = GuardedIo::new(Deaf, &breaker).trusting_writes();
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.run(async {
        assert!(log.write(b"line").await.is_ok());
    });
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn the_end_of_a_stream_says_nothing() {
    struct Ended;
    impl io::ErrorType for Ended {
        type Error = io::ErrorKind;
    }
    impl Read for Ended {
        async fn read(&mut self, _: &mut [u8]) -> Result<usize, io::ErrorKind> {
            Ok(0)
        }
    }
    let breaker = breaker(RULES);
    let mut port = GuardedIo::new(Ended, &breaker);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.run(async {
        assert_eq!(port.read(&mut [0]).await, Ok(0));
    });
    assert_eq!(
        (breaker.snapshot().entered(), breaker.snapshot().trips()),
        (State::Open, 1)
    );
}

#[test]
fn one_breaker_in_a_guard_and_around_it_never_closes_again_and_in_the_guard_alone_does() {
    struct Works;
    impl i2c::ErrorType for Works {
        type Error = i2c::ErrorKind;
    }
    impl i2c::I2c for Works {
        async fn transaction(
            &mut self,
            _: u8,
            _: &mut [i2c::Operation<'_>],
        ) -> Result<(), i2c::ErrorKind> {
            Ok(())
        }
    }
    let breaker = breaker(RULES);
    let mut bus = GuardedI2c::new(Works, &breaker).time_limit(LIMIT);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(5_000);
    sim.run(async {
        for _ in 0..10 {
            breaker.ready().await;
            let call = breaker.call_timeout(LIMIT, || temperature(&mut bus));
            assert!(call.await.is_err(), "the price that the docs state");
            assert_eq!(breaker.state(), State::Open);
        }
        breaker.ready().await;
        assert_eq!(temperature(&mut bus).await, Ok(0));
        assert_eq!(breaker.state(), State::Closed);
    });
}
