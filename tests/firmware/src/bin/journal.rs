// SPDX-License-Identifier: MIT OR Apache-2.0
//! The journal in the flash of the chip, which is reset after a random number of instructions, again and again: while
//! it starts, writes, erases, sends. RAM that resets leave as it is holds what the receiver has seen.
#![no_std]
#![no_main]

use core::cell::RefCell;
use core::convert::Infallible;

use atomic_breaker_embassy::{Breaker, Config, EmbassyTimer, ManualClock, wait::WithTimer};
use embassy_executor::Spawner;
use firmware::nvmc::Nvmc;
use firmware::{hurry, on_interrupt, pass, reset};
use flash_journal::{Entry, Journal, JournalConfig, JournalError, TimeLimit, WhenCorrupt};

const RESETS: u32 = 1_000;
/// The longest time between two resets: 600,000 instructions. Most of them pass while a journal with a fence for each of
/// so many starts is read.
const LONGEST_NS: u32 = 80_000_000;
/// The same until the journal is formatted: flash that is full of something else is searched twice for records, which
/// takes longer than that, and erases nothing before it ends.
const LONGEST_FORMAT_NS: u32 = 480_000_000;
/// Four pages behind the program.
const PAGES: core::ops::Range<u32> = 0x3_0000..0x3_1000;
/// Before anything was received.
const NONE: u32 = u32::MAX;

/// The state that survives resets.
#[derive(Clone, Copy)]
struct Kept {
    is_begun: u32,
    is_formatted: bool,
    random: u32,
    resets: u32,
    /// Makes every reading different.
    readings: u32,
    /// A bit for each of the last numbers; set if acknowledged by the journal, and not received yet.
    waiting: [u32; NUMBERS / 32],
    /// The last number that was received, and its reading.
    received: u32,
    reading: u32,
    count: u32,
    repeats: u32,
    gaps: u32,
}

impl Kept {
    const FIRST: Self = Self {
        is_begun: BEGUN,
        is_formatted: false,
        random: 0x1234_5678,
        resets: 0,
        readings: 0,
        waiting: [0; NUMBERS / 32],
        received: NONE,
        reading: 0,
        count: 0,
        repeats: 0,
        gaps: 0,
    };

    fn waiting(&self, number: u32) -> bool {
        let number = number as usize % NUMBERS;
        self.waiting[number / 32] & (1 << (number % 32)) != 0
    }

    fn set_waiting(&mut self, number: u32, is_waiting: bool) {
        let number = number as usize % NUMBERS;
        let bit = 1 << (number % 32);
        let word = &mut self.waiting[number / 32];
        *word = if is_waiting {
            *word | bit
        } else {
            *word & !bit
        };
    }
}

/// More than can wait.
const NUMBERS: usize = 512;

const BEGUN: u32 = 0x4A52_4E4C;

#[unsafe(link_section = ".uninit.kept")]
static mut KEPT: core::mem::MaybeUninit<Kept> = core::mem::MaybeUninit::uninit();

/// Changes the kept state: either completely or, before a reset, not at all.
fn kept<V>(change: impl FnOnce(&mut Kept) -> V) -> V {
    critical_section::with(|_| {
        // SAFETY: nothing else touches it, and nothing interrupts; the emulator's memory begins with zeros.
        let kept = unsafe { (*(&raw mut KEPT)).assume_init_mut() };
        change(kept)
    })
}

fn random(below: u32) -> u32 {
    kept(|kept| {
        // xorshift
        kept.random ^= kept.random << 13;
        kept.random ^= kept.random >> 17;
        kept.random ^= kept.random << 5;
        kept.random % below
    })
}

