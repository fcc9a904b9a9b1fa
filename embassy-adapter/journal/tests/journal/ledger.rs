// SPDX-License-Identifier: MIT OR Apache-2.0
//! The application's knowledge of its journal: the entries that were acknowledged, those that arrived, and the reports
//! that it got. It knows nothing of pages.

use std::collections::BTreeMap;

use atomic_breaker_embassy::{Breaker, Config, EmbassyTimer, ManualClock, wait::WithTimer};
use flash_journal::{Entry, Journal, JournalConfig, JournalError, TimeLimit, WhenFull};

use super::ill::{Failed, Ill};
use super::random::run;

pub(crate) type Open<const W: usize> = Journal<Ill<W>, 20>;

type Answer<V> = Result<V, JournalError<Failed>>;

pub(crate) struct Ledger<const W: usize> {
    pub(crate) flash: Ill<W>,
    pub(crate) config: JournalConfig,
    breaker: Breaker<WithTimer<ManualClock, EmbassyTimer>>,
    /// The number of readings that were given to the journal; each is different.
    given: u32,
    pub(crate) acknowledged: BTreeMap<u32, Vec<u8>>,
    arrived: BTreeMap<u32, Vec<u8>>,
    /// Acknowledged entries that arrived for the first time after a later one: a receiver ignores them.
    pub(crate) late: u32,
    /// Errors so far.
    pub(crate) told: Vec<JournalError<Failed>>,
    /// Journals that said that they are new, after the first.
    pub(crate) restarts: u32,
    /// `true` if a page was left out, or a formatting went on without its mark: then the fault was not reported.
    pub(crate) went_around: bool,
    /// The number of entries that were missing when they did.
    lost: u32,
}

/// A reading, which tells its own place among all.
fn reading(given: u32) -> Vec<u8> {
    let mut bytes = given.to_le_bytes().to_vec();
    bytes.resize(4 + given as usize * 7 % 17, given as u8);
    bytes
}

impl<const W: usize> Ledger<W> {
    pub(crate) fn new(flash: Ill<W>, config: JournalConfig) -> Self {
        let clock = ManualClock::new();
        let timer = EmbassyTimer;
        Self {
            flash,
            config,
            breaker: Breaker::new(Config::new(), WithTimer { clock, timer }),
            given: 0,
            acknowledged: BTreeMap::new(),
            arrived: BTreeMap::new(),
            late: 0,
            told: Vec::new(),
            restarts: 0,
            went_around: false,
            lost: 0,
        }
    }

    /// Starts, and tries again after an error, as often as `tries` says.
    pub(crate) fn start(&mut self, tries: u32) -> Option<Open<W>> {
        for _ in 0..tries {
            let flash = self.flash.clone();
            match run(Journal::open(flash, self.flash.range(), self.config)) {
                Ok(journal) => {
                    self.learn(&journal);
                    return Some(journal);
                }
                Err(error) => self.told.push(error),
            }
        }
        None
    }

    /// A journal that is new numbers its entries anew, and nothing is left of the old one.
    fn learn(&mut self, journal: &Open<W>) {
        let is_first = self.highest().is_none() && self.told.is_empty();
        self.went_around |= is_first && self.flash.hits.get() > 0;
        if journal.is_new() && journal.next_number() == 0 {
            self.restarts += u32::from(!self.acknowledged.is_empty());
            self.lost += self.missing();
            self.acknowledged.clear();
            self.arrived.clear();
        }
    }

    pub(crate) fn keep(&mut self, journal: &mut Open<W>) -> Answer<u32> {
        let bytes = reading(self.given);
        self.given += 1;
        let kept = run(journal.keep(&bytes));
        self.went_around |= journal.left_out() > 0;
        self.note(kept, bytes)
    }

    fn note(&mut self, kept: Answer<u32>, bytes: Vec<u8>) -> Answer<u32> {
        match kept {
            Ok(number) => {
                let last = self.highest();
                assert!(last < Some(number), "{number} was given after {last:?}");
                self.acknowledged.insert(number, bytes);
            }
            Err(error) => self.told.push(error),
        }
        kept
    }

    /// The highest number that is known to have been used.
    pub(crate) fn highest(&self) -> Option<u32> {
        let acknowledged = self.acknowledged.keys().last();
        acknowledged.max(self.arrived.keys().last()).copied()
    }

