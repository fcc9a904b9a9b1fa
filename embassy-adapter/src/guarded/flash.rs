// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flash.

use atomic_breaker::device::{AsyncRepair, NoRepair, Repair};
use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Failure, Outcome};
use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError as Error, NorFlashErrorKind,
    ReadNorFlash,
};
use embedded_storage_async::nor_flash::{
    MultiwriteNorFlash as AsyncMultiwriteNorFlash, NorFlash as AsyncNorFlash,
    ReadNorFlash as AsyncReadNorFlash,
};

use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// A flash chip behind a breaker, for chips that can fail by themselves, such as one on a bus of its own. It is itself a
/// [`NorFlash`], blocking or async like the chip.
///
/// # What shows that the chip works
///
/// - **A write or an erasure.**
/// - **A read, unless a write or an erasure has failed since the last one that succeeded**: a chip may read and not write, and
///   then its reads are neutral, so that they neither clear the failures of the writes nor close what those have opened.
///
/// By default every error is a failure of weight 1, except that places out of bounds and not aligned are ignored: the
/// caller asked for them. [`with_classifier`](Guarded::with_classifier) changes that. A chip that hangs while it erases
/// needs a [`time_limit`](Guarded::time_limit) longer than an erasure takes.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, GuardedFlash};
/// use embedded_storage_async::nor_flash::NorFlash;
///
/// static CHIP: Breaker = Breaker::new(Config::new().consecutive_failures(3), EmbassyClock);
///
/// fn guarded(chip: impl NorFlash) -> impl NorFlash {
///     GuardedFlash::new(chip, &CHIP)
/// }
/// ```
pub type GuardedFlash<D, B, R = NoRepair> = Guarded<D, B, NorFlashErrorKind, R>;

/// A mark that a write or an erasure has failed since the last one that succeeded.
#[derive(Clone, Copy, Debug)]
pub struct WriteFailed(bool);

impl WriteFailed {
    /// The outcome of a read that succeeds.
    const fn proven_by_read(self) -> Outcome {
        match self {
            Self(true) => Outcome::Ignored,
            Self(false) => Outcome::Success,
        }
    }
}

impl ClassifyKind for NorFlashErrorKind {
    type Evidence = WriteFailed;

    const FRESH: WriteFailed = WriteFailed(false);

    fn classify(self) -> Outcome {
        match self {
            Self::NotAligned | Self::OutOfBounds => Outcome::Ignored,
            _ => Failure::new().into(),
        }
    }
}

impl<D: ErrorType> KindOf<D> for NorFlashErrorKind {
    type Error = D::Error;
}

impl<E: Error> Error for GuardedError<E> {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Rejected(_) | Self::TimedOut => NorFlashErrorKind::Other,
            Self::Device(error) => error.kind(),
        }
    }
}

impl<D: ErrorType, B, R> ErrorType for GuardedFlash<D, B, R> {
    type Error = GuardedError<D::Error>;
}

impl<D, B: AnyBreaker, R> GuardedFlash<D, B, R> {
    /// Notes how a write or an erasure has ended.
    fn note<E: Error>(&mut self, result: &Result<(), GuardedError<E>>) {
        let has_failed = match result {
            Ok(()) => false,
            Err(GuardedError::Rejected(_)) => return,
            Err(GuardedError::TimedOut) => true,
            Err(GuardedError::Device(error)) => match (self.classify)(error.kind()) {
                Outcome::Failure(_) => true,
                Outcome::Success | Outcome::Ignored => return,
            },
        };
        self.evidence = WriteFailed(has_failed);
    }
}

impl<D: ReadNorFlash, B: AnyBreaker, R: Repair<D, D::Error>> ReadNorFlash
    for GuardedFlash<D, B, R>
{
    const READ_SIZE: usize = D::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let proven = self.evidence.proven_by_read();
        let read = |device: &mut D| device.read(offset, bytes);
        self.call(Error::kind, |()| proven, read)
    }

    fn capacity(&self) -> usize {
        self.device.as_driver().capacity()
    }
}

impl<D: NorFlash, B: AnyBreaker, R: Repair<D, D::Error>> NorFlash for GuardedFlash<D, B, R> {
    const WRITE_SIZE: usize = D::WRITE_SIZE;
    const ERASE_SIZE: usize = D::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        let erase = |device: &mut D| device.erase(from, to);
        let result = self.call(Error::kind, |()| Outcome::Success, erase);
        self.note(&result);
        result
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let write = |device: &mut D| device.write(offset, bytes);
        let result = self.call(Error::kind, |()| Outcome::Success, write);
        self.note(&result);
        result
    }
}

impl<D: MultiwriteNorFlash, B: AnyBreaker, R: Repair<D, D::Error>> MultiwriteNorFlash
    for GuardedFlash<D, B, R>
{
}

impl<D, B, R> AsyncReadNorFlash for GuardedFlash<D, B, R>
where
    D: AsyncReadNorFlash,
    B: AnyBreaker<Clock: HasTimer>,
    R: AsyncRepair<D, D::Error>,
{
    const READ_SIZE: usize = D::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let proven = self.evidence.proven_by_read();
        let read = async |device: &mut D| device.read(offset, bytes).await;
        self.call_async(Error::kind, |()| proven, read).await
    }

    fn capacity(&self) -> usize {
        self.device.as_driver().capacity()
    }
}

impl<D, B, R> AsyncNorFlash for GuardedFlash<D, B, R>
where
    D: AsyncNorFlash,
    B: AnyBreaker<Clock: HasTimer>,
    R: AsyncRepair<D, D::Error>,
{
    const WRITE_SIZE: usize = D::WRITE_SIZE;
    const ERASE_SIZE: usize = D::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        let erase = async |device: &mut D| device.erase(from, to).await;
        let result = self
            .call_async(Error::kind, |()| Outcome::Success, erase)
            .await;
        self.note(&result);
        result
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let write = async |device: &mut D| device.write(offset, bytes).await;
        let result = self
            .call_async(Error::kind, |()| Outcome::Success, write)
            .await;
        self.note(&result);
        result
    }
}

impl<D, B, R> AsyncMultiwriteNorFlash for GuardedFlash<D, B, R>
where
    D: AsyncMultiwriteNorFlash,
    B: AnyBreaker<Clock: HasTimer>,
    R: AsyncRepair<D, D::Error>,
{
}
