// SPDX-License-Identifier: MIT OR Apache-2.0
//! I²C.

use atomic_breaker::device::{AsyncRepair, NoRepair, Repair};
use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Failure, Outcome};
use embedded_hal::i2c::{AddressMode, Error, ErrorKind, ErrorType, I2c, Operation};
use embedded_hal_async::i2c::I2c as AsyncI2c;

use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// An I²C bus, or one device's share of it, behind a breaker. It is itself an [`I2c`], blocking or async like
/// the bus.
///
/// By default every error is a failure of weight 1, except that a lost arbitration is ignored: another
/// controller had the bus. [`with_classifier`](Guarded::with_classifier) changes that. One transaction is
/// one call. Give an async bus that may hang a [`time_limit`](Guarded::time_limit).
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Failure, GuardedI2c, Outcome};
/// use embedded_hal::i2c::ErrorKind;
/// # use embedded_hal::i2c::{ErrorType, I2c, Operation};
/// # struct Bus;
/// # impl ErrorType for Bus { type Error = ErrorKind; }
/// # impl I2c for Bus {
/// #     fn transaction(&mut self, _: u8, _: &mut [Operation<'_>]) -> Result<(), ErrorKind> {
/// #         Err(ErrorKind::Bus)
/// #     }
/// # }
/// # struct Thermometer<I>(I);
/// # impl<I: I2c> Thermometer<I> {
/// #     fn new(bus: I) -> Self { Self(bus) }
/// #     fn read(&mut self) -> Result<(), I::Error> { self.0.write(0x48, &[0]) }
/// # }
/// # let bus = Bus;
/// static SENSOR: Breaker = Breaker::new(Config::new().consecutive_failures(4), EmbassyClock);
///
/// // A stuck bus is worse than a sensor that does not answer.
/// fn classify(kind: ErrorKind) -> Outcome {
///     match kind {
///         ErrorKind::Bus => Failure::with_weight(3).into(),
///         ErrorKind::ArbitrationLoss => Outcome::Ignored,
///         _ => Failure::new().into(),
///     }
/// }
///
/// // The driver of any crate, over the bus of any HAL.
/// let mut sensor = Thermometer::new(GuardedI2c::new(bus, &SENSOR).with_classifier(classify));
/// assert!(sensor.read().is_err());
/// assert_eq!(SENSOR.snapshot().failures(), 3);
/// ```
pub type GuardedI2c<D, B, R = NoRepair> = Guarded<D, B, ErrorKind, R>;

impl ClassifyKind for ErrorKind {
    fn classify(self) -> Outcome {
        match self {
            Self::ArbitrationLoss => Outcome::Ignored,
            _ => Failure::new().into(),
        }
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

impl<D: ErrorType, B, R> ErrorType for GuardedI2c<D, B, R> {
    type Error = GuardedError<D::Error>;
}

impl<A: AddressMode, D: I2c<A>, B: AnyBreaker, R: Repair<D, D::Error>> I2c<A>
    for GuardedI2c<D, B, R>
{
    guarded! {
        read(address: A, read: &mut [u8])
        write(address: A, write: &[u8])
        write_read(address: A, write: &[u8], read: &mut [u8])
        transaction(address: A, operations: &mut [Operation<'_>])
    }
}

impl<A, D, B, R> AsyncI2c<A> for GuardedI2c<D, B, R>
where
    A: AddressMode,
    D: AsyncI2c<A>,
    B: AnyBreaker<Clock: HasTimer>,
    R: AsyncRepair<D, D::Error>,
{
    guarded! {
        async
        read(address: A, read: &mut [u8])
        write(address: A, write: &[u8])
        write_read(address: A, write: &[u8], read: &mut [u8])
        transaction(address: A, operations: &mut [Operation<'_>])
    }
}