    /// Sends so many of the waiting entries; returns how many there were.
    pub(crate) fn send(&mut self, journal: &mut Open<W>, at_most: u32) -> Answer<u32> {
        for count in 0..at_most {
            let number = match run(journal.oldest()) {
                Ok(Some(entry)) => self.receive(entry.number, entry.bytes),
                Ok(None) => return Ok(count),
                Err(error) => return self.tell(error),
            };
            if let Err(error) = run(journal.remove_through(number)) {
                return self.tell(error);
            }
        }
        Ok(at_most)
    }

    fn tell(&mut self, error: JournalError<Failed>) -> Answer<u32> {
        self.told.push(error);
        Err(error)
    }

    /// Sends at once, over a radio that works or does not.
    pub(crate) fn send_or_keep(&mut self, journal: &mut Open<W>, works: bool) -> Answer<u32> {
        let bytes = reading(self.given);
        self.given += 1;
        let mut heard = Vec::new();
        let send = async |entry: Entry<'_>| {
            heard.push((entry.number, entry.bytes.to_vec()));
            if works { Ok(()) } else { Err(()) }
        };
        let ended = run(journal.send_or_keep(&self.breaker, TimeLimit::NONE, &bytes, send));
        self.breaker.reset();
        self.went_around |= journal.left_out() > 0;
        if works {
            for (number, bytes) in &heard {
                self.receive(*number, bytes);
            }
        }
        let is_sent = works && heard.last().is_some_and(|(_, it)| *it == bytes);
        match ended {
            Ok(_) if is_sent => Ok(0),
            ended => self.note(ended.map(|_| journal.next_number() - 1), bytes),
        }
    }

    fn receive(&mut self, number: u32, bytes: &[u8]) -> u32 {
        let place = bytes.first_chunk().map(|place| u32::from_le_bytes(*place));
        let was_given = place.is_some_and(|it| it < self.given && bytes == reading(it));
        assert!(was_given, "{number} was never given: {bytes:?}");
        if let Some(kept) = self.acknowledged.get(&number) {
            assert_eq!(*kept, bytes, "{number} is what was acknowledged");
        }
        let last = self.arrived.keys().last();
        if let Some(seen) = self.arrived.get(&number) {
            assert_eq!(*seen, bytes, "{number} is what it was before");
        } else if last > Some(&number) {
            // One whose keeping was cut off, and that was read wrong since, is nobody's loss.
            self.late += u32::from(self.acknowledged.contains_key(&number));
        } else {
            self.arrived.insert(number, bytes.to_vec());
        }
        number
    }

    /// Acknowledged entries that have not arrived, those before a restart included.
    pub(crate) fn missing(&self) -> u32 {
        let is_missing = |number: &&u32| !self.arrived.contains_key(number);
        self.acknowledged.keys().filter(is_missing).count() as u32
    }

    pub(crate) fn missing_in_all(&self) -> u32 {
        self.lost + self.missing()
    }

    /// Each reading was acknowledged or arrived under one number only.
    fn check_numbers(&self) {
        let mut readings: BTreeMap<&[u8], u32> = BTreeMap::new();
        for (number, bytes) in self.acknowledged.iter().chain(&self.arrived) {
            let before = readings.insert(bytes, *number);
            assert!(
                before.is_none_or(|it| it == *number),
                "sent twice, as {before:?} and {number}"
            );
        }
    }

    /// After the fault: everything that waits arrives, the next entries are kept at once, and again after a start. Returns
    /// how many entries the journal says that it has dropped.
    pub(crate) fn recovers(&mut self, mut journal: Open<W>) -> u32 {
        for _ in 0..2 {
            self.send(&mut journal, u32::MAX).expect("healthy flash");
            self.learn(&journal);
            for _ in 0..8 {
                let kept = self.keep(&mut journal).expect("healthy flash");
                self.send(&mut journal, u32::MAX).expect("healthy flash");
                assert!(self.arrived.contains_key(&kept), "{kept} is sent at once");
                assert_eq!(journal.waiting(), 0);
            }
            journal = self.start(1).expect("healthy flash");
        }
        self.check_numbers();
        journal.dropped()
    }

    /// The same application with another flash, started anew.
    pub(crate) fn on(&self, flash: Ill<W>, config: JournalConfig) -> Self {
        Self {
            given: self.given,
            acknowledged: self.acknowledged.clone(),
            arrived: self.arrived.clone(),
            ..Self::new(flash, config)
        }
    }

    pub(crate) fn refuses(&self) -> bool {
        self.config == self.config.when_full(WhenFull::Refuse)
    }
}
