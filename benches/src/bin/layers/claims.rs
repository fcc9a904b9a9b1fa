//! What is claimed of layers, held against a run.

use benches::rounds::Figure;

use crate::of;
use crate::services::{BARE, BY_KEY, BY_KEY_FAST, STATIC};

/// Prints each claim; whether all hold.
pub(crate) fn hold(
    names: &[String],
    one: &[Figure],
    two: &[Figure],
    allocated: &[(&'static str, u64)],
) -> bool {
    let bare = of(BARE, names, one);
    let mut all_hold = true;
    let mut claim = |text: String, holds: bool| {
        println!("- {}: {text}", if holds { "holds" } else { "**missed**" });
        all_hold &= holds;
    };
    for (name, most) in [(STATIC, 15.0), (BY_KEY, 60.0), (BY_KEY_FAST, 40.0)] {
        let more = of(name, names, one) - bare;
        claim(
            format!("{name}: at most {most} ns more than the bare service, {more:.1} here"),
            more <= most,
        );
        let share = of(name, names, one) / of(name, names, two);
        claim(
            format!("{name}: each of two threads gets at least 0.9 of one done, {share:.2} here"),
            share >= 0.9,
        );
    }
    for (name, allocations) in allocated {
        claim(
            format!("{name}: no allocation, {allocations} in 1,000 requests here"),
            *allocations == 0,
        );
    }
    all_hold
}
