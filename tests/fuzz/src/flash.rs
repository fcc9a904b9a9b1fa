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

use chip::Chip;
use flash_journal::{Journal, JournalConfig, JournalError, WhenCorrupt};
use random::run;

use crate::pages::{Found, PAGE, PAGES, read, record};

type Flash = Chip<1, 4, 256>;

/// Opened, it sends in order and keeps; refused, it is left alone; formatted, it is a journal.
pub(crate) fn open(bytes: &[u8]) {
    let mut held = bytes.to_vec();
    held.resize(PAGES * PAGE, 0xFF);
    let chip = Flash::holding(held.clone(), 1);
    let range = chip.range();
    let open =
        |chip: &Flash, config| run(Journal::<_, 20>::open(chip.clone(), range.clone(), config));
    match (open(&chip, JournalConfig::new()), read(&held)) {
        (Ok(journal), found) => {
            let next = journal.next_number();
            let sent = drains(journal, &held);
            match found {
                Found::Waiting(waiting, number) => assert_eq!((sent, next), (waiting, number)),
                Found::Before(waiting, number) => {
                    assert_eq!(sent, waiting);
                    assert!(next >= number, "{next} given again, after {number}");
                }
                Found::Damaged => panic!("a page has lost its head"),
                Found::Unclear => {}
            }
        }
        (Err(JournalError::Corrupt(_)), Found::Damaged | Found::Unclear) => {
            assert_eq!(chip.bytes(), held, "left alone");
        }
        (Err(JournalError::TooLong { .. }), Found::Unclear) => return,
        (Err(error), _) => panic!("{error}"),
    }
    let chip = Flash::holding(held.clone(), 2);
    let formatting = JournalConfig::new().when_corrupt(WhenCorrupt::Format);
    drains(open(&chip, formatting).expect("a journal"), &held);
    open(&chip, formatting).expect("a journal");
}

/// Entries were kept, come in the order of their numbers, and end; one more can be kept, and waits.
fn drains(mut journal: Journal<Flash, 20>, held: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let kept = (0..held.len()).step_by(4).filter_map(|at| {
        let record = record(held, at, held.len()).filter(|it| it.is_whole)?;
        Some((record.number, record.bytes?))
    });
    let kept: Vec<_> = kept.collect();
    let mut sent: Vec<(u32, Vec<u8>)> = Vec::new();
    for _ in 0..2_000 {
        let Some(entry) = run(journal.oldest()).expect("flash that can be read") else {
            let number = run(journal.keep(b"new")).expect("room for one");
            let oldest = run(journal.oldest()).expect("flash that can be read");
            assert_eq!(
                oldest.map(|it| (it.number, it.bytes)),
                Some((number, &b"new"[..]))
            );
            let last = sent.last().map(|(last, _)| *last);
            assert!(
                last.is_none_or(|last| number > last),
                "{last:?}, then {number}"
            );
            return sent;
        };
        let entry = (entry.number, entry.bytes.to_vec());
        assert!(kept.contains(&entry), "{entry:?} was never kept");
        let last = sent.last().map(|(last, _)| *last);
        assert!(
            last.is_none_or(|last| entry.0 > last),
            "{last:?}, {entry:?}"
        );
        run(journal.remove_through(entry.0)).expect("flash that can be written");
        sent.push(entry);
    }
    panic!("more entries than fit");
}
