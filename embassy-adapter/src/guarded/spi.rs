// SPDX-License-Identifier: MIT OR Apache-2.0
//! SPI.

use atomic_breaker::device::{AsyncRepair, NoRepair, Repair};
use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Failure, Outcome};
use embedded_hal::spi::{Error, ErrorKind, ErrorType, Operation, SpiDevice};
use embedded_hal_async::spi::SpiDevice as AsyncSpiDevice;

use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// A device on an SPI bus behind a breaker. It is itself an [`SpiDevice`], blocking or async like the device.
///
/// By default every error is a failure of weight 1; [`with_classifier`](Guarded::with_classifier) changes
/// that. SPI itself hardly notices that a device is gone: if the driver does, guard its calls, not the bus.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedSpi};
/// use embedded_hal::spi::SpiDevice;
///
/// static FLASH: Breaker = Breaker::new(Config::new(), EmbassyClock);
///
/// fn guarded(device: impl SpiDevice) -> impl SpiDevice {
///     GuardedSpi::new(device, &FLASH)
/// }
/// ```
pub type GuardedSpi<D, B, R = NoRepair> = Guarded<D, B, ErrorKind, R>;

impl ClassifyKind for ErrorKind {
    fn classify(self) -> Outcome {
        Failure::new().into()
    }
}

impl<D: ErrorType> KindOf<D> for ErrorKind {
    type Error = D::Error;
}

impl<E: Error> Error for GuardedError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Rejected(_) | Self::TimedOut => ErrorKind::Other,
            Self::Device(error) => error.kind(),
        }
    }
}

impl<D: ErrorType, B, R> ErrorType for GuardedSpi<D, B, R> {
    type Error = GuardedError<D::Error>;
}

impl<W, D, B, R> SpiDevice<W> for GuardedSpi<D, B, R>
where
    W: Copy + 'static,
    D: SpiDevice<W>,
    B: AnyBreaker,
    R: Repair<D, D::Error>,
{
    guarded! {
        read(buffer: &mut [W])
        write(buffer: &[W])
        transfer(read: &mut [W], write: &[W])
        transfer_in_place(buffer: &mut [W])
        transaction(operations: &mut [Operation<'_, W>])
    }
}

impl<W, D, B, R> AsyncSpiDevice<W> for GuardedSpi<D, B, R>
where
    W: Copy + 'static,
    D: AsyncSpiDevice<W>,
    B: AnyBreaker<Clock: HasTimer>,
    R: AsyncRepair<D, D::Error>,
{
    guarded! {
        async
        read(buffer: &mut [W])
        write(buffer: &[W])
        transfer(read: &mut [W], write: &[W])
        transfer_in_place(buffer: &mut [W])
        transaction(operations: &mut [Operation<'_, W>])
    }
}