/// The receiver checks that entries come in order, that none is missing, and that only the last comes twice,
/// unchanged.
fn receive(entry: Entry<'_>) {
    let number = entry.number;
    let reading = u32::from_le_bytes(entry.bytes[..4].try_into().expect("four bytes"));
    kept(|kept| {
        if kept.received == number {
            assert_eq!(kept.reading, reading, "the same number, the same reading");
            kept.repeats += 1;
            return;
        }
        // A gap is a number that was assigned to a reading just before a reset.
        let first = kept.received.wrapping_add(1);
        assert!(first <= number, "in order");
        for number in first..number {
            assert!(!kept.waiting(number), "{number} is missing");
            kept.gaps += 1;
        }
        kept.set_waiting(number, false);
        kept.received = number;
        kept.reading = reading;
        kept.count += 1;
    });
}

/// Counts another start; returns whether it is the last.
fn started() -> bool {
    kept(|kept| {
        if kept.is_begun == BEGUN {
            kept.resets += 1;
        } else {
            *kept = Kept::FIRST;
        }
        kept.resets >= RESETS
    })
}

/// Notes the acknowledgement, if there was one; a full journal waits for the radio.
fn acknowledge(number: Result<u32, JournalError<Infallible>>) {
    match number {
        Ok(number) => kept(|kept| {
            if kept.received == NONE || kept.received < number {
                kept.set_waiting(number, true);
            }
        }),
        Err(error) => assert_eq!(error, JournalError::Full),
    }
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let mut core = firmware::start();
    let is_last = started();
    if !is_last {
        on_interrupt(|| reset());
        let longest = if kept(|kept| kept.is_formatted) {
            LONGEST_NS
        } else {
            LONGEST_FORMAT_NS
        };
        hurry(&mut core.SYST, 20_000 + random(longest));
    }
    let mut config = JournalConfig::new();
    if !kept(|kept| kept.is_formatted) {
        // The emulator's flash begins with zeros, and the first formatting is interrupted like everything else.
        config = config.when_corrupt(WhenCorrupt::Format);
    }
    let opened = Journal::<_, 32>::open(Nvmc, PAGES, config).await;
    let mut journal = opened.expect("a journal, or to be formatted");
    kept(|kept| kept.is_formatted = true);
    let breaker = Breaker::new(
        Config::new(),
        WithTimer {
            clock: ManualClock::new(),
            timer: EmbassyTimer,
        },
    );
    let is_down = RefCell::new(false);
    let send = async |entry: Entry<'_>| {
        if *is_down.borrow() {
            return Err(());
        }
        receive(entry);
        Ok(())
    };
    while !is_last {
        let reading = kept(|kept| {
            kept.readings += 1;
            kept.readings
        });
        let mut bytes = [0xFF; 32];
        bytes[..4].copy_from_slice(&reading.to_le_bytes());
        let bytes = &bytes[..4 + random(29) as usize];
        is_down.replace(random(3) > 0);
        let (limit, choice) = (TimeLimit::NONE, random(8));
        match choice {
            0 => {
                let sent = journal.send_or_keep(&breaker, limit, bytes, send).await;
                acknowledge(sent.map(|_| journal.next_number() - 1));
            }
            1 => {
                let sent = journal.send_all(&breaker, limit, send).await;
                assert!(sent.is_ok());
            }
            _ => acknowledge(journal.keep(bytes).await),
        }
        breaker.reset();
    }
    is_down.replace(false);
    let sent = journal.send_all(&breaker, TimeLimit::NONE, send).await;
    assert!(sent.expect("it works").stopped.is_none());
    let kept = kept(|kept| *kept);
    assert_eq!(
        kept.waiting,
        [0; NUMBERS / 32],
        "nothing acknowledged is missing"
    );
    assert!(
        kept.resets >= 1_000 && kept.count > 1_000,
        "{} resets, {} readings",
        kept.resets,
        kept.count
    );
    pass!(
        "{} resets at random instructions: {} readings received in order, none that was acknowledged is missing; {} came \
         twice with the same number, {} numbers were taken in vain",
        kept.resets,
        kept.count,
        kept.repeats,
        kept.gaps,
    );
}
