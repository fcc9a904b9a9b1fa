// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages become ill and well again, several at a time, while the power fails, futures are dropped and the radio is down for
//! long.

use std::collections::BTreeMap;

use flash_journal::{Journal, JournalConfig, JournalError, WhenCorrupt, WhenFull};

use super::cuts::rounds;
use super::flash::Cut;
use super::pages::Pages;
use super::random::{Random, run, run_for, seed};
use super::refuses::Refuses;

const LONGEST: usize = 24;

type Open<const R: usize, const W: usize, const E: usize> = Journal<Pages<R, W, E>, LONGEST>;

struct Storm<const R: usize, const W: usize, const E: usize> {
    flash: Pages<R, W, E>,
    config: JournalConfig,
    random: Random,
    acknowledged: BTreeMap<u32, Vec<u8>>,
    arrived: BTreeMap<u32, Vec<u8>>,
    given: u32,
    name: String,
    restarts: u32,
}

impl<const R: usize, const W: usize, const E: usize> Storm<R, W, E> {
    fn open(&mut self) -> Result<Open<R, W, E>, JournalError<Cut>> {
        let opened = run(Journal::open(
            self.flash.clone(),
            self.flash.chip.range(),
            self.config,
        ));
        if let Ok(journal) = &opened
            && journal.is_new()
            && journal.next_number() == 0
        {
            let waited = self
                .acknowledged
                .keys()
                .any(|it| !self.arrived.contains_key(it));
            self.restarts += u32::from(!self.acknowledged.is_empty() && waited);
            self.acknowledged.clear();
            self.arrived.clear();
        }
        opened
    }

    fn reading(&mut self) -> Vec<u8> {
        self.given += 1;
        let mut bytes = self.given.to_le_bytes().to_vec();
        let len = self.random.below(LONGEST as u64 - 3) as usize;
        bytes.resize(4 + len, self.given as u8);
        bytes
    }

    fn keep(&mut self, journal: &mut Open<R, W, E>, polls: u64) -> Option<bool> {
        let bytes = self.reading();
        match run_for(polls, journal.keep(&bytes))? {
            Ok(number) => {
                let last = self.acknowledged.keys().last().copied();
                let last = last.max(self.arrived.keys().last().copied());
                assert!(
                    last < Some(number),
                    "{}: {number} after {last:?}",
                    self.name
                );
                self.acknowledged.insert(number, bytes);
                Some(true)
            }
            Err(_) => Some(false),
        }
    }

    fn send(&mut self, journal: &mut Open<R, W, E>, at_most: u64, polls: u64) -> Option<bool> {
        let mut before = None;
        for _ in 0..at_most {
            let (number, bytes) = match run_for(polls, journal.oldest())? {
                Ok(Some(entry)) => (entry.number, entry.bytes.to_vec()),
                Ok(None) => return Some(true),
                Err(_) => return Some(false),
            };
            assert!(before.replace(number) < Some(number), "{}", self.name);
            if let Some(kept) = self.acknowledged.get(&number) {
                assert_eq!(*kept, bytes, "{}: {number}", self.name);
            }
            let last = self.arrived.keys().last().copied();
            if let Some(seen) = self.arrived.get(&number) {
                assert_eq!(*seen, bytes, "{}: {number}", self.name);
            } else {
                assert!(last < Some(number), "{}: {number} late", self.name);
                self.arrived.insert(number, bytes);
            }
            if run_for(polls, journal.remove_through(number))?.is_err() {
                return Some(false);
            }
        }
        Some(true)
    }

    fn change_illness(&mut self, at_most: u64) {
        let pages = self.flash.refuses.borrow().len() as u64;
        let page = self.random.below(pages) as usize;
        let illness = Refuses::ALL[self.random.below(8) as usize];
        let mut refuses = self.flash.refuses.borrow_mut();
        if refuses[page].is_some() {
            refuses[page] = None;
        } else if (refuses.iter().flatten().count() as u64) < at_most {
            refuses[page] = Some(illness);
        }
    }

