//! Readings that could not be sent, in flash until they are.

mod config;
mod error;
mod keep;
mod layout;
mod open;
mod send;
mod storage;

use core::fmt;
use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;

pub use config::{JournalConfig, WhenCorrupt, WhenFull};
pub use error::{Corruption, JournalError, Misfit};
use layout::Geometry;
use open::State;
pub use send::{Entry, Sent};
use storage::Storage;

/// The page on the journal, whose code is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/journal.md")]
mod page {}

/// A bounded queue in flash: what a radio could not send waits there through resets and power cuts, and is sent in
/// order when the breaker lets it. `LONGEST` is the length of the longest entry in bytes, for which it keeps that
/// much RAM.
///
/// ```
/// use atomic_breaker_embassy::{
///     Breaker, Config, EmbassyClock, Journal, JournalConfig, JournalError, WhenFull,
/// };
/// use embassy_time::{Duration, Timer};
/// use embedded_storage_async::nor_flash::NorFlash;
/// # struct Radio;
/// # impl Radio { async fn send(&mut self, _: u32, _: &[u8]) -> Result<(), ()> { Ok(()) } }
/// # async fn measure() -> [u8; 4] { [0; 4] }
///
/// static RADIO: Breaker = Breaker::new(Config::new().consecutive_failures(3), EmbassyClock);
///
/// async fn report<F: NorFlash>(flash: F, mut radio: Radio) -> Result<(), JournalError<F::Error>> {
///     let config = JournalConfig::new().when_full(WhenFull::DropOldest);
///     // Entries of up to 32 bytes, in 64 KiB that nothing else uses.
///     let mut journal = Journal::<F, 32>::open(flash, 0x7_0000..0x8_0000, config).await?;
///     let limit = Duration::from_secs(2);
///     loop {
///         let reading = measure().await;
///         journal.keep(&reading).await?;
///         // Until nothing waits, or the radio is down again.
///         let _ = journal
///             .send_all(&RADIO, limit, async |entry| {
///                 radio.send(entry.number(), entry.bytes()).await
///             })
///             .await?;
///         Timer::after_secs(60).await;
///     }
/// }
/// # let _ = report::<&mut NoFlash>;
/// # #[derive(Debug)] enum NoFlash {}
/// # use embedded_storage_async::nor_flash::{ErrorType, ReadNorFlash};
/// # impl ErrorType for NoFlash { type Error = core::convert::Infallible; }
/// # impl ReadNorFlash for NoFlash {
/// #     const READ_SIZE: usize = 4;
/// #     async fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), Self::Error> { Ok(()) }
/// #     fn capacity(&self) -> usize { 0 }
/// # }
/// # impl NorFlash for NoFlash {
/// #     const WRITE_SIZE: usize = 4;
/// #     const ERASE_SIZE: usize = 4096;
/// #     async fn erase(&mut self, _: u32, _: u32) -> Result<(), Self::Error> { Ok(()) }
/// #     async fn write(&mut self, _: u32, _: &[u8]) -> Result<(), Self::Error> { Ok(()) }
/// # }
/// ```
///
/// # What holds, wherever power fails
///
/// - What [`keep`](Self::keep) has acknowledged is sent, in order: only flash that wears out loses it, and
///   [`WhenFull::DropOldest`], which drops the oldest.
/// - An entry may be sent again, with the same number and the same bytes. Numbers rise by 1 and go on after a reset,
///   from an empty journal, too. So a receiver keeps the last number that it has seen, ignores what is not above it,
///   and sees from a gap what was dropped, or was cut off in [`send_or_keep`](Self::send_or_keep) before it was kept.
/// - A future that is dropped is like a power cut: the next operation looks at the flash again. Until then the counts
///   are those from before.
/// - A flash that fails, or holds something else, is an error that says what to do; nothing is erased but an erased
///   range, unless [`WhenCorrupt::Format`] says so.
///
/// # Room and wear
///
/// An entry takes 12 bytes, its own and a mark of 4, each rounded up to what the flash reads and writes. Of the pages
/// one is always about to be erased; the others hold entries, so the more pages, the better the use. Pages are
/// used in turn, each erased once in a round, and nothing is written twice between two erases: the flash need
/// not be a `MultiwriteNorFlash`. Opening reads the whole journal.
///
/// Blocking flash drivers become async ones by `BlockingAsync` of `embassy-embedded-hal`.
pub struct Journal<F, const LONGEST: usize> {
    storage: Storage<F>,
    config: JournalConfig,
    state: State,
    /// Whether the state is what the flash says.
    is_settled: bool,
    is_new: bool,
    refused: u32,
    buffer: [u8; LONGEST],
}

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Opens the journal in a range of a flash, in bytes from the flash's own begin: whole pages, two or more. A
    /// range that is erased becomes an empty journal.
    ///
    /// Open it as it was before: another range, or another flash, is an error; another longest entry is none as
    /// long as what waits is not longer.
    ///
    /// # Errors
    /// [`Misfit`](JournalError::Misfit); [`Corrupt`](JournalError::Corrupt) where the range holds something else and
    /// it is not to be formatted; [`TooLong`](JournalError::TooLong) where an entry that waits is longer than
    /// `LONGEST`; [`Flash`](JournalError::Flash).
    pub async fn open(
        flash: F,
        range: Range<u32>,
        config: JournalConfig,
    ) -> Result<Self, JournalError<F::Error>> {
        let geometry = Geometry::new(&flash, range, LONGEST)?;
        let mut journal = Self {
            storage: Storage { flash, geometry },
            config,
            state: State::default(),
            is_settled: false,
            is_new: false,
            refused: 0,
            buffer: [0; LONGEST],
        };
        journal.settle().await?;
        Ok(journal)
    }

    /// The flash back.
    pub fn release(self) -> F {
        self.storage.flash
    }
}

impl<F, const LONGEST: usize> Journal<F, LONGEST> {
    /// How many entries wait.
    pub const fn waiting(&self) -> u32 {
        self.state.waiting
    }

    /// How many entries were dropped because the journal was full, since it was formatted. It survives resets.
    pub const fn dropped(&self) -> u32 {
        self.state.dropped
    }

    /// How many entries were refused because the journal was full, since it was opened. Stays at `u32::MAX`.
    pub const fn refused(&self) -> u32 {
        self.refused
    }

    /// The number that the next entry gets.
    pub const fn next_number(&self) -> u32 {
        self.state.next
    }

    /// Whether it was formatted since it was opened: the range was erased, or held something else that was to be
    /// formatted. Its numbers begin with [`first_number`](JournalConfig::first_number), so the receiver has to know.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }
}

impl<F, const LONGEST: usize> fmt::Debug for Journal<F, LONGEST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("waiting", &self.waiting())
            .field("next_number", &self.next_number())
            .field("dropped", &self.dropped())
            .field("refused", &self.refused())
            .finish_non_exhaustive()
    }
}
