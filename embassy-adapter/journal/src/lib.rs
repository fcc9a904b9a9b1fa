// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue in flash for readings that could not be sent yet: see [`Journal`]. With the feature `breaker` it is sent
//! through an [`atomic-breaker`](atomic_breaker) circuit breaker, as that allows.
//!
//! ```
//! # #[cfg(feature = "breaker")] mod example {
//! use atomic_breaker_embassy::{Breaker, Config, EmbassyClock};
//! use flash_journal::{Entry, Journal, JournalError};
//! use core::time::Duration;
//! use embedded_storage_async::nor_flash::NorFlash;
//!
//! static RADIO: Breaker = Breaker::new(Config::new().consecutive_failures(3), EmbassyClock);
//!
//! async fn report<F: NorFlash>(
//!     journal: &mut Journal<F, 32>,
//!     reading: &[u8],
//!     send: impl AsyncFnMut(Entry<'_>) -> Result<(), ()>,
//! ) -> Result<(), JournalError<F::Error>> {
//!     // In flash when it returns Ok. What waits is sent even if this one was not kept: that makes room.
//!     let kept = journal.keep(reading).await;
//!     // Until nothing waits, the radio fails, or the breaker knows that it is down.
//!     let _ = journal.send_all(&RADIO, Duration::from_secs(2), send).await?;
//!     kept.map(drop)
//! }
//! # }
//! ```
//!
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | open a journal in a range of flash | [`Journal::open`], with [`JournalConfig`], [`WhenFull`], [`WhenCorrupt`] |
//! | keep a reading, or try to send it first | [`Journal::keep`], [`Journal::send_or_keep`] |
//! | send what waits, in order | [`Journal::send_all`], which returns [`Sent`] |
//! | send by your own rules | [`Journal::oldest`], [`Journal::remove_through`] |
//! | know what went wrong | [`JournalError`], [`Corruption`], [`Misfit`] |
//!
//! The feature `breaker` adds sending through a breaker; `defmt` adds `defmt::Format` for the public values.
//!
//! # Where to read on
//!
//! The page [journal.md] says what is guaranteed wherever the power fails, and how the flash wears.
#![doc = ""]
#![doc = concat!("[journal.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/embassy-adapter/journal/journal.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]
#![expect(clippy::missing_errors_doc, reason = "the types of the errors say it")]

mod config;
mod error;
mod keep;
mod layout;
mod open;
mod send;
mod state;
mod storage;
#[cfg(feature = "breaker")]
mod through;

use core::fmt;
use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;

#[cfg(feature = "breaker")]
#[doc(no_inline)]
pub use atomic_breaker::{
    AnyBreaker, CallError, Rejected,
    wait::{HasTimer, Limit, TimeLimit, Timed},
};
pub use config::{JournalConfig, WhenCorrupt, WhenFull};
pub use error::{Corruption, JournalError, Misfit};
use layout::Geometry;
pub use send::Entry;
use state::{Spoilt, State};
use storage::Storage;
#[cfg(feature = "breaker")]
pub use through::Sent;

/// The pages about the journal, whose code is compiled.
#[cfg(all(doctest, feature = "breaker"))]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../journal.md")]
    mod journal {}
}

