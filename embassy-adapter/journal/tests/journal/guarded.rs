// SPDX-License-Identifier: MIT OR Apache-2.0
//! A journal in a flash that has a guard of its own: a chip that reads and does not write is noticed, left alone, repaired
//! and used again.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_embassy::{
    Breaker, Config, EmbassyTimer, GuardedError, GuardedFlash, ManualClock, wait::WithTimer,
};
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use flash_journal::{Journal, JournalConfig, JournalError, WhenFull};

use super::flash::{Chip, Cut};
use super::random::run;

/// The requests that the chip got while it did not write.
#[derive(Default)]
struct Symptoms {
    is_ill: Cell<bool>,
    asked: Cell<u32>,
    repairs: Cell<u32>,
}

/// Reads, and says that writes and erasures fail while it is ill.
struct ReadsOnly {
    chip: Chip<1, 4, 256>,
    ill: Rc<Symptoms>,
}

impl ReadsOnly {
    fn answer(&self) -> Result<(), Cut> {
        if !self.ill.is_ill.get() {
            return Ok(());
        }
        self.ill.asked.set(self.ill.asked.get() + 1);
        Err(Cut)
    }
}

impl ErrorType for ReadsOnly {
    type Error = Cut;
}

impl ReadNorFlash for ReadsOnly {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Cut> {
        self.chip.read(offset, bytes).await
    }

    fn capacity(&self) -> usize {
        self.chip.capacity()
    }
}

impl NorFlash for ReadsOnly {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 256;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Cut> {
        self.answer()?;
        self.chip.erase(from, to).await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Cut> {
        self.answer()?;
        self.chip.write(offset, bytes).await
    }
}

/// A chip that is well, and its two handles.
fn reads_only() -> (ReadsOnly, Chip<1, 4, 256>, Rc<Symptoms>) {
    let (chip, ill) = (Chip::new(4, 0), Rc::new(Symptoms::default()));
    let flash = ReadsOnly {
        chip: chip.clone(),
        ill: Rc::clone(&ill),
    };
    (flash, chip, ill)
}

const OPEN: Duration = Duration::from_secs(60);
const RULES: Config = Config::new().consecutive_failures(3).open_for(OPEN);
/// One reading in ten seconds.
const DAY: u32 = 8_640;
/// The chip writes again after the third repair of an outage.
const RUNG: u8 = 3;

#[test]
fn a_chip_that_reads_and_does_not_write_is_noticed_left_alone_repaired_and_used_again() {
    let clock = ManualClock::new();
    let timer = EmbassyTimer;
    let breaker = Breaker::<_, _>::new(
        RULES,
        WithTimer {
            clock: &clock,
            timer,
        },
    );
    let (flash, chip, ill) = reads_only();
    let flash = GuardedFlash::new(flash, &breaker).before_probe(|flash, trips| {
        flash.ill.repairs.set(flash.ill.repairs.get() + 1);
        if trips >= RUNG {
            flash.ill.is_ill.set(false);
        }
        Ok(())
    });
    let config = JournalConfig::new().when_full(WhenFull::DropOldest);
    let mut journal = run(Journal::<_, 8>::open(flash, chip.range(), config)).expect("erased");
    let mut keep = |reading: u32| {
        clock.advance(Duration::from_secs(10));
        run(journal.keep(&reading.to_le_bytes()))
    };
    for reading in 0..20 {
        assert_eq!(keep(reading), Ok(reading));
    }
    ill.is_ill.set(true);
    let (mut failed, mut rejected, mut kept) = (0, 0, 0);
    for reading in 20..DAY {
        match keep(reading) {
            Ok(_) => kept += 1,
            Err(JournalError::Flash(GuardedError::Rejected(_))) => rejected += 1,
            Err(_) => failed += 1,
        }
    }
    println!(
        "{failed} failed, {rejected} rejected, {kept} kept, {} repairs, {} asked",
        ill.repairs.get(),
        ill.asked.get()
    );
    // Three failures, and one for each probe until the third repair; in between it is left alone.
    assert!(failed <= 3 + u32::from(RUNG), "{failed}");
    assert!(ill.asked.get() <= 8, "{}", ill.asked.get());
    assert_eq!(ill.repairs.get(), u32::from(RUNG));
    assert!(rejected <= 5 * u32::from(RUNG), "{rejected}");
    assert_eq!(kept, DAY - 20 - failed - rejected);
}

/// Without a repair that helps: each probe is one operation, for as long as it takes.
#[test]
fn a_chip_that_never_writes_again_is_asked_once_in_each_open_time() {
    let clock = ManualClock::new();
    let timer = EmbassyTimer;
    let breaker = Breaker::<_, _>::new(
        RULES,
        WithTimer {
            clock: &clock,
            timer,
        },
    );
    let (flash, chip, ill) = reads_only();
    let flash = GuardedFlash::new(flash, &breaker);
    let opened = Journal::<_, 8>::open(flash, chip.range(), JournalConfig::new());
    let mut journal = run(opened).expect("erased");
    ill.is_ill.set(true);
    for _ in 0..DAY {
        clock.advance(Duration::from_secs(10));
        assert!(run(journal.keep(&[1])).is_err());
    }
    let open_times = DAY * 10 / OPEN.as_secs() as u32;
    let asked = ill.asked.get();
    assert!(
        asked <= open_times + 4,
        "{asked} in {open_times} open times"
    );
}
