// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flash that holds whatever, opened as a journal.

#[expect(dead_code, reason = "what the journal's own tests look at")]
#[path = "../../../embassy-adapter/journal/tests/journal/flash.rs"]
mod chip;
#[expect(dead_code, reason = "what the journal's own tests look at")]
#[path = "../../../embassy-adapter/journal/tests/journal/power.rs"]
mod power;
#[expect(dead_code, reason = "what the journal's own tests look at")]
#[path = "../../../embassy-adapter/journal/tests/journal/random.rs"]
mod random;

use atomic_breaker_journal::{Journal, JournalConfig, JournalError, WhenCorrupt};
use chip::Chip;
use random::run;

type Flash = Chip<1, 4, 256>;

const PAGES: usize = 4;

/// Opened, it sends in order and keeps; refused, it is left alone; formatted, it is a journal.
pub(crate) fn open(bytes: &[u8]) {
    let mut held = bytes.to_vec();
    held.resize(PAGES * 256, 0xFF);
    let chip = Flash::holding(held.clone(), 1);
    let range = chip.range();
    let open =
        |chip: &Flash, config| run(Journal::<_, 20>::open(chip.clone(), range.clone(), config));
    match open(&chip, JournalConfig::new()) {
        Ok(journal) => drains(journal),
        Err(JournalError::Corrupt(_)) => assert_eq!(chip.bytes(), held, "left alone"),
        Err(error) => panic!("{error}"),
    }
    let chip = Flash::holding(held, 2);
    let formatting = JournalConfig::new().when_corrupt(WhenCorrupt::Format);
    drains(open(&chip, formatting).expect("a journal"));
    open(&chip, formatting).expect("a journal");
}

/// Entries come in the order of their numbers, and end; one more can be kept, and waits.
fn drains(mut journal: Journal<Flash, 20>) {
    let mut last = None;
    for _ in 0..2_000 {
        let Some(entry) = run(journal.oldest()).expect("flash that can be read") else {
            let number = run(journal.keep(b"new")).expect("room for one");
            let oldest = run(journal.oldest()).expect("flash that can be read");
            assert_eq!(
                oldest.map(|it| (it.number, it.bytes)),
                Some((number, &b"new"[..]))
            );
            assert!(
                last.is_none_or(|last| number > last),
                "{last:?}, then {number}"
            );
            return;
        };
        let number = entry.number;
        assert!(
            last.is_none_or(|last| number > last),
            "{last:?}, then {number}"
        );
        last = Some(number);
        run(journal.remove_through(number)).expect("flash that can be written");
    }
    panic!("more entries than fit");
}
