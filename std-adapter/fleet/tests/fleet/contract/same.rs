//! Whatever is asked in whatever order: answered as the ledger answers.

use std::time::Instant;

use atomic_breaker_fleet::{Ask, Fleet, Ledger, Name, Notice, PeriodId, Verdict};

use super::instance;

/// A small generator, so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Of the same period, in both: epochs and marks differ, as do milliseconds.
type Ids = Vec<(PeriodId, PeriodId)>;

fn kind(notice: Option<Notice>) -> Option<(u32, u8, bool)> {
    notice.map(|notice| match notice {
        Notice::Open(period) => (period.open_ms, period.trips, period.leased_ms > 0),
        Notice::Closed(_) => (0, 0, false),
    })
}

fn random_ask(dice: &mut Dice, ids: &Ids) -> (Ask, Ask) {
    let wrong = PeriodId { epoch: 1, mark: 1 };
    // The last ones most often.
    let back = dice.below(3) as usize;
    let (mine, theirs) = ids
        .iter()
        .rev()
        .nth(back)
        .copied()
        .unwrap_or((wrong, wrong));
    let open_ms = 100_000 + dice.below(100_000) as u32;
    match dice.below(8) {
        0..4 => {
            let ballot = Ask::Vote {
                quorum: 1 + dice.below(3) as u32,
                window_ms: 3_600_000,
                // None comes a moment before its window ends.
                age_ms: [0, 1_000_000, 3_700_000][dice.below(3) as usize],
                open_ms,
                known: 0,
            };
            (ballot, ballot)
        }
        4 | 5 => {
            let lease_ms = 3_600_000;
            (
                Ask::Bid { id: mine, lease_ms },
                Ask::Bid {
                    id: theirs,
                    lease_ms,
                },
            )
        }
        other => {
            let verdict = if other == 6 {
                Verdict::Healthy
            } else {
                Verdict::Failed {
                    open_ms,
                    pause_ms: 60_000,
                }
            };
            (
                Ask::Verdict { id: mine, verdict },
                Ask::Verdict {
                    id: theirs,
                    verdict,
                },
            )
        }
    }
}

pub(crate) async fn every_engine_answers_as_the_ledger_does(engine: &impl Fleet) {
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    let began = Instant::now();
    for round in 0..60_u32 {
        let mut ledger = Ledger::new();
        let name = Name::new(round.to_be_bytes()).unwrap();
        let mut ids = Ids::new();
        for step in 0..40 {
            let (asked, of_ledger) = random_ask(&mut dice, &ids);
            let from = instance(dice.below(4).into());
            let now_ms = 1 + began.elapsed().as_millis() as u64;
            let mark = (u64::from(round) << 32) + step;
            let (expected, _) = ledger.ask(now_ms, mark, from, &name, of_ledger);
            let answer = engine.ask(from, &name, asked).await.unwrap();
            let at = format!("round {round}, step {step}: {asked:?}");
            assert_eq!(answer.done, expected.done, "{at}");
            assert_eq!(answer.votes, expected.votes, "{at}");
            assert_eq!(kind(answer.notice), kind(expected.notice), "{at}");
            if let (Some(theirs), Some(ours)) = (answer.notice, expected.notice) {
                let pair = (theirs.id(), ours.id());
                if ids.last() != Some(&pair) {
                    ids.push(pair);
                }
            }
        }
    }
}
