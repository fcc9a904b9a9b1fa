//! A device with a journal whose power fails, and a receiver that checks everything.

use std::collections::BTreeMap;

use atomic_breaker_embassy::{Breaker, Config, EmbassyTimer, ManualClock};
use atomic_breaker_journal::{Entry, Journal, JournalConfig, JournalError, TimeLimit, WhenFull};

use super::flash::{Chip, Cut};
use super::random::{Random, run, run_for};

pub(crate) const LONGEST: usize = 24;

pub(crate) type Opened<const R: usize, const W: usize, const E: usize> =
    Journal<Chip<R, W, E>, LONGEST>;

/// What the receiver has seen.
#[derive(Default)]
pub(crate) struct Receiver {
    seen: BTreeMap<u32, Vec<u8>>,
    last: Option<u32>,
    pub(crate) repeats: u32,
}

impl Receiver {
    fn receive(&mut self, entry: Entry<'_>) {
        let number = entry.number;
        if Some(number) == self.last {
            assert_eq!(
                self.seen[&number], entry.bytes,
                "the same number, the same bytes"
            );
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

/// What the radio does with an entry.
#[derive(Clone, Copy)]
enum Radio {
    Delivers,
    Fails,
    /// It arrives, but the response is lost.
    DeliversAndFails,
}

pub(crate) struct Device<const R: usize, const W: usize, const E: usize> {
    pub(crate) chip: Chip<R, W, E>,
    config: JournalConfig,
    breaker: Breaker<ManualClock>,
    random: Random,
    pub(crate) receiver: Receiver,
    /// What the journal has acknowledged.
    acknowledged: BTreeMap<u32, Vec<u8>>,
    /// How many entries were given to it at most once; makes each entry different.
    attempts: u32,
    /// Numbers that may have been used without an acknowledgement, at most.
    unknown: u32,
    /// Responses that were lost.
    ambiguous: u32,
    pub(crate) cuts: u32,
}

impl<const R: usize, const W: usize, const E: usize> Device<R, W, E> {
    pub(crate) fn new(pages: usize, when_full: WhenFull, seed: u64) -> Self {
        Self {
            chip: Chip::new(pages, seed),
            config: JournalConfig::new().when_full(when_full),
            breaker: Breaker::new(Config::new(), ManualClock::new()),
            random: Random::new(seed.wrapping_add(1)),
            receiver: Receiver::default(),
            acknowledged: BTreeMap::new(),
            attempts: 0,
            unknown: 0,
            ambiguous: 0,
            cuts: 0,
        }
    }

    /// Starts, again and again while the power fails.
    pub(crate) fn start(&mut self) -> Opened<R, W, E> {
        loop {
            match run(Journal::open(
                self.chip.clone(),
                self.chip.range(),
                self.config,
            )) {
                Ok(journal) => return journal,
                Err(JournalError::Flash(Cut)) => self.lose_power(),
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(crate) fn lose_power(&mut self) {
        self.cuts += 1;
        self.unknown += 1;
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
                assert!(
                    (first..=first + self.unknown).contains(&number),
                    "{number} after {last:?}"
                );
                self.unknown = 0;
                self.acknowledged.insert(number, entry);
            }
            Err(JournalError::Full) => assert_eq!(self.config, JournalConfig::new()),
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
                self.unknown += 1;
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
            journal.send_all(&self.breaker, EmbassyTimer, TimeLimit::NONE, send),
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
            journal.send_or_keep(&self.breaker, EmbassyTimer, limit, bytes, send),
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
            missing <= dropped,
            "{missing} are missing, {dropped} were dropped"
        );
        let at_most = missing + self.cuts + self.ambiguous;
        assert!(
            dropped <= at_most,
            "{missing} are missing, {dropped} were dropped"
        );
        if self.config == JournalConfig::new() {
            assert_eq!(missing, 0);
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
