// SPDX-License-Identifier: MIT OR Apache-2.0
//! The power fails while a page that refuses is being left out.

use std::ops::Range;

use flash_journal::{JournalConfig, WhenFull};

use super::faults::stride;
use super::random::{run, seed};
use super::refuses::{OnePage, Open, Refuses, open};

/// The application's knowledge after a history with one power cut.
struct Cuts {
    flash: OnePage,
    config: JournalConfig,
    /// `true` if the radio is up from time to time.
    sends: bool,
    acknowledged: Vec<(u32, u32)>,
    arrived: Vec<(u32, u32)>,
}

impl Cuts {
    /// Keeps so many readings; sends most of them, some late. Ends early if the power fails.
    fn keep(&mut self, readings: Range<u32>) {
        let Ok(mut journal) = open(&self.flash, self.config) else {
            return;
        };
        for reading in readings {
            if self.flash.chip.is_off() {
                return;
            }
            if let Ok(number) = run(journal.keep(&reading.to_le_bytes())) {
                self.acknowledged.push((number, reading));
            }
            if self.sends && reading % 9 < 4 {
                self.send(&mut journal, 3);
            }
        }
    }

    fn send(&mut self, journal: &mut Open, at_most: u32) {
        let mut before = None;
        for _ in 0..at_most {
            let Ok(Some(entry)) = run(journal.oldest()) else {
                return;
            };
            let reading = u32::from_le_bytes(entry.bytes.try_into().unwrap());
            let (number, last) = (entry.number, self.arrived.last().copied());
            assert!(
                before.replace(number) < Some(number),
                "sent, and then the next"
            );
            if last.is_none_or(|(last, _)| number > last) {
                self.arrived.push((number, reading));
            }
            let _ = run(journal.remove_through(number));
        }
    }

    /// The power is back, and the page is as ill as before.
    fn check(&mut self, name: &str) {
        self.flash.chip.power_up();
        let mut journal =
            open(&self.flash, self.config).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        self.send(&mut journal, u32::MAX);
        let is_missing = |it: &&(u32, u32)| !self.arrived.contains(it);
        let missing: Vec<_> = self.acknowledged.iter().filter(is_missing).collect();
        let dropped = journal.dropped() as usize;
        assert!(
            missing.len() <= dropped,
            "{name}: {missing:?}, {dropped} dropped"
        );
        let refuses = self.config == self.config.when_full(WhenFull::Refuse);
        assert!(!refuses || dropped == 0, "{name}");
        // At most one is acknowledged late: that which was being kept.
        let next = journal.next_number();
        assert!(
            self.acknowledged.iter().all(|(number, _)| *number < next),
            "{name}"
        );
        let mut tries = 0;
        while run(journal.keep(&[7; 4])).is_err() {
            tries += 1;
            assert!(tries < 4, "{name}: it goes on");
        }
    }
}

/// At each byte, while the page refuses as well: in the middle of what leaves it out.
#[test]
fn a_power_cut_while_a_page_is_left_out_loses_nothing() {
    let seed = seed();
    println!("JOURNAL_SEED={seed}");
    let (mut cuts, mut left_out) = (0, 0);
    for refuses in Refuses::ALL {
        for page in 0..4 {
            for (when_full, sends) in [
                (WhenFull::Refuse, true),
                (WhenFull::DropOldest, true),
                (WhenFull::DropOldest, false),
            ] {
                let config = JournalConfig::new().when_full(when_full);
                // From the first attempts to begin the page to the second round.
                let step = 29 * stride();
                let mut cut = seed % step;
                loop {
                    let flash = OnePage::new(4);
                    let mut history = Cuts {
                        flash: flash.clone(),
                        config,
                        sends,
                        acknowledged: Vec::new(),
                        arrived: Vec::new(),
                    };
                    history.keep(0..20);
                    flash.refuses.set(Some((page, refuses)));
                    flash.chip.cut_after(cut);
                    history.keep(20..90);
                    let is_over = !flash.chip.is_off();
                    history.check(&format!(
                        "page {page} {refuses:?} {when_full:?}, sends {sends}, cut after {cut}"
                    ));
                    cuts += 1;
                    if is_over {
                        let journal = open(&flash, config).expect("a journal");
                        left_out += u32::from(journal.next_number() > 60);
                        break;
                    }
                    cut += step;
                }
            }
        }
    }
    println!("{cuts} cuts, {left_out} histories went on to their end");
    assert!(left_out > 60);
}
