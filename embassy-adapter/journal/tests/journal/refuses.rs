// SPDX-License-Identifier: MIT OR Apache-2.0
//! One page refuses, for good: its erases, its head or all that is written there. The journal goes on in the others.

use std::cell::Cell;
use std::rc::Rc;

use atomic_breaker_embassy::{Breaker, Config, EmbassyTimer, ManualClock, wait::WithTimer};
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use flash_journal::{
    Entry, Journal, JournalConfig, JournalError, TimeLimit, WhenCorrupt, WhenFull,
};

use super::flash::{Chip, Cut};
use super::random::run;

const PAGE: usize = 256;

/// The operation that the page refuses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Refuses {
    /// It says Ok and keeps its old bytes, or it says that it fails.
    Erases {
        tells: bool,
    },
    Head {
        tells: bool,
    },
    AllWrites {
        tells: bool,
    },
    /// All but the head.
    Records {
        tells: bool,
    },
}

impl Refuses {
    pub(crate) const ALL: [Self; 8] = [
        Self::Erases { tells: false },
        Self::Erases { tells: true },
        Self::Head { tells: false },
        Self::Head { tells: true },
        Self::AllWrites { tells: false },
        Self::AllWrites { tells: true },
        Self::Records { tells: false },
        Self::Records { tells: true },
    ];

    pub(crate) fn answer(self) -> Result<(), Cut> {
        match self {
            Self::Erases { tells: true }
            | Self::Head { tells: true }
            | Self::AllWrites { tells: true }
            | Self::Records { tells: true } => Err(Cut),
            _ => Ok(()),
        }
    }
}

#[derive(Clone)]
pub(crate) struct OnePage {
    pub(crate) chip: Chip<1, 4, PAGE>,
    pub(crate) refuses: Rc<Cell<Option<(usize, Refuses)>>>,
}

impl OnePage {
    pub(crate) fn new(pages: usize) -> Self {
        let chip = Chip::new(pages, 7);
        // What an erase that lied has left cannot be avoided.
        chip.allow_rewrites();
        Self {
            chip,
            refuses: Rc::default(),
        }
    }

    fn refusal(&self, at: u32, is_write: bool) -> Option<Refuses> {
        let (page, refuses) = self.refuses.get()?;
        let is_head = at as usize % PAGE < 32;
        let fits = match refuses {
            Refuses::Erases { .. } => !is_write,
            Refuses::Head { .. } => is_write && is_head,
            Refuses::AllWrites { .. } => is_write,
            Refuses::Records { .. } => is_write && !is_head,
        };
        (fits && at as usize / PAGE == page).then_some(refuses)
    }
}

impl ErrorType for OnePage {
    type Error = Cut;
}

impl ReadNorFlash for OnePage {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Cut> {
        self.chip.read(offset, bytes).await
    }

    fn capacity(&self) -> usize {
        self.chip.capacity()
    }
}

impl NorFlash for OnePage {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Cut> {
        match self.refusal(from, false) {
            Some(refuses) => refuses.answer(),
            None => self.chip.erase(from, to).await,
        }
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Cut> {
        match self.refusal(offset, true) {
            Some(refuses) => refuses.answer(),
            None => self.chip.write(offset, bytes).await,
        }
    }
}

pub(crate) type Open = Journal<OnePage, 16>;

pub(crate) fn open(flash: &OnePage, config: JournalConfig) -> Result<Open, JournalError<Cut>> {
    run(Open::open(flash.clone(), flash.chip.range(), config))
}

/// The fate of so many readings, one after the other; the radio is down for a while, again and again.
#[derive(Debug, Default)]
struct Arrived {
    all: u32,
    /// Of the last hundred.
    late: u32,
    /// Readings that `keep` did not acknowledge.
    refused: u32,
}

const READINGS: u32 = 3_000;

fn history(
    flash: &OnePage,
    config: JournalConfig,
    ill_from: u32,
    ill: (usize, Refuses),
    at_once: bool,
) -> Arrived {
    let breaker = Breaker::new(
        Config::new(),
        WithTimer {
            clock: ManualClock::new(),
            timer: EmbassyTimer,
        },
    );
    let mut journal = open(flash, config).expect("erased, and well");
    let mut done = Arrived::default();
    let mut last = None;
    for reading in 0..READINGS {
        if reading == ill_from {
            flash.refuses.set(Some(ill));
        }
        if reading % 37 == 36 {
            // A reset.
            journal = open(flash, config).expect("a journal");
        }
        let works = reading / 4 % 3 != 2;
        let mut heard = Vec::new();
        let send = async |entry: Entry<'_>| {
            if works {
                heard.push((entry.number, entry.bytes.to_vec()));
                Ok(())
            } else {
                Err(())
            }
        };
        let bytes = reading.to_le_bytes();
        if at_once {
            done.refused += u32::from(
                run(journal.send_or_keep(&breaker, TimeLimit::NONE, &bytes, send)).is_err(),
            );
        } else {
            done.refused += u32::from(run(journal.keep(&bytes)).is_err());
            let _ = run(journal.send_all(&breaker, TimeLimit::NONE, send));
        }
        breaker.reset();
        for (number, bytes) in heard {
            // As a receiver does.
            if last.is_none_or(|last| number > last) {
                last = Some(number);
                done.all += 1;
                let reading = u32::from_le_bytes(bytes.try_into().unwrap());
                done.late += u32::from(reading >= READINGS - 100);
            }
        }
    }
    done
}

