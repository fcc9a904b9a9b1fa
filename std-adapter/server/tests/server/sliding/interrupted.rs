// SPDX-License-Identifier: MIT OR Apache-2.0
//! A call is made between any two steps of another one, which reads its time before.

use std::sync::Arc;

use atomic_breaker_server::{Ratio, Tally, tally::Call};

use super::watched::{Watched, interrupted, tally};
use super::{ms, ratio};

/// At the beginning of a slice of 100 ms.
const NOW_MS: u32 = 123_400;

/// Never trips.
fn rule() -> Ratio {
    ratio(100, 800, u32::MAX)
}

fn fail(tally: &Watched<1>, epoch: u16) {
    let _ = tally.record(Call::failure(epoch, 1), Some(rule()));
}

fn succeed(tally: &Watched<1>, epoch: u16) {
    let _ = tally.record(Call::success(epoch), Some(rule()));
}

#[test]
fn two_first_calls_of_a_slice_are_both_counted_at_whichever_step_they_meet() {
    for slices in (1..20).chain([300]) {
        for before in 0.. {
            let tally = Arc::new(tally::<1>(NOW_MS));
            succeed(&tally, 0);
            tally.clock().advance(ms(100 * slices));
            let other = Arc::clone(&tally);
            if !interrupted(before, || fail(&tally, 0), move || succeed(&other, 0)) {
                assert!(before > 10, "{before}");
                break;
            }
            let seen = 2 + u64::from(slices < 8);
            let what = format!("{slices} slices later, at step {before}");
            assert_eq!(tally.seen_and_failed(), (seen, 1), "{what}");
        }
    }
}

/// The content of the slice of a late call before it.
#[derive(Clone, Copy, Debug)]
enum Before {
    ACall,
    ACallOfAnotherEpoch,
    Nothing,
}

/// In its slice, of as many as have begun, the only failure is held up at a step after it has found the slice, until
/// another caller has begun a later one. Answers the tally, unless there is no such step.
fn late(begun: u32, held: Before, later: u64, step: usize) -> Option<Arc<Watched<1>>> {
    let tally = Arc::new(tally::<1>(NOW_MS));
    for _ in 1..begun {
        succeed(&tally, 0);
        tally.clock().advance(ms(100));
    }
    succeed(
        &tally,
        u16::from(matches!(held, Before::ACallOfAnotherEpoch)),
    );
    if matches!(held, Before::Nothing) {
        tally.clear();
    }
    let other = Arc::clone(&tally);
    let go_on = move || {
        other.clock().advance(ms(100 * later));
        succeed(&other, 0);
    };
    interrupted(step, || fail(&tally, 0), go_on).then_some(tally)
}

#[test]
fn a_late_call_counts_in_the_slice_of_its_time_and_replaces_no_later_one() {
    for begun in [1, 300] {
        for held in [Before::ACall, Before::ACallOfAnotherEpoch, Before::Nothing] {
            for later in 1..20 {
                late_at_each_step(begun, held, later);
            }
        }
    }
}

fn late_at_each_step(begun: u32, held: Before, later: u64) {
    let its_slice_ms = NOW_MS + 100 * (begun - 1);
    for step in 1.. {
        let Some(tally) = late(begun, held, later, step) else {
            assert!(step > 4, "{step}");
            return;
        };
        let what = format!("{begun} slices, {held:?}, {later} later, at step {step}");
        if later < 8 {
            tally.clock().set_ms(its_slice_ms + 799);
            assert_eq!(tally.seen_and_failed().1, 1, "{what}");
            tally.clock().set_ms(its_slice_ms + 800);
            let (seen, failed) = tally.seen_and_failed();
            assert_eq!(failed, 0, "{what}: it has left the span");
            assert!(seen > 0, "{what}: the other one has not");
        } else {
            let (seen, failed) = tally.seen_and_failed();
            assert_eq!(seen, 1 + failed, "{what}: the other one counts");
            tally.clock().advance(ms(800));
            assert_eq!(tally.seen_and_failed(), (0, 0), "{what}");
        }
    }
}