/// A bounded queue in flash: data that a radio could not send waits there through resets and power cuts, and is sent in
/// order when the breaker allows it. `LONGEST` is the length of the longest entry in bytes; the journal reserves that
/// much RAM.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock};
/// use flash_journal::{Journal, JournalConfig, JournalError, WhenFull};
/// use core::time::Duration;
/// use embassy_time::Timer;
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
///         if let Err(error) = journal.keep(&reading).await {
///             // This reading is lost; the next one is written elsewhere.
///             println!("not kept: {error}");
///         }
///         // Until nothing waits, or the radio is down again.
///         let sent = journal
///             .send_all(&RADIO, limit, async |entry| {
///                 radio.send(entry.number, entry.bytes).await
///             })
///             .await;
///         if let Err(error) = sent {
///             println!("{error}");
///         }
///         Timer::after_secs(60).await;
///     }
/// }
/// ```
///
/// # Guarantees, wherever power fails
///
/// - Every entry that [`keep`](Self::keep) has acknowledged is sent, in order: it can be lost only through worn-out
///   flash or through [`WhenFull::DropOldest`], which drops the oldest.
/// - An entry may be sent again, with the same number and the same bytes. Numbers rise by 1 and continue after a reset,
///   even if the journal is empty. So a receiver keeps the last number that it has seen, ignores entries whose number
///   is not higher, and learns from a gap which entries were dropped, have become unreadable, or were interrupted in
///   [`keep`](Self::keep) or [`send_or_keep`](Self::send_or_keep) before they were kept.
/// - A bit of the flash that changes by itself costs one entry at most, whose number becomes a gap, or is an error
///   ([`Damaged`](Corruption::Damaged)). A page whose head and entries all become unreadable together is beyond that.
/// - Flash that says Ok and does not hold what was written is an error ([`Worn`](JournalError::Worn)), and so is one that
///   fails ([`Flash`](JournalError::Flash)); neither loses what was acknowledged. A page that can no longer be begun is
///   [left out](Self::left_out), and the journal goes on in the others. An old copy of the page that is being
///   written is beyond that: nothing in the flash can tell it from the old time.
/// - A dropped future is like a power cut: the next operation reads the flash again. Until then the counts are the old
///   ones.
/// - If the flash fails, or holds something else, you get an error that says what to do, and nothing is erased except a
///   range that reads as erased, unless [`WhenCorrupt::Format`] is set.
///
/// # Room and wear
///
/// An entry takes 12 bytes, plus its own bytes and a mark of 4, each rounded up to the unit in which the flash reads
/// and writes. One page is always about to be erased and the others hold entries, so more pages make better use of the
/// flash. Pages are used in turn, each is erased once per round, and nothing is written twice between two erases: the
/// flash need not be a `MultiwriteNorFlash`. After a start the first entry takes two units more, as one may have been
/// begun before. Opening reads the whole journal.
///
/// `BlockingAsync` from `embassy-embedded-hal` turns a blocking flash driver into an async one.
pub struct Journal<F, const LONGEST: usize> {
    storage: Storage<F>,
    config: JournalConfig,
    state: State,
    spoilt: Spoilt,
    left_out: u32,
    /// `true` if the state matches the flash.
    is_settled: bool,
    /// `true` if nothing that an earlier start began can lie where the next record is written.
    is_fenced: bool,
    is_new: bool,
    refused: u32,
    buffer: [u8; LONGEST],
}

impl<F: NorFlash, const LONGEST: usize> Journal<F, LONGEST> {
    /// Opens the journal in a range of a flash, in bytes from the start of the flash: whole pages, two or more. An
    /// erased range becomes an empty journal.
    ///
    /// Open it with the same settings as before: another range, or another flash, is an error; another `LONGEST` is
    /// not, as long as no waiting entry is longer.
    ///
    /// # Errors
    /// [`Misfit`](JournalError::Misfit); [`Corrupt`](JournalError::Corrupt) if the range holds something else and is
    /// not to be formatted; [`TooLong`](JournalError::TooLong) if a waiting entry is longer than `LONGEST`;
    /// [`Flash`](JournalError::Flash).
    pub async fn open(
        flash: F,
        range: Range<u32>,
        config: JournalConfig,
    ) -> Result<Self, JournalError<F::Error>> {
        let geometry = Geometry::new(&flash, range, LONGEST).map_err(JournalError::Misfit)?;
        let mut journal = Self {
            storage: Storage { flash, geometry },
            config,
            state: State::default(),
            spoilt: Spoilt::default(),
            left_out: 0,
            is_settled: false,
            is_fenced: false,
            is_new: false,
            refused: 0,
            buffer: [0; LONGEST],
        };
        journal.settle().await?;
        Ok(journal)
    }

    /// Gives the flash back.
    pub fn release(self) -> F {
        self.storage.flash
    }
}

impl<F, const LONGEST: usize> Journal<F, LONGEST> {
    /// The number of entries that are waiting.
    pub const fn waiting(&self) -> u32 {
        self.state.waiting
    }

    /// The number of entries that were dropped because the journal was full, since it was formatted. This number
    /// survives resets.
    pub const fn dropped(&self) -> u32 {
        self.state.dropped
    }

    /// The number of entries that were refused because the journal was full, since it was opened. The count stops at
    /// `u32::MAX`.
    pub const fn refused(&self) -> u32 {
        self.refused
    }

    /// The number of times that a page was left out because it could not be begun, since the journal was opened. The
    /// count stops at `u32::MAX`. A page that is worn out counts once a round.
    pub const fn left_out(&self) -> u32 {
        self.left_out
    }

    /// The number that the next entry gets.
    pub const fn next_number(&self) -> u32 {
        self.state.next
    }

    /// Returns whether the journal has been formatted since it was opened, or earlier and nothing has been written
    /// since: so a power cut right after the formatting hides nothing. Its numbers then begin with
    /// [`first_number`](JournalConfig::first_number), so the receiver has to know.
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
