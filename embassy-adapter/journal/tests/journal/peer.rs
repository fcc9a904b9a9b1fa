// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reason why the journal has a layout of its own: the behaviour of the queue of `sequential-storage` on the same
//! flash, where the power fails at the same moments.

use std::collections::BTreeSet;

use sequential_storage::Error;
use sequential_storage::cache::Cache;
use sequential_storage::queue::{QueueConfig, QueueStorage};

use super::flash::{Chip, Cut};
use super::random::run;

type Flash = Chip<1, 4, 256>;

/// The result of a history.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Everything that was acknowledged came out, in order.
    Well,
    /// Something that was acknowledged did not come out.
    Lost,
    /// Every operation fails from then on.
    Stuck,
}

/// Forty readings through three pages; the power fails once.
fn history(cut: Option<u64>) -> (End, u64) {
    let chip = Flash::new(3, 7);
    chip.allow_rewrites();
    let open = || {
        let config = QueueConfig::new(chip.range());
        QueueStorage::new(chip.clone(), config, Cache::new_uncached())
    };
    if let Some(cut) = cut {
        chip.cut_after(cut);
    }
    let mut queue = open();
    let mut acknowledged = BTreeSet::new();
    let mut seen = Vec::new();
    let mut buffer = [0; 64];
    for number in 0..80_u32 {
        let result = if number % 2 == 0 {
            let pushed = run(queue.push(&number.to_le_bytes(), false));
            if pushed.is_ok() {
                acknowledged.insert(number);
            }
            pushed
        } else if number > 30 {
            let popped = run(queue.pop(&mut buffer));
            popped.map(|entry| seen.extend(entry.map(|bytes| number_in(bytes))))
        } else {
            Ok(())
        };
        match result {
            Ok(()) | Err(Error::FullStorage) => {}
            Err(Error::Storage { value: Cut }) => {
                chip.power_up();
                queue = open();
            }
            Err(_) => return (End::Stuck, chip.spent()),
        }
    }
    loop {
        match run(queue.pop(&mut buffer)) {
            Ok(Some(bytes)) => seen.push(number_in(bytes)),
            Ok(None) => break,
            Err(_) => return (End::Stuck, chip.spent()),
        }
    }
    // What was being popped when the power failed may be missing: its sender had it already.
    let missing = acknowledged.iter().filter(|number| !seen.contains(number));
    let is_well = missing.count() <= 1 && seen.is_sorted();
    (if is_well { End::Well } else { End::Lost }, chip.spent())
}

fn number_in(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[test]
fn the_queue_of_sequential_storage_trusts_an_erase_that_was_cut_off() {
    let (end, whole) = history(None);
    assert_eq!(end, End::Well);
    let ends: Vec<_> = (0..whole).map(|cut| history(Some(cut)).0).collect();
    let count = |wanted: End| ends.iter().filter(|end| **end == wanted).count();
    let (lost, stuck) = (count(End::Lost), count(End::Stuck));
    println!(
        "of {whole} cuts, {lost} lost what was acknowledged, after {stuck} nothing worked any more"
    );
    assert!(lost > 0 || stuck > 0);
}
