// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of times that pages are erased: the figures that the documentation states.

use atomic_breaker_embassy::{Breaker, Config, EmbassyTimer, ManualClock, wait::WithTimer};
use flash_journal::{Entry, Journal, JournalConfig, TimeLimit};

use super::flash::Chip;
use super::random::run;

/// 64 KiB in pages of 4 KiB.
type Flash = Chip<1, 4, 4096>;

const READINGS: u64 = 100_000;

/// Erases for 100,000 readings of that many bytes.
fn erases(len: usize, is_kept: bool) -> u64 {
    let chip = Flash::new(16, 0);
    let mut journal = run(Journal::<_, 100>::open(
        chip.clone(),
        chip.range(),
        JournalConfig::new(),
    ))
    .expect("erased");
    let breaker = Breaker::new(
        Config::new(),
        WithTimer {
            clock: ManualClock::new(),
            timer: EmbassyTimer,
        },
    );
    let send = async |_: Entry<'_>| Ok::<(), ()>(());
    let reading = vec![1; len];
    for _ in 0..READINGS {
        let done = if is_kept {
            run(journal.keep(&reading)).expect("room");
            run(journal.send_all(&breaker, TimeLimit::NONE, send))
        } else {
            run(journal.send_or_keep(&breaker, TimeLimit::NONE, &reading, send))
        };
        assert_eq!(done.expect("it works").count, 1);
    }
    chip.erases()
}

#[test]
fn pages_are_erased_as_often_as_documented() {
    let erases = [
        erases(20, true),
        erases(100, true),
        erases(20, false),
        erases(100, false),
    ];
    assert_eq!(erases, [893, 2858, 296, 296]);
}
