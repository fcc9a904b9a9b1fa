// SPDX-License-Identifier: MIT OR Apache-2.0
//! A driver with a breaker inside, as a crate with `#![no_std]`: users bring the bus and a clock.

use core::time::Duration;

pub use atomic_breaker_embassy::Clock;
use atomic_breaker_embassy::{Breaker, Config, GuardedError, GuardedI2c};
use embedded_hal::i2c::{I2c, SevenBitAddress};

/// A thermometer that is left alone for a while when it does not answer.
pub struct Thermometer<D, C: Clock> {
    bus: GuardedI2c<D, Breaker<C>>,
}

/// The reason why there is no measurement.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error<E> {
    /// It has not answered of late, and was not asked.
    Resting {
        /// The time after which to ask again, in milliseconds.
        retry_in_ms: u32,
    },
    /// The bus failed.
    Bus(E),
}

impl<D: I2c<SevenBitAddress>, C: Clock> Thermometer<D, C> {
    pub const fn new(bus: D, clock: C) -> Self {
        let rules = Config::new()
            .consecutive_failures(3)
            .open_for(Duration::from_millis(500));
        let bus = GuardedI2c::new(bus, Breaker::new(rules, clock));
        Self { bus }
    }

    pub fn degrees(&mut self) -> Result<i8, Error<D::Error>> {
        let mut bytes = [0; 2];
        match self.bus.write_read(0x48, &[0], &mut bytes) {
            Ok(()) => Ok(i8::from_be_bytes([bytes[0]])),
            Err(GuardedError::Device(error)) => Err(Error::Bus(error)),
            // Blocking calls have no time limit.
            Err(error) => {
                let wait = error.rejected().and_then(|it| it.retry_in_ms());
                let retry_in_ms = wait.unwrap_or(u32::MAX);
                Err(Error::Resting { retry_in_ms })
            }
        }
    }
}
