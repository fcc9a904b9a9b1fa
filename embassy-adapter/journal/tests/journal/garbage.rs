// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flash that holds something else leads to a clear error that leaves it alone, or to a new journal.

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use flash_journal::{Corruption, Journal, JournalConfig, JournalError, WhenCorrupt, WhenFull};

use super::flash::{Chip, Cut};
use super::ill::{Failed, Ill, PAGE};
use super::ledger::Open;
use super::plan::{Done, Fault, Plan};
use super::random::{Random, run};

type Flash = Chip<1, 4, 256>;

const FORMATTING: JournalConfig = JournalConfig::new().when_corrupt(WhenCorrupt::Format);

fn try_open(
    chip: &Flash,
    pages: std::ops::Range<u32>,
    config: JournalConfig,
) -> Result<Journal<Flash, 20>, JournalError<Cut>> {
    let range = pages.start * 256..pages.end * 256;
    run(Journal::open(chip.clone(), range, config))
}

/// Opening is an error that changes nothing, or formats the flash, wherever the power fails meanwhile.
fn check(chip: &Flash, pages: std::ops::Range<u32>, expected: Corruption) {
    let before = chip.bytes();
    let error = try_open(chip, pages.clone(), JournalConfig::new()).expect_err("not a journal");
    assert_eq!(error, JournalError::Corrupt(expected));
    assert!(
        error.to_string().contains("`WhenCorrupt::Format`"),
        "{error}"
    );
    assert_eq!(chip.bytes(), before, "left alone");

    for cut in 0.. {
        chip.change(|bytes| bytes.copy_from_slice(&before));
        chip.cut_after(cut);
        let opened = try_open(chip, pages.clone(), FORMATTING.first_number(9));
        let was_cut = chip.is_off();
        chip.power_up();
        if let Err(error) = opened {
            assert_eq!(error, JournalError::Flash(Cut));
        }
        let mut journal =
            try_open(chip, pages.clone(), FORMATTING.first_number(9)).expect("formatted");
        assert!(journal.is_new(), "told, wherever the power failed");
        assert_eq!((journal.waiting(), run(journal.keep(b"new"))), (0, Ok(9)));
        if !was_cut {
            return;
        }
    }
}

#[test]
fn garbage_is_an_error_or_formatted() {
    let mut random = Random::new(1);
    let noise = (0..1024).map(|_| random.byte()).collect();
    check(&Flash::holding(noise, 0), 0..4, Corruption::Garbage);
    check(&Flash::holding(vec![0; 1024], 0), 0..4, Corruption::Garbage);
    for page in 0..4 {
        // A foreign page among erased ones.
        let mut bytes = vec![0xFF; 1024];
        bytes[page * 256 + 40..(page + 1) * 256].fill(7);
        check(&Flash::holding(bytes, 0), 0..4, Corruption::Garbage);
    }
}

/// A chip with a journal of some entries.
fn used(entries: u32) -> Flash {
    let chip = Flash::new(4, 0);
    let mut journal = try_open(&chip, 0..4, JournalConfig::new()).expect("erased");
    for number in 0..entries {
        run(journal.keep(b"twenty bytes, filled")).expect("room");
        if number % 2 == 0 {
            run(journal.remove_through(number)).expect("it works");
        }
    }
    chip
}

#[test]
fn a_journal_of_another_range_is_an_error_or_formatted() {
    for pages in [0..3, 1..4, 0..2, 2..4] {
        check(&used(30), pages, Corruption::OtherLayout);
    }
}

#[test]
fn a_journal_of_another_flash_is_an_error() {
    let chip = used(30);
    let other = Chip::<8, 8, 256>::holding(chip.bytes(), 0);
    let opened = run(Journal::<_, 20>::open(
        other,
        chip.range(),
        JournalConfig::new(),
    ));
    assert_eq!(
        opened.err(),
        Some(JournalError::Corrupt(Corruption::OtherLayout))
    );
}

