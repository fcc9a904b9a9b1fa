// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bus that several devices share.
#![cfg(feature = "embedded-hal")]

use std::cell::Cell;

use atomic_breaker_embassy::State;
use embedded_hal::i2c::{self, ErrorKind};

use super::sim::{RULES, Sim, breaker};

/// A sensor that holds the clock line low for good.
struct Holding {
    holds: u8,
}

impl i2c::ErrorType for Holding {
    type Error = ErrorKind;
}

impl embedded_hal_async::i2c::I2c for Holding {
    async fn transaction(
        &mut self,
        address: u8,
        _: &mut [i2c::Operation<'_>],
    ) -> Result<(), ErrorKind> {
        if address == self.holds {
            std::future::pending::<()>().await;
        }
        embassy_time::Timer::after_millis(1).await;
        Ok(())
    }
}

#[test]
fn a_sensor_that_hangs_does_not_open_the_breaker_of_another_on_the_same_bus() {
    use atomic_breaker_embassy::{Device, LimitedI2c};
    use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    use embassy_sync::mutex::Mutex;
    use embedded_hal_async::i2c::I2c as Async;

    let (well, hung) = (breaker(RULES), breaker(RULES));
    let limit = embassy_time::Duration::from_millis(50);
    let bus = LimitedI2c::new(Holding { holds: 0x45 }, limit);
    let bus = Mutex::<NoopRawMutex, _>::new(bus);
    let served = Cell::new(0);
    let read = async |breaker, address: u8, served: &Cell<u32>| {
        let mut sensor = Device::new(address, breaker);
        for _ in 0..200 {
            let reading = sensor.call_async(async |address| {
                let mut bus = bus.lock().await;
                Async::read(&mut *bus, *address, &mut [0; 6]).await
            });
            served.set(served.get() + u32::from(reading.await.is_ok()));
            embassy_time::Timer::after_millis(20).await;
        }
    };
    let none = Cell::new(0);
    let mut sim = Sim::new();
    sim.run(super::sim::both(
        read(&well, 0x44, &served),
        read(&hung, 0x45, &none),
    ));
    assert_eq!((served.get(), well.state()), (200, State::Closed));
    assert_eq!((none.get(), hung.snapshot().trips() > 0), (0, true));
}
