// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flash.

use atomic_breaker::device::{AsyncRepair, NoRepair, Repair};
use atomic_breaker::wait::HasTimer;
use atomic_breaker::{AnyBreaker, Failure, Outcome};
use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError as Error, NorFlashErrorKind, ReadNorFlash,
};
use embedded_storage_async::nor_flash::{
    NorFlash as AsyncNorFlash, ReadNorFlash as AsyncReadNorFlash,
};

use super::{ClassifyKind, Guarded, GuardedError, KindOf};

/// A flash chip behind a breaker, for chips that can fail by themselves, such as one on a bus of its own. It is itself a
/// [`NorFlash`], blocking or async like the chip.
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

impl ClassifyKind for NorFlashErrorKind {
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

impl<D: ReadNorFlash, B: AnyBreaker, R: Repair<D, D::Error>> ReadNorFlash
    for GuardedFlash<D, B, R>
{
    const READ_SIZE: usize = D::READ_SIZE;

    guarded! { read(offset: u32, bytes: &mut [u8]) }

    fn capacity(&self) -> usize {
        self.device.as_driver().capacity()
    }
}

impl<D: NorFlash, B: AnyBreaker, R: Repair<D, D::Error>> NorFlash for GuardedFlash<D, B, R> {
    const WRITE_SIZE: usize = D::WRITE_SIZE;
    const ERASE_SIZE: usize = D::ERASE_SIZE;

    guarded! {
        erase(from: u32, to: u32)
        write(offset: u32, bytes: &[u8])
    }
}

impl<D, B, R> AsyncReadNorFlash for GuardedFlash<D, B, R>
where
    D: AsyncReadNorFlash,
    B: AnyBreaker<Clock: HasTimer>,
    R: AsyncRepair<D, D::Error>,
{
    const READ_SIZE: usize = D::READ_SIZE;

    guarded! { async read(offset: u32, bytes: &mut [u8]) }

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

    guarded! {
        async
        erase(from: u32, to: u32)
        write(offset: u32, bytes: &[u8])
    }
}
