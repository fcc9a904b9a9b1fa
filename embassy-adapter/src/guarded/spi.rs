// SPDX-License-Identifier: MIT OR Apache-2.0
//! SPI.

use atomic_breaker::device::{AsyncRepair, NoRepair, Repair};
use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Failure, Outcome};
use embedded_hal::spi::{Error, ErrorKind, ErrorType, Operation, SpiDevice};
use embedded_hal_async::spi::SpiDevice as AsyncSpiDevice;

use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// A device on an SPI bus behind a breaker: for a stack that owns its bus. It is itself an [`SpiDevice`], blocking or async
/// like the device. If you can, guard the driver instead: [`Device`](crate::Device).
///
/// # What shows that the device works
///
/// **Nothing, by itself**: SPI has no acknowledgement, and a chip that is dead reads as 0x00 or 0xFF. A success is neutral,
/// unless
///
/// - a [check](GuardedSpi::with_check) of yours says what the bytes mean that were read, or
/// - [`trusting_writes`](Guarded::trusting_writes) takes each success for one, so that only errors of the bus count.
///
/// Without either, the breaker never closes once it has opened.
///
/// By default every error is a failure of weight 1; [`with_classifier`](Guarded::with_classifier) changes that.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Failure, GuardedSpi, Outcome};
/// use embedded_hal::spi::SpiDevice;
///
/// static FLASH: Breaker = Breaker::new(Config::new(), EmbassyClock);
///
/// // Nothing drives the line.
/// fn check(read: &[u8]) -> Outcome {
///     match read.iter().all(|byte| *byte == 0xFF) {
///         true => Failure::new().into(),
///         false => Outcome::Success,
///     }
/// }
///
/// fn guarded(device: impl SpiDevice) -> impl SpiDevice {
///     GuardedSpi::new(device, &FLASH).with_check(check)
/// }
/// ```
pub type GuardedSpi<D, B, R = NoRepair> = Guarded<D, B, ErrorKind, R>;

/// A check of what was read from an SPI device.
#[derive(Clone, Copy, Debug)]
pub struct SpiCheck(Option<fn(&[u8]) -> Outcome>);

/// A word of an SPI bus: `u8`, which a [check](GuardedSpi::with_check) is for, `u16` or `u32`.
pub trait SpiWord: Copy + 'static {
    /// The outcome of the check for these words; `None` if it is not for them.
    fn check(_: SpiCheck, _: &[Self]) -> Option<Outcome> {
        None
    }
}

impl SpiWord for u8 {
    fn check(SpiCheck(check): SpiCheck, read: &[Self]) -> Option<Outcome> {
        let check = check.filter(|_| !read.is_empty())?;
        Some(check(read))
    }
}

impl SpiWord for u16 {}
impl SpiWord for u32 {}

impl ClassifyKind for ErrorKind {
    type Evidence = SpiCheck;

    const FRESH: SpiCheck = SpiCheck(None);

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

impl<D, B: AnyBreaker, R> GuardedSpi<D, B, R> {
    /// Sets a check of the bytes that each transaction reads, which says what they show: for example that all ones are a
    /// failure, or that a status byte is a success. Of several parts of one transaction a failure counts, then a success.
    #[must_use]
    pub const fn with_check(mut self, check: fn(&[u8]) -> Outcome) -> Self {
        self.evidence = SpiCheck(Some(check));
        self
    }
}

/// The outcome of the check for all that a transaction has read.
fn check_all<W: SpiWord>(check: SpiCheck, operations: &[Operation<'_, W>]) -> Option<Outcome> {
    let says = |operation: &Operation<'_, W>| match operation {
        Operation::Read(read) | Operation::Transfer(read, _) | Operation::TransferInPlace(read) => {
            W::check(check, read)
        }
        Operation::Write(_) | Operation::DelayNs(_) => None,
    };
    operations
        .iter()
        .filter_map(says)
        .reduce(|one, other| match (one, other) {
            (Outcome::Failure(_), _)
            | (_, Outcome::Ignored)
            | (Outcome::Success, Outcome::Success) => one,
            (_, Outcome::Failure(_)) | (Outcome::Ignored, _) => other,
        })
}

impl<W, D, B, R> SpiDevice<W> for GuardedSpi<D, B, R>
where
    W: SpiWord,
    D: SpiDevice<W>,
    B: AnyBreaker,
    R: Repair<D, D::Error>,
{
    fn read(&mut self, buffer: &mut [W]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let check = self.evidence;
        let operation = |device: &mut D| {
            device.read(buffer)?;
            Ok(W::check(check, buffer))
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call(Error::kind, proven, operation).map(drop)
    }

    fn write(&mut self, buffer: &[W]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let operation = |device: &mut D| {
            device.write(buffer)?;
            Ok(None)
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call(Error::kind, proven, operation).map(drop)
    }

    fn transfer(&mut self, read: &mut [W], write: &[W]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let check = self.evidence;
        let operation = |device: &mut D| {
            device.transfer(read, write)?;
            Ok(W::check(check, read))
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call(Error::kind, proven, operation).map(drop)
    }

    fn transfer_in_place(&mut self, buffer: &mut [W]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let check = self.evidence;
        let operation = |device: &mut D| {
            device.transfer_in_place(buffer)?;
            Ok(W::check(check, buffer))
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call(Error::kind, proven, operation).map(drop)
    }

    fn transaction(&mut self, operations: &mut [Operation<'_, W>]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let check = self.evidence;
        let operation = |device: &mut D| {
            device.transaction(operations)?;
            Ok(check_all(check, operations))
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call(Error::kind, proven, operation).map(drop)
    }
}

impl<W, D, B, R> AsyncSpiDevice<W> for GuardedSpi<D, B, R>
where
    W: SpiWord,
    D: AsyncSpiDevice<W>,
    B: AnyBreaker<Clock: HasTimer>,
    R: AsyncRepair<D, D::Error>,
{
    async fn read(&mut self, buffer: &mut [W]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let check = self.evidence;
        let operation = async |device: &mut D| {
            device.read(buffer).await?;
            Ok(W::check(check, buffer))
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call_async(Error::kind, proven, operation)
            .await
            .map(drop)
    }

    async fn write(&mut self, buffer: &[W]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let operation = async |device: &mut D| {
            device.write(buffer).await?;
            Ok(None)
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call_async(Error::kind, proven, operation)
            .await
            .map(drop)
    }

    async fn transfer(&mut self, read: &mut [W], write: &[W]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let check = self.evidence;
        let operation = async |device: &mut D| {
            device.transfer(read, write).await?;
            Ok(W::check(check, read))
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call_async(Error::kind, proven, operation)
            .await
            .map(drop)
    }

    async fn transfer_in_place(&mut self, buffer: &mut [W]) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let check = self.evidence;
        let operation = async |device: &mut D| {
            device.transfer_in_place(buffer).await?;
            Ok(W::check(check, buffer))
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call_async(Error::kind, proven, operation)
            .await
            .map(drop)
    }

    async fn transaction(
        &mut self,
        operations: &mut [Operation<'_, W>],
    ) -> Result<(), Self::Error> {
        let unproved = self.unproved;
        let check = self.evidence;
        let operation = async |device: &mut D| {
            device.transaction(operations).await?;
            Ok(check_all(check, operations))
        };
        let proven = |says: &Option<Outcome>| says.unwrap_or(unproved);
        self.call_async(Error::kind, proven, operation)
            .await
            .map(drop)
    }
}