fn each_page(pages: usize, config: JournalConfig, at_once: bool) {
    for refuses in Refuses::ALL {
        for page in 0..pages {
            // Begun in the first round, or in a later one.
            for ill_from in [1, 40, 500] {
                let flash = OnePage::new(pages);
                let done = history(&flash, config, ill_from, (page, refuses), at_once);
                println!("{pages} pages, {page} {refuses:?} from {ill_from}: {done:?}");
                assert!(done.late >= 85, "it goes on: {done:?}");
                assert!(
                    done.all + done.refused + 20 >= READINGS,
                    "what was kept arrives: {done:?}"
                );
                // A page that takes its head and nothing else costs two readings each time it is begun.
                assert!(done.refused * 8 < READINGS, "{done:?}");
                let takes_head = matches!(refuses, Refuses::Records { .. });
                assert!(takes_head || done.refused <= 4, "{done:?}");
            }
        }
    }
}

#[test]
fn a_page_that_refuses_is_left_out_whichever_it_is() {
    for config in [
        JournalConfig::new(),
        JournalConfig::new().when_full(WhenFull::DropOldest),
    ] {
        each_page(4, config, false);
        each_page(4, config, true);
        each_page(7, config, false);
    }
}

/// Two pages: the one that holds the numbers is not erased for a head that may not hold.
#[test]
fn with_two_pages_one_that_refuses_is_an_error_that_loses_nothing() {
    let flash = OnePage::new(2);
    let mut journal = open(&flash, JournalConfig::new()).unwrap();
    flash.refuses.set(Some((1, Refuses::Head { tells: false })));
    let mut kept = 0;
    let error = loop {
        match run(journal.keep(&[1, 2, 3])) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        run(journal.oldest()).unwrap();
    };
    assert_eq!(error, JournalError::Full);
    assert_eq!(run(journal.remove_through(u32::MAX)), Ok(kept));
    for _ in 0..3 {
        assert_eq!(run(journal.keep(&[4])), Err(JournalError::Worn));
    }
    flash.refuses.set(None);
    assert_eq!(run(journal.keep(&[5])), Ok(kept));
}

/// Erased, and one page of it refuses from the beginning.
#[test]
fn a_range_is_formatted_although_one_page_refuses() {
    for refuses in Refuses::ALL {
        for page in 0..4 {
            for config in [
                JournalConfig::new(),
                JournalConfig::new().when_corrupt(WhenCorrupt::Format),
            ] {
                let flash = OnePage::new(4);
                flash.refuses.set(Some((page, refuses)));
                if config == config.when_corrupt(WhenCorrupt::Format) {
                    // Something else lies there.
                    flash.chip.change(|bytes| bytes.fill(0xA5));
                }
                let mut journal = open(&flash, config).unwrap_or_else(|error| {
                    panic!("page {page} {refuses:?}: {error:?}");
                });
                assert!(journal.is_new());
                let again = open(&flash, config).expect("begun");
                assert!(again.is_new() && again.next_number() == 0);
                for number in 0..4 {
                    let mut tries = 0;
                    while run(journal.keep(&[number])).is_err() {
                        tries += 1;
                        assert!(tries < 4, "page {page} {refuses:?}");
                    }
                }
                let journal = open(&flash, config).expect("begun");
                assert_eq!((journal.waiting(), journal.is_new()), (4, false));
            }
        }
    }
}
