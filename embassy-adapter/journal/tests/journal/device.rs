// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device with a journal whose power fails, and a receiver that checks everything.

use std::collections::BTreeMap;

use atomic_breaker_embassy::{Breaker, Config, EmbassyTimer, ManualClock, wait::WithTimer};
use flash_journal::{
    Corruption, Entry, Journal, JournalConfig, JournalError, TimeLimit, WhenCorrupt, WhenFull,
};

use super::flash::{Chip, Cut};
use super::random::{Random, run, run_for};

pub(crate) const LONGEST: usize = 24;

pub(crate) type Opened<const R: usize, const W: usize, const E: usize> =
    Journal<Chip<R, W, E>, LONGEST>;

/// The entries that the receiver has seen.
#[derive(Clone, Default)]
pub(crate) struct Receiver {
    seen: BTreeMap<u32, Vec<u8>>,
    last: Option<u32>,
    pub(crate) repeats: u32,
    /// `true` if entries before the last may be sent again, as they are after two cuts or changes: one in a mark, one
    /// in what follows.
    pub(crate) ignores_old_ones: bool,
}

impl Receiver {
    fn receive(&mut self, entry: Entry<'_>) {
        let number = entry.number;
        if Some(number) == self.last || (self.ignores_old_ones && Some(number) < self.last) {
            if let Some(seen) = self.seen.get(&number) {
                assert_eq!(seen, entry.bytes, "the same number, the same bytes");
            }
            self.repeats += 1;
            return;
        }
        assert!(self.last < Some(number), "{number} after {:?}", self.last);
        self.last = Some(number);
        self.seen.insert(number, entry.bytes.to_vec());
    }
}

/// The error of a radio.
#[derive(Debug)]
struct NoAnswer;

/// The radio's response to an entry.
#[derive(Clone, Copy)]
enum Radio {
    Delivers,
    Fails,
    /// It arrives, but the response is lost.
    DeliversAndFails,
}

pub(crate) struct Device<const R: usize, const W: usize, const E: usize> {
    pub(crate) chip: Chip<R, W, E>,
    pub(crate) config: JournalConfig,
    breaker: Breaker<WithTimer<ManualClock, EmbassyTimer>>,
    random: Random,
    pub(crate) receiver: Receiver,
    /// The entries that the journal has acknowledged.
    acknowledged: BTreeMap<u32, Vec<u8>>,
    /// The most entries that may have been given to it; makes each entry different.
    attempts: u32,
    /// Numbers that may have been used without an acknowledgement, at most.
    unknown: u32,
    /// Responses that were lost.
    ambiguous: u32,
    pub(crate) cuts: u32,
    /// The number of times that something in the flash changed by itself.
    pub(crate) rotten: u32,
}

impl<const R: usize, const W: usize, const E: usize> Device<R, W, E> {
    pub(crate) fn new(pages: usize, when_full: WhenFull, seed: u64) -> Self {
        Self {
            chip: Chip::new(pages, seed),
            config: JournalConfig::new().when_full(when_full),
            breaker: Breaker::new(
                Config::new(),
                WithTimer {
                    clock: ManualClock::new(),
                    timer: EmbassyTimer,
                },
            ),
            random: Random::new(seed.wrapping_add(1)),
            receiver: Receiver::default(),
            acknowledged: BTreeMap::new(),
            attempts: 0,
            unknown: 0,
            ambiguous: 0,
            cuts: 0,
            rotten: 0,
        }
    }

    /// The same device with a chip of its own.
    pub(crate) fn copy(&self) -> Self {
        Self {
            chip: Chip::holding(self.chip.bytes(), 0),
            config: self.config,
            breaker: Breaker::new(
                Config::new(),
                WithTimer {
                    clock: ManualClock::new(),
                    timer: EmbassyTimer,
                },
            ),
            random: self.random.clone(),
            receiver: self.receiver.clone(),
            acknowledged: self.acknowledged.clone(),
            ..*self
        }
    }

