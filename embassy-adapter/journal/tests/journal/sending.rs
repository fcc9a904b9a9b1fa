// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries on their way: in order, as the breaker admits, within a time limit.

use core::future::pending;
use core::time::Duration;
use std::cell::RefCell;

use atomic_breaker_embassy::{Breaker, Config, EmbassyTimer, ManualClock, State, wait::WithTimer};
use embassy_time::MockDriver;
use flash_journal::{
    CallError, Entry, Journal, JournalConfig, JournalError, Sent, TimeLimit, Timed,
};

use super::flash::{Chip, Cut};
use super::random::{run, run_for};

type Flash = Chip<4, 4, 256>;

const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(5));

/// A radio that notes what arrives.
#[derive(Default)]
struct Radio {
    arrived: RefCell<Vec<u32>>,
    is_down: RefCell<bool>,
}

impl Radio {
    fn send(&self, entry: Entry<'_>) -> Result<(), &'static str> {
        if *self.is_down.borrow() {
            return Err("no answer");
        }
        self.arrived.borrow_mut().push(entry.number);
        Ok(())
    }
}

struct Device {
    journal: Journal<Flash, 20>,
    breaker: Breaker<WithTimer<ManualClock, EmbassyTimer>>,
    radio: Radio,
}

impl Device {
    fn new(pages: usize) -> Self {
        let chip = Flash::new(pages, 0);
        let journal = run(Journal::open(
            chip.clone(),
            chip.range(),
            JournalConfig::new(),
        ));
        Self {
            journal: journal.expect("erased"),
            breaker: Breaker::new(
                RULES,
                WithTimer {
                    clock: ManualClock::new(),
                    timer: EmbassyTimer,
                },
            ),
            radio: Radio::default(),
        }
    }

    fn keep(&mut self, entries: u32) {
        for _ in 0..entries {
            run(self.journal.keep(b"reading")).expect("room");
        }
    }

    fn send_all(&mut self) -> Sent<&'static str> {
        let send = async |entry: Entry<'_>| self.radio.send(entry);
        run(self.journal.send_all(&self.breaker, TimeLimit::NONE, send)).expect("the flash works")
    }

    fn send_or_keep(&mut self) -> Result<Sent<&'static str>, JournalError<Cut>> {
        let send = async |entry: Entry<'_>| self.radio.send(entry);
        let (breaker, limit) = (&self.breaker, TimeLimit::NONE);
        run(self.journal.send_or_keep(breaker, limit, b"reading", send))
    }

    fn arrived(&self) -> Vec<u32> {
        self.radio.arrived.borrow().clone()
    }
}

/// Each takes room for its number, of which nothing has to be kept.
#[test]
fn what_is_sent_at_once_never_fills_a_journal_that_refuses() {
    let mut device = Device::new(3);
    for _ in 0..200 {
        let sent = device.send_or_keep().expect("nothing waits");
        assert!(sent.stopped.is_none());
    }
    assert_eq!(device.arrived(), (0..200).collect::<Vec<_>>());
    assert_eq!((device.journal.refused(), device.journal.dropped()), (0, 0));
}

#[test]
fn a_failure_stays_the_oldest_and_the_breaker_says_when_to_retry() {
    let mut device = Device::new(3);
    device.keep(4);
    device.radio.is_down.replace(true);
    for state in [State::Closed, State::Open] {
        let sent = device.send_all();
        let failed = CallError::Failed(Timed::Failed("no answer"));
        assert_eq!((sent.count, sent.stopped), (0, Some(failed)));
        assert_eq!((device.breaker.state(), sent.retry_in()), (state, None));
    }
    let sent = device.send_all();
    assert!(matches!(sent.stopped, Some(CallError::Rejected(_))));
    assert_eq!(sent.retry_in(), Some(Duration::from_secs(5)));
    assert_eq!((device.arrived(), device.journal.waiting()), (vec![], 4));

    device.radio.is_down.replace(false);
    device.breaker.clock().clock.advance(Duration::from_secs(5));
    let sent = device.send_all();
    assert_eq!((sent.count, sent.stopped), (4, None));
    assert_eq!(
        (device.arrived(), device.journal.waiting()),
        (vec![0, 1, 2, 3], 0)
    );
    assert_eq!(device.breaker.state(), State::Closed);
}

/// A report that leaves when its reading is refused never comes to send, however long the radio has been back.
#[test]
fn a_journal_that_refuses_keeps_again_only_if_what_waits_is_sent_all_the_same() {
    let mut device = Device::new(3);
    let report = |device: &mut Device, leaves: bool| {
        let kept = run(device.journal.keep(b"reading"));
        if kept.is_ok() || !leaves {
            let _ = device.send_all();
        }
        kept
    };
    device.radio.is_down.replace(true);
    while report(&mut device, true).is_ok() {}
    device.radio.is_down.replace(false);
    device.breaker.clock().clock.advance(Duration::from_secs(5));
    for _ in 0..10 {
        assert_eq!(report(&mut device, true), Err(JournalError::Full));
    }
    assert_eq!(device.arrived(), vec![]);
    assert_eq!(report(&mut device, false), Err(JournalError::Full));
    assert!(report(&mut device, true).is_ok());
    assert_eq!(device.journal.waiting(), 0);
}

