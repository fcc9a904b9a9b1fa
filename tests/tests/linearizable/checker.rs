// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checker itself: it rejects wrong histories, and finds an order where one is hard to find.

use std::collections::BTreeMap;

use atomic_breaker::word::TickBits;
use tests::random::{Random, seed};

use super::corrupt::Corruption;
use super::figures::Figures;
use super::history::History;
use super::operation::Record;
use super::plan::Plan;
use super::search::{is_right, search};
use super::{schedules, threads};

/// Made wrong; of these, rejected.
type Counts = BTreeMap<Corruption, (u32, u32)>;

/// Makes histories wrong, and asks the checker. A wrong history that is accepted has an order that proves it right,
/// which [`History::judge`] checks once more by itself.
fn corrupt(histories: &[History], random: &mut Random, counts: &mut Counts) {
    for history in histories {
        let order = history.judge(&mut Figures::default()).unwrap();
        if order.is_empty() {
            continue;
        }
        for kind in Corruption::ALL {
            let Some(wrong) = kind.of(history, &order, random) else {
                continue;
            };
            let is_rejected = wrong.judge(&mut Figures::default()).is_err();
            let (made, rejected) = counts.entry(kind).or_default();
            *made += 1;
            *rejected += u32::from(is_rejected);
        }
    }
}

#[track_caller]
fn each_was_made(counts: &Counts) {
    for kind in Corruption::ALL {
        assert!(counts.contains_key(&kind), "{kind:?}");
    }
}

/// The reference is deterministic, so that where nothing overlaps, any other answer is wrong.
#[test]
fn every_wrong_history_of_callers_that_take_turns_is_rejected() {
    let (mut random, mut counts) = (Random::new(seed()), Counts::new());
    for _ in 0..150 {
        let seed = u64::from(random.next_u32());
        let histories = [
            threads::one_after_another::<u64>(seed),
            threads::one_after_another::<TickBits<3>>(seed),
        ];
        corrupt(&histories, &mut random, &mut counts);
    }
    println!("made wrong, and rejected: {counts:?}");
    each_was_made(&counts);
    for (kind, (made, rejected)) in counts {
        assert_eq!(made, rejected, "{kind:?}");
    }
}

/// Another answer may be right in another order, where operations overlap.
#[test]
fn wrong_histories_of_callers_that_overlap_are_rejected_unless_an_order_proves_them_right() {
    let (mut random, mut counts) = (Random::new(seed() ^ 1), Counts::new());
    let seed = u64::from(random.next_u32());
    corrupt(&threads::histories::<u64>(seed), &mut random, &mut counts);
    let narrow = threads::histories::<TickBits<3>>(seed);
    corrupt(&narrow, &mut random, &mut counts);
    for _ in 0..8 {
        let seed = u64::from(random.next_u32());
        corrupt(&schedules::histories::<u64>(seed), &mut random, &mut counts);
        let narrow = schedules::histories::<TickBits<3>>(seed);
        corrupt(&narrow, &mut random, &mut counts);
    }
    println!("made wrong, and rejected: {counts:?}");
    each_was_made(&counts);
    let sum = |sum: (u32, u32), it: &(u32, u32)| (sum.0 + it.0, sum.1 + it.1);
    let (made, rejected) = counts.values().fold((0, 0), sum);
    assert!(rejected >= made / 10 * 9, "{rejected} of {made}");
    for (kind, (made, rejected)) in counts {
        let least = if kind.is_always_wrong() { made } else { 1 };
        assert!(rejected >= least, "{kind:?}: {rejected} of {made}");
    }
}

/// A history stays right if operations are said to have been called earlier and to have returned later, and the search
/// has more to do.
#[test]
fn an_order_is_found_where_more_operations_overlap() {
    let mut random = Random::new(seed() ^ 2);
    let (mut tight, mut wide) = (0, 0);
    for _ in 0..10 {
        let seed = u64::from(random.next_u32());
        for history in schedules::histories::<u64>(seed) {
            let mut wider = history.clone();
            for record in &mut wider.records {
                record.called = record.called.saturating_sub(random.below(8));
                record.returned += random.below(8);
            }
            let found = search(&wider.plan, &wider.records);
            assert!(found.is_order, "{wider:#?}");
            assert!(is_right(&wider.plan, &wider.records, &found.order));
            wide += found.steps;
            tight += search(&history.plan, &history.records).steps;
        }
    }
    println!("operations tried in a place: {tight}, in wider histories {wide}");
    assert!(wide > tight * 5 / 4, "{wide} of {tight}");
}

/// Tries all orders.
fn has_order(plan: &Plan, records: &[Record], order: &mut Vec<usize>) -> bool {
    if order.len() == records.len() {
        return is_right(plan, records, order);
    }
    (0..records.len()).any(|place| {
        let is_new = !order.contains(&place);
        is_new && {
            order.push(place);
            let has = has_order(plan, records, order);
            order.pop();
            has
        }
    })
}

#[test]
fn short_histories_have_an_order_if_the_search_finds_one() {
    const OPERATIONS: usize = 6;
    let mut random = Random::new(seed() ^ 3);
    let mut verdicts = [0, 0];
    for _ in 0..25 {
        let seed = u64::from(random.next_u32());
        for mut history in schedules::histories::<u64>(seed).into_iter().step_by(3) {
            history.records.truncate(OPERATIONS);
            for record in &mut history.records {
                record.called = record.called.saturating_sub(random.below(12));
                record.returned += random.below(12);
            }
            if random.below(2) == 0 {
                let swapped = Corruption::Swapped.of(&history, &[], &mut random);
                history = swapped.unwrap_or(history);
            }
            let records = &history.records;
            let verdict = search(&history.plan, records).is_order;
            let has = has_order(&history.plan, records, &mut Vec::new());
            assert_eq!(verdict, has, "{history:#?}");
            verdicts[usize::from(verdict)] += 1;
        }
    }
    println!(
        "{} short histories without an order, {} with one",
        verdicts[0], verdicts[1]
    );
    assert!(verdicts.iter().all(|&times| times >= 2), "{verdicts:?}");
}
