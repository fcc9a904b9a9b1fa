// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of different epochs are never mixed.

use atomic_breaker_server::{ManualClock, Verdict};

use super::{Sliding, play, ratio};

/// A breaker's have four or nine bits; a tally is given sixteen, and tells apart what differs in the lowest nine.
const EPOCHS: [u16; 9] = [0, 1, 15, 16, 510, 511, 512, 1_023, u16::MAX];

#[test]
fn calls_of_any_epoch_count() {
    for epoch in EPOCHS {
        let clock = ManualClock::new();
        let tally = Sliding::by(&clock);
        let half = ratio(50, 800, 4);
        assert_eq!(play(&tally, half, epoch, "x.."), Verdict::Keep, "{epoch}");
        assert_eq!(play(&tally, half, epoch, "x"), Verdict::Trip, "{epoch}");
        assert_eq!(tally.seen_and_failed(), (4, 2), "{epoch}");
    }
}

#[test]
fn a_success_joins_no_calls_of_another_epoch() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    let half = ratio(50, 800, 2);
    let _ = play(&tally, half, 0, "......");
    assert_eq!(play(&tally, half, 1, ".x"), Verdict::Trip, "1 of 2");
}

#[test]
fn another_epoch_inherits_no_margin() {
    for one in EPOCHS {
        for other in EPOCHS.into_iter().filter(|it| it % 512 != one % 512) {
            let clock = ManualClock::new();
            let tally = Sliding::by(&clock);
            let half = ratio(50, 800, 4);
            assert_eq!(play(&tally, half, one, "......x"), Verdict::Keep);
            assert_eq!(play(&tally, half, other, "xxx"), Verdict::Keep);
            let what = format!("{other} after {one}");
            assert_eq!(play(&tally, half, other, "x"), Verdict::Trip, "{what}");
        }
    }
}

#[test]
fn another_share_inherits_no_margin_in_any_epoch() {
    for (one, other) in EPOCHS
        .into_iter()
        .flat_map(|it| EPOCHS.map(|other| (it, other)))
    {
        for share in [51, 66] {
            // Calls of the same epoch are judged together.
            if one % 512 != other % 512 {
                continue;
            }
            let clock = ManualClock::new();
            let tally = Sliding::by(&clock);
            let many = ".".repeat(20) + "x";
            assert_eq!(
                play(&tally, ratio(share, 800, 4), one, &many),
                Verdict::Keep
            );
            let half = ratio(50, 800, 4);
            let what = format!("{share} % in {one}, then 50 % in {other}");
            let failures = "x".repeat(18);
            assert_eq!(
                play(&tally, half, other, &failures),
                Verdict::Keep,
                "{what}"
            );
            assert_eq!(
                play(&tally, half, other, "x"),
                Verdict::Trip,
                "{what}: 20 of 40"
            );
        }
    }
}