    /// Starts, again and again while the power fails.
    pub(crate) fn start(&mut self) -> Opened<R, W, E> {
        self.try_start().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts like `start`, on flash in which something may have changed by itself.
    pub(crate) fn try_start(&mut self) -> Result<Opened<R, W, E>, Corruption> {
        loop {
            match run(Journal::open(
                self.chip.clone(),
                self.chip.range(),
                self.config,
            )) {
                Ok(journal) => return Ok(journal),
                Err(JournalError::Flash(Cut)) => self.lose_power(),
                Err(JournalError::Corrupt(corruption)) => return Err(corruption),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn refuses(&self) -> bool {
        self.config == self.config.when_full(WhenFull::Refuse)
    }

    /// A journal that is new says so. Unless it may format what it cannot read, nothing was in the old one.
    pub(crate) fn check_new(&self) {
        let may_format = self.config == self.config.when_corrupt(WhenCorrupt::Format);
        let is_lost = self.acknowledged.keys().last() > self.receiver.last.as_ref();
        assert!(may_format || !is_lost, "{:?}", self.acknowledged.keys());
    }

    pub(crate) fn lose_power(&mut self) {
        self.cuts += 1;
        // `send_or_keep` writes a number, then the entry that has it; what is left of that may have been the next, or at the
        // end of a page the next two.
        self.unknown += 3;
        self.chip.power_up();
    }

    /// One operation of the script; `Err` when the power failed. After `polls` polls the future is dropped, and
    /// the result is the same as if the power had failed.
    pub(crate) fn step(&mut self, journal: &mut Opened<R, W, E>, polls: u64) -> Result<(), Cut> {
        let entry = self.reading();
        let radio = match self.random.below(6) {
            0 => Radio::Fails,
            1 => Radio::DeliversAndFails,
            _ => Radio::Delivers,
        };
        match self.random.below(10) {
            0..6 => {
                let kept = run_for(polls, journal.keep(&entry));
                let kept = self.cut_or(kept)?;
                self.given(kept, entry);
            }
            6 => {
                let sent = self.send_or_keep(journal, radio, &entry, polls)?;
                self.given(sent.map(|()| journal.next_number() - 1), entry);
            }
            7 => {
                let first = match self.cut_or(run_for(polls, journal.oldest()))? {
                    Ok(first) => first,
                    Err(error) => panic!("{error}"),
                };
                if let Some(entry) = first {
                    self.receiver.receive(entry);
                    let number = entry.number;
                    let removed = run_for(polls, journal.remove_through(number));
                    assert_eq!(self.cut_or(removed)?, Ok(1));
                }
            }
            _ => self.send_all(journal, radio, polls)?,
        }
        Ok(())
    }

    fn reading(&mut self) -> Vec<u8> {
        self.attempts += 1;
        if self.random.one_in(8) {
            return Vec::new();
        }
        let len = self.random.below(LONGEST as u64 - 3) as usize;
        // Includes erased bytes, so that they are not mistaken for an end.
        let fill = if self.random.one_in(3) {
            0xFF
        } else {
            self.random.byte()
        };
        let mut reading = self.attempts.to_le_bytes().to_vec();
        reading.resize(4 + len, fill);
        reading
    }

    fn given(&mut self, kept: Result<u32, JournalError<Cut>>, entry: Vec<u8>) {
        match kept {
            Ok(number) => {
                let last = self
                    .acknowledged
                    .last_key_value()
                    .map(|(number, _)| *number);
                let first = last.map_or(0, |last| last + 1);
                // What cannot be read takes as many numbers as may have been in it.
                let is_near = self.rotten > 0 || number <= first + self.unknown;
                assert!(number >= first && is_near, "{number} after {last:?}");
                self.unknown = 0;
                self.acknowledged.insert(number, entry);
            }
            Err(JournalError::Full) => assert!(self.refuses()),
            Err(error) => panic!("{error}"),
        }
    }

    fn cut_or<V>(
        &mut self,
        result: Option<Result<V, JournalError<Cut>>>,
    ) -> Result<Result<V, JournalError<Cut>>, Cut> {
        match result {
            Some(Err(JournalError::Flash(Cut))) => Err(Cut),
            Some(result) => Ok(result),
            None => {
                self.unknown += 3;
                Err(Cut)
            }
        }
    }

    fn send_all(
        &mut self,
        journal: &mut Opened<R, W, E>,
        radio: Radio,
        polls: u64,
    ) -> Result<(), Cut> {
        let (receiver, ambiguous) = (&mut self.receiver, &mut self.ambiguous);
        let send = async |entry: Entry<'_>| transmit(radio, receiver, ambiguous, entry);
        let ended = run_for(
            polls,
            journal.send_all(&self.breaker, TimeLimit::NONE, send),
        );
        self.breaker.reset();
        match self.cut_or(ended)? {
            Ok(_) => Ok(()),
            Err(error) => panic!("{error}"),
        }
    }

    fn send_or_keep(
        &mut self,
        journal: &mut Opened<R, W, E>,
        radio: Radio,
        bytes: &[u8],
        polls: u64,
    ) -> Result<Result<(), JournalError<Cut>>, Cut> {
        let (receiver, ambiguous) = (&mut self.receiver, &mut self.ambiguous);
        let send = async |entry: Entry<'_>| transmit(radio, receiver, ambiguous, entry);
        let limit = TimeLimit::NONE;
        let ended = run_for(
            polls,
            journal.send_or_keep(&self.breaker, limit, bytes, send),
        );
        self.breaker.reset();
        Ok(self.cut_or(ended)?.map(|_| ()))
    }

    /// Everything that waits arrives; then nothing that was acknowledged is missing.
    pub(crate) fn drain_and_check(&mut self, mut journal: Opened<R, W, E>) {
        self.send_all(&mut journal, Radio::Delivers, u64::MAX)
            .expect("the power is on");
        assert_eq!(journal.waiting(), 0);
        let dropped = journal.dropped();
        let mut missing = 0;
        for (number, bytes) in &self.acknowledged {
            match self.receiver.seen.get(number) {
                Some(seen) => assert_eq!(seen, bytes, "{number}"),
                None => missing += 1,
            }
        }
        assert!(
            missing <= dropped + self.rotten,
            "{missing} are missing, {dropped} were dropped"
        );
        let at_most = missing + self.cuts + self.ambiguous + self.rotten;
        assert!(
            dropped <= at_most,
            "{missing} are missing, {dropped} were dropped"
        );
        if self.refuses() {
            assert!(missing <= self.rotten, "{missing} are missing");
        }
        let next = run(journal.keep(&[])).expect("there is room");
        assert!(self.receiver.last < Some(next));
        assert!(self.acknowledged.keys().all(|number| *number < next));
    }
}

fn transmit(
    radio: Radio,
    receiver: &mut Receiver,
    ambiguous: &mut u32,
    entry: Entry<'_>,
) -> Result<(), NoAnswer> {
    match radio {
        Radio::Delivers => receiver.receive(entry),
        Radio::Fails => return Err(NoAnswer),
        Radio::DeliversAndFails => {
            receiver.receive(entry);
            *ambiguous += 1;
            return Err(NoAnswer);
        }
    }
    Ok(())
}
