// SPDX-License-Identifier: MIT OR Apache-2.0
//! The effect of a bit of the word that changes by itself: the table of `docs/assurance/safety.md`, for both words.

use std::collections::{BTreeMap, BTreeSet};

use atomic_breaker::word::{AtomicU64, Bits};
use atomic_breaker::{Breaker, ManualClock, Permit, State, Wait};

use super::support::{AnyWord, Fine, ms, rules};

const PAGE: &str = include_str!("../../docs/assurance/safety.md");

/// The fields, lowest first, with the first bit above each.
fn fields<W: AnyWord>() -> [(&'static str, u32); 5] {
    let time = W::TIME.trailing_zeros();
    let epochs = time + W::WRAP.trailing_zeros();
    [
        ("state", 2),
        ("trips", W::LOAD),
        ("payload", time),
        ("time", epochs),
        ("epoch", epochs + W::EPOCHS.trailing_zeros()),
    ]
}

/// Words of every kind that a breaker writes: with each state, few and many trips, payloads near every power of two, and
/// times at both ends.
fn words<W: AnyWord>() -> Vec<u64> {
    let (load, time) = (W::LOAD, W::TIME.trailing_zeros());
    let near = |bits: u32| {
        let powers = (0..bits).map(|bit| 1_u64 << bit);
        let around = powers.flat_map(|power| [power - 1, power, power + 1]);
        let within = around.filter(move |value| *value < 1 << bits);
        within.chain([(1 << bits) - 1]).collect::<BTreeSet<u64>>()
    };
    let mut words = Vec::new();
    for state in 0..4 {
        for trips in near(load - 2) {
            for payload in near(time - load) {
                for when in [0, 1, W::WRAP / 2, W::WRAP - 1] {
                    let word = state | trips << 2 | payload << load | when << time;
                    // Half-open without a trip is valid, and no breaker writes it.
                    let is_written = state != 2 || trips != 0;
                    if is_written && W::Bits::from_u64(word).check().is_ok() {
                        words.push(word);
                    }
                }
            }
        }
    }
    words
}

/// The state as the page calls it; "closed, reported" for a word that no breaker writes.
fn name<W: AnyWord>(bits: u64) -> &'static str {
    let clock = ManualClock::new();
    let breaker = Breaker::over(W::from(W::Bits::from_u64(bits)), rules(), &clock);
    if breaker.check().is_err() {
        return "closed, reported";
    }
    match breaker.snapshot().entered() {
        State::Closed => "closed",
        State::Returning => "returning",
        State::Open => "open",
        State::HalfOpen if bits & 3 == 3 => "half-open, later round",
        State::HalfOpen => "half-open",
        State::ForcedOpen => "forced open",
        State::Disabled => "disabled",
        other => panic!("{other:?}"),
    }
}

/// The rows of the table: for each state and field, what a flipped bit of that field may lead to.
fn table<W: AnyWord>() -> Vec<String> {
    let mut found = BTreeMap::<_, [BTreeSet<&str>; 5]>::new();
    for word in words::<W>() {
        let cells = found.entry(name::<W>(word)).or_default();
        let mut bit = 0;
        for (cell, (_, end)) in cells.iter_mut().zip(fields::<W>()) {
            while bit < end {
                cell.insert(name::<W>(word ^ 1 << bit));
                bit += 1;
            }
        }
    }
    let rows = found.into_iter().map(|(before, cells)| {
        let cells = cells.map(|after| after.into_iter().collect::<Vec<_>>().join("; "));
        format!("| {before} | {} |", cells.join(" | "))
    });
    rows.collect()
}

#[test]
fn a_flipped_bit_leads_where_the_page_says_in_both_words() {
    let wide = table::<AtomicU64>();
    assert_eq!(wide, table::<Fine>());
    assert_eq!(wide.len(), 7, "{wide:#?}");
    for row in &wide {
        assert!(PAGE.contains(row), "the page lacks\n{}", wide.join("\n"));
    }
}

