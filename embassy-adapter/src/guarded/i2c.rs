// SPDX-License-Identifier: MIT OR Apache-2.0
//! I²C.

use atomic_breaker::device::{AsyncRepair, NoRepair, Repair};
use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Failure, Outcome};
use embedded_hal::i2c::{AddressMode, Error, ErrorKind, ErrorType, I2c, Operation};
use embedded_hal_async::i2c::I2c as AsyncI2c;

use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// Operations of the bus, each of them a call through the breaker, and whether a success proves that the device works. Those
/// that a trait provides are passed on as well, because a driver may do better than the trait.
macro_rules! guarded {
    (async $($name:ident($($argument:ident: $type:ty),*) proves $proves:expr;)*) => {$(
        async fn $name(&mut self, $($argument: $type),*) -> Result<(), Self::Error> {
            let proven = if $proves { Outcome::Success } else { self.unproved };
            let operation = async |device: &mut D| device.$name($($argument),*).await;
            self.call_async(Error::kind, |()| proven, operation).await
        }
    )*};
    ($($name:ident($($argument:ident: $type:ty),*) proves $proves:expr;)*) => {$(
        fn $name(&mut self, $($argument: $type),*) -> Result<(), Self::Error> {
            let proven = if $proves { Outcome::Success } else { self.unproved };
            self.call(Error::kind, |()| proven, |device| device.$name($($argument),*))
        }
    )*};
}

/// An I²C bus, or one device's share of it, behind a breaker: for a stack that owns its bus. It is itself an [`I2c`], blocking
/// or async like the bus. If you can, guard the driver instead: [`Device`](crate::Device).
///
/// # What shows that the device works
///
/// - **A transaction that reads**: the device has answered.
/// - **Not one that only writes**: many chips acknowledge their address while nothing behind it works. Such a success is
///   neutral: it neither clears a count of failures nor closes a half-open breaker. If there are only writes, as to a display,
///   use [`trusting_writes`](Guarded::trusting_writes), or the breaker never closes once it has opened.
/// - **Not a NACK of a chip that is busy**, such as an EEPROM while it writes: give the breaker rules by which a row of failures
///   must [last](atomic_breaker::Config::lasting) longer than that, and trust writes; or ignore NACKs by a
///   [classifier](Guarded::with_classifier).
///
/// Several devices on one bus have a guard and a breaker each: those that answer would hide one that is dead.
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
    type Evidence = ();

    const FRESH: () = ();

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

/// Returns whether the device must answer in such a transaction.
fn reads(operations: &[Operation<'_>]) -> bool {
    let mut operations = operations.iter();
    operations.any(|operation| matches!(operation, Operation::Read(buffer) if !buffer.is_empty()))
}

impl<A: AddressMode, D: I2c<A>, B: AnyBreaker, R: Repair<D, D::Error>> I2c<A>
    for GuardedI2c<D, B, R>
{
    guarded! {
        read(address: A, read: &mut [u8]) proves !read.is_empty();
        write(address: A, write: &[u8]) proves false;
        write_read(address: A, write: &[u8], read: &mut [u8]) proves !read.is_empty();
        transaction(address: A, operations: &mut [Operation<'_>]) proves reads(operations);
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
        read(address: A, read: &mut [u8]) proves !read.is_empty();
        write(address: A, write: &[u8]) proves false;
        write_read(address: A, write: &[u8], read: &mut [u8]) proves !read.is_empty();
        transaction(address: A, operations: &mut [Operation<'_>]) proves reads(operations);
    }
}