    fn play(&mut self, steps: u32, at_most: u64, is_impatient: bool) {
        let mut journal = None;
        let mut is_up = true;
        for _ in 0..steps {
            if self.random.one_in(25) {
                self.change_illness(at_most);
            }
            if self.random.one_in(30) {
                is_up = !is_up;
            }
            if !self.flash.chip.is_off() && self.random.one_in(12) {
                self.flash.chip.cut_after(self.random.below(3 * E as u64));
            }
            if self.random.one_in(25) {
                journal = None;
            }
            let Some(mut open) = journal.take().or_else(|| self.open().ok()) else {
                self.flash.chip.power_up();
                continue;
            };
            let polls = if is_impatient && self.random.one_in(2) {
                1 + self.random.below(60)
            } else {
                u64::MAX
            };
            if is_up && self.random.one_in(2) {
                let count = 1 + self.random.below(6);
                self.send(&mut open, count, polls);
            } else {
                self.keep(&mut open, polls);
            }
            if self.flash.chip.is_off() {
                self.flash.chip.power_up();
            } else {
                journal = Some(open);
            }
        }
        self.flash.chip.power_up();
    }

    /// Everything that waits is sent, and then it goes on.
    fn check(&mut self, what: &str) {
        let name = format!("{} {what} {:?}", self.name, self.flash.refuses.borrow());
        let mut journal = match self.open() {
            Ok(journal) => journal,
            Err(_) if self.acknowledged.is_empty() && self.arrived.is_empty() => return,
            Err(error) => panic!("{name}: {error:?}"),
        };
        for _ in 0..20 {
            if self.send(&mut journal, u64::MAX, u64::MAX) == Some(true) {
                break;
            }
        }
        assert_eq!(journal.waiting(), 0, "{name}");
        let missing: Vec<_> = self
            .acknowledged
            .keys()
            .filter(|it| !self.arrived.contains_key(it))
            .collect();
        let dropped = journal.dropped() as usize;
        assert!(missing.len() <= dropped, "{name}: {missing:?}, {dropped}");
        let refuses = self.config == self.config.when_full(WhenFull::Refuse);
        assert!(!refuses || dropped == 0, "{name}");
        for _ in 0..40 {
            let mut tries = 0;
            while self.keep(&mut journal, u64::MAX) != Some(true) {
                tries += 1;
                assert!(tries < 8, "{name}: it goes on");
            }
            for _ in 0..3 {
                self.send(&mut journal, u64::MAX, u64::MAX);
            }
        }
    }
}

fn storm<const R: usize, const W: usize, const E: usize>(
    pages: usize,
    seed: u64,
    at_most: u64,
    first: u32,
) {
    let mut random = Random::new(seed);
    let mut config = JournalConfig::new().first_number(first);
    if random.one_in(2) {
        config = config.when_full(WhenFull::DropOldest);
    }
    if random.one_in(3) {
        config = config.when_corrupt(WhenCorrupt::Format);
    }
    let is_impatient = random.one_in(3);
    let flash = Pages::<R, W, E>::new(pages, seed);
    if is_impatient {
        flash.chip.slow_down();
    }
    let mut storm = Storm {
        flash,
        config,
        random,
        acknowledged: BTreeMap::new(),
        arrived: BTreeMap::new(),
        given: 0,
        name: format!("JOURNAL_SEED={seed} {pages} pages, {R} {W} {E}, {config:?}"),
        restarts: 0,
    };
    let is_well_at_first = storm.random.one_in(2);
    if is_well_at_first {
        storm.open().expect("erased");
    }
    for _ in 0..3 {
        storm.play(150, at_most, is_impatient);
        // One ill page at most, of four or more.
        if pages >= 4 && storm.random.one_in(2) {
            let ill = storm.random.below(pages as u64) as usize;
            for (page, refuses) in storm.flash.refuses.borrow_mut().iter_mut().enumerate() {
                if page != ill {
                    *refuses = None;
                }
            }
            storm.check("one ill page");
        } else {
            storm.flash.refuses.borrow_mut().fill(None);
            storm.check("well");
        }
        assert_eq!(storm.restarts, 0, "{}", storm.name);
    }
}

#[test]
fn pages_that_become_ill_and_well_again_lose_nothing_and_it_goes_on() {
    let seed = seed();
    for round in 0..rounds().div_ceil(3) {
        let seed = seed.wrapping_add(round * 1_000);
        let ill = 1 + round % 3;
        storm::<1, 4, 256>(4, seed, ill, 0);
        storm::<1, 8, 256>(3, seed + 1, ill, 0);
        storm::<32, 32, 512>(5, seed + 2, ill, 0);
        storm::<1, 4, 256>(2, seed + 3, ill, 0);
        storm::<1, 4, 128>(7, seed + 4, ill, 0);
        storm::<1, 1, 128>(3, seed + 5, ill, 0);
    }
}