#[test]
fn a_radio_that_hangs_is_cut_off_at_the_limit_and_has_failed() {
    let mut device = Device::new(3);
    device.keep(1);
    let hangs = async |_: Entry<'_>| pending::<Result<(), ()>>().await;
    let limit = Duration::from_secs(2);
    let sent = device.journal.send_all(&device.breaker, limit, hangs);
    let mut sent = Box::pin(sent);
    assert!(run_for(3, sent.as_mut()).is_none());
    MockDriver::get().advance(embassy_time::Duration::from_secs(2));
    let sent = run(sent).expect("the flash works");
    assert_eq!(sent.stopped, Some(CallError::Failed(Timed::TimedOut)));
    assert_eq!(
        (
            device.breaker.snapshot().failures(),
            device.journal.waiting()
        ),
        (1, 1)
    );
}

#[test]
fn an_entry_whose_sending_is_dropped_is_sent_again_with_its_number() {
    let mut device = Device::new(3);
    device.keep(2);
    device.breaker.trip();
    device.breaker.clock().clock.advance(Duration::from_secs(5));
    let hangs = async |entry: Entry<'_>| {
        device.radio.send(entry)?;
        pending::<Result<(), &'static str>>().await
    };
    let sent = device
        .journal
        .send_all(&device.breaker, TimeLimit::NONE, hangs);
    assert!(run_for(3, sent).is_none());
    assert_eq!(device.breaker.snapshot().probes_in_flight(), 0);
    assert_eq!(device.send_all().count, 2);
    assert_eq!(device.arrived(), [0, 0, 1]);
}

#[test]
fn an_entry_is_sent_at_once_if_nothing_waits_and_after_what_waits_otherwise() {
    let mut device = Device::new(4);
    assert_eq!(device.send_or_keep().expect("it works").count, 1);
    assert_eq!(
        (device.journal.waiting(), device.journal.next_number()),
        (0, 1)
    );

    device.radio.is_down.replace(true);
    for waiting in 1..=5 {
        let sent = device.send_or_keep().expect("room");
        assert_eq!((sent.count, sent.stopped.is_some()), (0, true));
        assert_eq!(device.journal.waiting(), waiting);
    }
    assert_eq!(device.breaker.state(), State::Open);
    device.radio.is_down.replace(false);
    assert!(device.send_or_keep().expect("room").retry_in().is_some());
    assert_eq!(device.arrived(), [0], "nothing overtakes");

    device.breaker.clock().clock.advance(Duration::from_secs(5));
    let sent = device.send_or_keep().expect("it works");
    assert_eq!((sent.count, sent.stopped), (7, None));
    assert_eq!(device.arrived(), (0..8).collect::<Vec<_>>());
    assert_eq!(device.journal.waiting(), 0);
}

#[test]
fn an_entry_that_is_kept_while_the_breaker_closes_is_sent_and_counted() {
    let mut device = Device::new(3);
    let chip = device.journal.release();
    chip.slow_down();
    let journal = run(Journal::open(
        chip.clone(),
        chip.range(),
        JournalConfig::new(),
    ));
    device.journal = journal.expect("a journal");
    device.breaker.trip();
    let radio = &device.radio;
    let mut calling = Box::pin(device.journal.send_or_keep(
        &device.breaker,
        TimeLimit::NONE,
        b"reading",
        async |entry: Entry<'_>| radio.send(entry),
    ));
    let before = chip.spent();
    while chip.spent() == before {
        let ended = run_for(1, calling.as_mut());
        assert!(ended.is_none(), "it is being kept");
    }
    device.breaker.reset();
    let sent = run(calling).expect("the flash works");
    assert_eq!((sent.count, sent.stopped), (1, None));
    assert_eq!((device.arrived(), device.journal.waiting()), (vec![0], 0));
}

#[test]
fn a_full_journal_empties_once_the_radio_is_back_though_new_entries_come_first() {
    let mut device = Device::new(2);
    device.radio.is_down.replace(true);
    let refused = std::iter::repeat_with(|| device.send_or_keep()).find_map(Result::err);
    assert_eq!(refused, Some(JournalError::Full));
    let kept = device.journal.waiting();
    device.radio.is_down.replace(false);
    device.breaker.clock().clock.advance(Duration::from_secs(5));
    assert_eq!(device.send_or_keep().expect("room again").count, kept + 1);
}

#[test]
fn numbers_of_what_was_sent_at_once_are_not_used_again() {
    let mut device = Device::new(3);
    let mut expected = 0;
    for _ in 0..50 {
        assert_eq!(device.send_or_keep().expect("it works").count, 1);
        expected += 1;
        let chip = device.journal.release();
        let range = chip.range();
        let journal = run(Journal::open(chip, range, JournalConfig::new()));
        device.journal = journal.expect("a journal");
        assert_eq!(device.journal.next_number(), expected);
    }
    assert_eq!(device.arrived(), (0..50).collect::<Vec<_>>());
}