/// The checksum of a head, implemented a second time.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    checksum_from(u32::MAX, bytes)
}

fn checksum_from(mut sum: u32, bytes: &[u8]) -> u32 {
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xEDB8_8320 * (sum & 1));
        }
    }
    !sum
}

#[test]
fn a_journal_of_another_version_is_an_error_or_formatted() {
    assert_eq!(checksum(b"123456789"), 0xCBF4_3926, "as of Ethernet");
    let chip = used(5);
    chip.change(|bytes| {
        assert_eq!(&bytes[..4], b"abj1");
        bytes[3] = b'0';
        let sum = checksum(&bytes[..28]);
        bytes[28..32].copy_from_slice(&sum.to_le_bytes());
    });
    check(&chip, 0..4, Corruption::OtherLayout);
}

/// A chip with a journal of 30 entries of 36 bytes, six in a page, of which none was sent: the youngest is the first page,
/// and the second is due to be erased.
fn waiting() -> Flash {
    let chip = Flash::new(4, 0);
    let config = JournalConfig::new().when_full(WhenFull::DropOldest);
    let mut journal = try_open(&chip, 0..4, config).expect("erased");
    for _ in 0..30 {
        run(journal.keep(b"twenty bytes, filled")).expect("room");
    }
    chip
}

#[test]
fn a_page_whose_head_has_become_unreadable_is_an_error_or_formatted() {
    for page in [0, 2, 3] {
        let chip = waiting();
        chip.change(|bytes| bytes[page * 256 + 17] ^= 4);
        check(&chip, 0..4, Corruption::Damaged);
    }
}

#[test]
fn a_page_of_which_all_was_sent_may_lose_its_head() {
    // All but the last entry, which is in the first page.
    for page in [2, 3] {
        let chip = used(30);
        chip.change(|bytes| bytes[page * 256 + 17] ^= 4);
        let mut journal = try_open(&chip, 0..4, JournalConfig::new()).expect("a journal");
        assert_eq!((journal.waiting(), journal.next_number()), (1, 30));
        let entry = run(journal.oldest()).expect("it works").expect("it waits");
        assert_eq!(entry.number, 29);
    }
    let chip = used(30);
    chip.change(|bytes| bytes[17] ^= 4);
    check(&chip, 0..4, Corruption::Damaged);
}

#[test]
fn an_unreadable_entry_is_skipped_and_leaves_a_gap() {
    let chip = Flash::new(4, 0);
    let mut journal = try_open(&chip, 0..4, JournalConfig::new()).expect("erased");
    for _ in 0..3 {
        run(journal.keep(b"twenty bytes, filled")).expect("room");
    }
    // The data of number 1: after the head, a record, and a header.
    chip.change(|bytes| bytes[32 + 36 + 12 + 3] ^= 1);
    let mut journal = try_open(&chip, 0..4, JournalConfig::new()).expect("a journal");
    assert_eq!((journal.waiting(), journal.next_number()), (2, 3));
    for expected in [0, 2] {
        let entry = run(journal.oldest()).expect("it works").expect("it waits");
        assert_eq!(entry.number, expected);
        assert_eq!(run(journal.remove_through(expected)), Ok(1));
    }
}

/// The first of three entries holds those bytes, its own header cannot be read, and the others are found.
fn hides_nothing(bytes: &[u8]) {
    let chip = Flash::new(4, 0);
    let mut journal = try_open(&chip, 0..4, JournalConfig::new()).expect("erased");
    for entry in [bytes, b"one", b"two"] {
        run(journal.keep(entry)).expect("room");
    }
    chip.change(|bytes| bytes[32] ^= 1);
    let mut journal = try_open(&chip, 0..4, JournalConfig::new()).expect("a journal");
    assert_eq!((journal.waiting(), journal.next_number()), (2, 3));
    let entry = run(journal.oldest()).expect("it works").expect("it waits");
    assert_eq!((entry.number, entry.bytes), (1, &b"one"[..]));
}