/// The milliseconds until a call is admitted, asked again when it must be at the latest.
fn waits_for<W: AnyWord>(bits: u64, now_ms: u32) -> u64 {
    let clock = ManualClock::starting_at(now_ms);
    let config = rules().probe_lease(ms(100));
    let breaker = Breaker::over(W::from(W::Bits::from_u64(bits)), config, &clock);
    let mut waited = 0;
    for _ in 0..100 {
        match breaker.acquire().map(Permit::into_token) {
            Ok(_) => return waited,
            Err(rejected) => {
                let (Wait::For(wait) | Wait::AtMost(wait)) = rejected.wait() else {
                    panic!("{bits:#x} is forced open");
                };
                assert!(!wait.is_zero());
                waited += u64::try_from(wait.as_millis()).unwrap();
                clock.advance(wait);
            }
        }
    }
    panic!("{bits:#x} is still rejected after {waited} ms");
}

#[test]
fn a_flipped_bit_keeps_a_word_shut_no_longer_than_the_page_says() {
    fn all<W: AnyWord>() {
        let ends = fields::<W>();
        // All of them take 20 s; 7 divides none of the numbers of values.
        for word in words::<W>().into_iter().step_by(7) {
            for bit in 0..ends[4].1 {
                let flipped = word ^ 1 << bit;
                if name::<W>(flipped) == "forced open" {
                    continue;
                }
                // An open time and the guard band, or the longest lease and the guard band.
                let longest = u64::from(W::LONGEST) + u64::from(W::GUARD);
                for now_ms in [0, 1, W::LONGEST] {
                    let waited = waits_for::<W>(flipped, now_ms);
                    assert!(waited <= longest, "{word:#x}, bit {bit}: {waited}");
                }
            }
        }
    }
    all::<AtomicU64>();
    all::<Fine>();
}

/// A flipped bit of the time moves the deadline of an open word: at once at the earliest, and at the latest by the guard
/// band beyond the open time.
#[test]
fn a_flipped_bit_of_the_time_keeps_an_open_word_shut_for_its_open_time_and_the_guard_band() {
    fn all<W: AnyWord>() {
        let clock = ManualClock::starting_at(777);
        let open = Breaker::over(W::fresh(), rules().open_for(ms(1_000)), &clock);
        open.trip();
        let word = open.to_bits().to_u64();
        let time = fields::<W>();
        let waits = (time[2].1..time[3].1).map(|bit| waits_for::<W>(word ^ 1 << bit, 777));
        let waits: Vec<_> = waits.collect();
        assert!(waits.contains(&0), "{waits:?}");
        let longest = waits.into_iter().max().unwrap();
        let bound = 1_000 + u64::from(W::GUARD);
        assert!((1_001..=bound).contains(&longest), "{longest}");
    }
    all::<AtomicU64>();
    all::<Fine>();
}

/// After a flipped bit of the epoch, a report of the epoch before it has no effect.
#[test]
fn a_flipped_bit_of_the_epoch_makes_reports_stale_and_changes_nothing_else() {
    fn all<W: AnyWord>() {
        let (ends, clock) = (fields::<W>(), ManualClock::new());
        for bit in ends[3].1..ends[4].1 {
            let config = rules().consecutive_failures(2);
            let before = Breaker::over(W::fresh(), config, &clock);
            let token = before.acquire().unwrap().into_token();
            let flipped = W::Bits::from_u64(before.to_bits().to_u64() ^ 1 << bit);
            let after = Breaker::over(W::from(flipped), config, &clock);
            after.resume(token).failure();
            assert!(after.to_bits() == flipped, "bit {bit}");
            after.acquire().unwrap().failure();
            assert_eq!(after.snapshot().failures(), 1, "bit {bit}");
        }
    }
    all::<AtomicU64>();
    all::<Fine>();
}
