// SPDX-License-Identifier: MIT OR Apache-2.0
//! A time limit below the lock of a shared bus.

use core::fmt;

use embassy_time::{Duration, with_timeout};
use embedded_hal::i2c::{AddressMode, Error, ErrorKind, ErrorType, Operation};
use embedded_hal_async::i2c::I2c;

/// An async I²C bus whose transactions take no longer than a limit: for a bus that several devices share. It goes below the
/// lock, so that the time that a device waits for the others is no part of the limit, and one that holds the clock line low
/// holds up the others for no longer than that.
///
/// A transaction that takes longer is dropped; the driver that made it gets an error, which its guard counts. Guards of devices
/// on such a bus need no limit of their own, unless their drivers wait for something else than the bus.
///
/// ```
/// use atomic_breaker_embassy::LimitedI2c;
/// use embassy_sync::{blocking_mutex::raw::NoopRawMutex, mutex::Mutex};
/// use embassy_time::Duration;
/// use embedded_hal_async::i2c::I2c;
///
/// fn shared<B: I2c>(bus: B) -> Mutex<NoopRawMutex, LimitedI2c<B>> {
///     // As `I2cDevice` of embassy-embedded-hal takes it, once for each driver.
///     Mutex::new(LimitedI2c::new(bus, Duration::from_millis(50)))
/// }
/// ```
#[derive(Debug)]
pub struct LimitedI2c<D> {
    bus: D,
    limit: Duration,
}

/// The error of a [`LimitedI2c`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LimitedError<E> {
    /// The transaction took longer than the limit, and was dropped. As an error kind: `Other`.
    TimedOut,
    /// The bus failed.
    Bus(E),
}

impl<E: fmt::Display> fmt::Display for LimitedError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("timed out"),
            Self::Bus(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for LimitedError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::TimedOut => None,
            Self::Bus(error) => error.source(),
        }
    }
}

impl<E: Error> Error for LimitedError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::TimedOut => ErrorKind::Other,
            Self::Bus(error) => error.kind(),
        }
    }
}

impl<D> LimitedI2c<D> {
    /// Creates a bus with a limit for each transaction.
    pub const fn new(bus: D, limit: Duration) -> Self {
        Self { bus, limit }
    }

    /// Returns the bus itself, whose transactions have no limit.
    pub const fn bus(&mut self) -> &mut D {
        &mut self.bus
    }

    async fn limited<E>(
        &mut self,
        operation: impl AsyncFnOnce(&mut D) -> Result<(), E>,
    ) -> Result<(), LimitedError<E>> {
        match with_timeout(self.limit, operation(&mut self.bus)).await {
            Ok(result) => result.map_err(LimitedError::Bus),
            Err(_) => Err(LimitedError::TimedOut),
        }
    }
}

impl<D: ErrorType> ErrorType for LimitedI2c<D> {
    type Error = LimitedError<D::Error>;
}

impl<A: AddressMode, D: I2c<A>> I2c<A> for LimitedI2c<D> {
    async fn read(&mut self, address: A, read: &mut [u8]) -> Result<(), Self::Error> {
        self.limited(async |bus| bus.read(address, read).await)
            .await
    }

    async fn write(&mut self, address: A, write: &[u8]) -> Result<(), Self::Error> {
        self.limited(async |bus| bus.write(address, write).await)
            .await
    }

    async fn write_read(
        &mut self,
        address: A,
        write: &[u8],
        read: &mut [u8],
    ) -> Result<(), Self::Error> {
        self.limited(async |bus| bus.write_read(address, write, read).await)
            .await
    }

    async fn transaction(
        &mut self,
        address: A,
        operations: &mut [Operation<'_>],
    ) -> Result<(), Self::Error> {
        self.limited(async |bus| bus.transaction(address, operations).await)
            .await
    }
}