/// A record without data, which has that number and waits.
fn lookalike(number: u32) -> Vec<u8> {
    let mut sum = number.to_le_bytes().to_vec();
    sum.extend([0, 0]);
    let sum = checksum_from(u32::from_le_bytes(*b"abj1"), &sum);
    let mut record = vec![0, 0, 0xFF, 0xFF];
    record.extend(number.to_le_bytes());
    record.extend(sum.to_le_bytes());
    record.extend([0xFF; 4]);
    record
}

#[test]
fn bytes_that_look_like_a_record_with_a_number_too_high_for_its_page_hide_nothing() {
    // 256 bytes are 64 grains, each of which may take a number if it cannot be read.
    for number in 65..=69 {
        hides_nothing(&lookalike(number));
    }
}

/// The flash says that it has written the header of an entry, and has written nothing.
fn keep_without_header(entry: &[u8]) -> Result<u32, JournalError<Failed>> {
    let flash = Ill::<4>::holding(vec![0xFF; 2 * PAGE], 0);
    let opened = Open::open(flash.clone(), flash.range(), JournalConfig::new());
    let mut journal = run(opened).expect("erased");
    flash.set(Plan::once(Fault::WriteLies(Done::Nothing)));
    run(journal.keep(entry))
}

/// The first two are of its number, the second ends where the entry does; the third and fourth are of another one.
#[test]
fn an_entry_that_looks_like_a_record_and_has_lost_its_header_is_not_acknowledged() {
    let [own, other] = [0, 65].map(lookalike);
    for entry in [&own[..], &own[..12], &other[..12], &other[..]] {
        assert_eq!(keep_without_header(entry), Err(JournalError::Worn));
    }
}

#[test]
fn bytes_that_look_like_a_record_longer_than_its_page_hide_nothing() {
    hides_nothing(&[240, 0, !240, 0xFF, 0, 0, 0, 0, 7, 7, 7, 7]);
}

#[test]
fn a_new_journal_writes_nothing_outside_its_range() {
    let chip = Flash::new(4, 0);
    let mut journal = try_open(&chip, 2..4, JournalConfig::new()).expect("erased");
    run(journal.keep(b"new")).expect("room");
    assert!(chip.bytes()[..512].iter().all(|byte| *byte == 0xFF));
    let entry = run(journal.oldest()).expect("it works").expect("it waits");
    assert_eq!(entry.bytes, b"new");
}

/// Flash that no longer erases anything, without reporting an error.
struct Worn {
    chip: Flash,
    erases: u32,
}

impl ErrorType for Worn {
    type Error = Cut;
}

impl ReadNorFlash for Worn {
    const READ_SIZE: usize = Flash::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Cut> {
        self.chip.read(offset, bytes).await
    }

    fn capacity(&self) -> usize {
        self.chip.capacity()
    }
}

impl NorFlash for Worn {
    const WRITE_SIZE: usize = Flash::WRITE_SIZE;
    const ERASE_SIZE: usize = Flash::ERASE_SIZE;

    async fn erase(&mut self, _: u32, _: u32) -> Result<(), Cut> {
        self.erases += 1;
        assert!(self.erases <= 9, "erased again and again");
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Cut> {
        self.chip.write(offset, bytes).await
    }
}

#[test]
fn formatting_ends_with_an_error_on_flash_that_erases_nothing() {
    let chip = waiting();
    chip.change(|bytes| bytes[2 * 256 + 17] ^= 4);
    chip.allow_rewrites();
    let range = chip.range();
    let worn = Worn { chip, erases: 0 };
    let opened = run(Journal::<_, 20>::open(worn, range, FORMATTING));
    // Its head cannot be read back.
    assert_eq!(opened.err(), Some(JournalError::Worn));
}
