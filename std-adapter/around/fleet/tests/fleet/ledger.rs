// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference of what an engine does, at the very millisecond.

use atomic_breaker_fleet::contract::{KEEP_MS, Ledger, instance};
use atomic_breaker_fleet::{Answer, Ask, InstanceId, Name, Notice};

fn ask(ledger: &mut Ledger, now_ms: u64, from: u128, ask: Ask) -> Answer {
    let name = Name::new("payments").unwrap();
    ledger.ask(now_ms, 7, InstanceId::new(from), &name, ask).0
}

fn vote(quorum: u32, age_ms: u32, open_ms: u32) -> Ask {
    Ask::Vote {
        quorum,
        window_ms: 10_000,
        age_ms,
        open_ms,
        known: 0,
    }
}

#[test]
fn a_reader_lives_for_three_polls_to_the_millisecond() {
    for (later, living) in [(2_999, 2), (3_000, 1)] {
        let mut ledger = Ledger::default();
        ledger.read(1_000, instance(1), 1_000);
        let reading = ledger.read(1_000 + later, instance(2), 1_000);
        assert_eq!(reading.living, living, "{later} ms later");
    }
}

#[test]
fn of_two_votes_for_one_trip_the_later_one_counts() {
    let mut ledger = Ledger::default();
    ask(&mut ledger, 1_000, 1, vote(2, 0, 500));
    let again = ask(&mut ledger, 1_200, 1, vote(2, 200, 4_000));
    assert_eq!(again.votes, 1);
    let opened = ask(&mut ledger, 1_300, 2, vote(2, 0, 9_000));
    let Some(Notice::Open(period)) = opened.notice else {
        panic!("{opened:?}");
    };
    assert_eq!(period.open_ms, 4_000);
}

#[test]
fn a_record_is_kept_for_ten_minutes_after_the_last_right_to_probe() {
    let mut ledger = Ledger::default();
    let opened = ask(&mut ledger, 0, 1, vote(1, 0, 1_000));
    let id = opened.notice.expect("a period").id();
    let bid = Ask::Bid { id, lease_ms: 500 };
    assert!(ask(&mut ledger, 500_000, 1, bid).done);
    let end = 500_000 + KEEP_MS;
    assert_eq!(ledger.read(end - 1, instance(1), 1_000).messages.len(), 1);
    assert_eq!(ledger.read(end, instance(1), 1_000).messages.len(), 0);
}

#[test]
fn an_epoch_may_lead_by_a_year_to_the_millisecond() {
    const YEAR_MS: u64 = 365 * 24 * 60 * 60 * 1_000;
    for (later, is_known) in [(0, true), (1, false)] {
        let known = 1_000 + YEAR_MS + later;
        let ballot = Ask::Vote {
            quorum: 1,
            window_ms: 10_000,
            age_ms: 0,
            open_ms: 1_000,
            known,
        };
        let opened = ask(&mut Ledger::default(), 1_000, 1, ballot);
        let id = opened.notice.expect("a period").id();
        assert_eq!(id.epoch > known, is_known, "{}", id.epoch);
    }
}
