// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random requests in random order get the ledger's answers.

use std::time::Instant;

use fastrand::Rng;

use super::asking::instance;
use crate::engine::Fleet;
use crate::ledger::Ledger;
use crate::message::{Ask, Finding, Notice, PeriodId};
use crate::name::Name;

/// The ids of the same periods at the engine and in the ledger: epochs and marks differ, as do milliseconds.
type Ids = Vec<(PeriodId, PeriodId)>;

fn parts(notice: Option<Notice>) -> Option<(u32, u8, bool)> {
    notice.map(|notice| match notice {
        Notice::Open(period) => (period.open_ms, period.trips, period.leased_ms > 0),
        Notice::Closed(_) => (0, 0, false),
    })
}

/// A request for the period with this id.
fn random_ask(random: &mut Rng, kind: u64, id: PeriodId) -> Ask {
    let open_ms = 100_000 + random.u64(..100_000) as u32;
    let finding = match kind {
        0..4 => {
            return Ask::Vote {
                quorum: 1 + random.u64(..3) as u32,
                window_ms: 3_600_000,
                // None comes a moment before its window ends.
                age_ms: [0, 1_000_000, 3_700_000][random.u64(..3) as usize],
                open_ms,
                known: 0,
            };
        }
        4 | 5 => {
            let lease_ms = 3_600_000;
            return Ask::Bid { id, lease_ms };
        }
        6 => Finding::Healthy,
        _ => Finding::Failed {
            open_ms,
            pause_ms: 60_000,
        },
    };
    Ask::Finding { id, finding }
}

pub(super) async fn every_engine_answers_as_the_ledger_does(engine: &impl Fleet) {
    // A seed, so that a failure repeats.
    let mut random = Rng::with_seed(1);
    let began = Instant::now();
    let wrong = PeriodId { epoch: 1, mark: 1 };
    for round in 0..60_u32 {
        let mut ledger = Ledger::default();
        let name = Name::new(round.to_be_bytes()).unwrap();
        let mut ids = Ids::new();
        for step in 0..40 {
            // One of the last periods.
            let known = ids.iter().rev().nth(random.u64(..3) as usize);
            let (theirs, ours) = known.copied().unwrap_or((wrong, wrong));
            let kind = random.u64(..8);
            let asked = random_ask(&mut random.clone(), kind, theirs);
            let of_ledger = random_ask(&mut random, kind, ours);
            let from = instance(random.u64(..4).into());
            let now_ms = 1 + began.elapsed().as_millis() as u64;
            let mark = (u64::from(round) << 32) + step;
            let (expected, _) = ledger.ask(now_ms, mark, from, &name, of_ledger);
            let answer = engine.ask(from, &name, asked).await.unwrap();
            let at = format!("round {round}, step {step}: {asked:?}");
            assert_eq!(answer.done, expected.done, "{at}");
            assert_eq!(answer.votes, expected.votes, "{at}");
            assert_eq!(parts(answer.notice), parts(expected.notice), "{at}");
            if let (Some(theirs), Some(ours)) = (answer.notice, expected.notice) {
                let pair = (theirs.id(), ours.id());
                if ids.last() != Some(&pair) {
                    ids.push(pair);
                }
            }
        }
    }
}
