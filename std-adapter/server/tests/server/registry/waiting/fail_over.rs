// SPDX-License-Identifier: MIT OR Apache-2.0
//! An hour of forty callers that fail over between two replicas, each of which dies in turn, alone and both at once.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_server::{CallError, Config, Registry, TokioClock};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::super::threads::{Random, seed};
use super::{MS, SECOND};

const LONGEST: Duration = Duration::from_secs(10);

const RULES: Config = Config::new()
    .consecutive_failures(5)
    .open_for(SECOND)
    .exponential(2, LONGEST);

/// The periods in which each replica is dead, in seconds.
const DEAD: [&[(u64, u64)]; 2] = [
    &[
        (300, 900),
        (1_300, 1_500),
        (2_000, 2_030),
        (2_100, 2_103),
        (2_500, 3_000),
    ],
    &[
        (600, 800),
        (1_000, 1_200),
        (1_450, 1_600),
        (2_010, 2_020),
        (2_700, 3_300),
    ],
];

fn is_dead(replica: usize, at: Duration) -> bool {
    let second = |seconds| SECOND * seconds as u32;
    DEAD[replica]
        .iter()
        .any(|&(from, to)| (second(from)..second(to)).contains(&at))
}

/// Counts of the calls that were made while a replica was up: served, failed, rejected; and when each was served.
#[derive(Default)]
struct Ledger {
    one_up: [u32; 3],
    served: [Vec<Duration>; 2],
}

impl Ledger {
    fn note<E, R>(&mut self, during: Range<Duration>, answer: &Result<usize, CallError<E, R>>) {
        // Not those during which one died.
        let is_up = |replica| !is_dead(replica, during.start) && !is_dead(replica, during.end);
        if is_up(0) || is_up(1) {
            let how = match answer {
                Ok(_) => 0,
                Err(CallError::Failed(_)) => 1,
                Err(CallError::Rejected(_)) => 2,
            };
            self.one_up[how] += 1;
        }
        if let Ok(replica) = answer {
            self.served[*replica].push(during.end);
        }
    }
}

/// `hangs`: a dead replica does not answer, instead of refusing at once. `both_preferred`: half of the callers prefer the
/// second one, instead of all the first one.
async fn hour(hangs: bool, both_preferred: bool, most: Option<usize>) -> Ledger {
    let replicas = Registry::<usize>::builder(RULES).clock(TokioClock);
    let replicas = match most {
        Some(most) => replicas.max_shut_out(most),
        None => replicas,
    };
    let replicas = Arc::new(replicas.build().unwrap());
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let begin = Instant::now();
    let mut callers = JoinSet::new();
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    for caller in 0..40 {
        let (replicas, ledger) = (Arc::clone(&replicas), Arc::clone(&ledger));
        callers.spawn(async move {
            let mut random = Random((seed ^ caller << 32) | 1);
            let preference = if both_preferred && caller % 2 == 1 {
                [1, 0]
            } else {
                [0, 1]
            };
            while begin.elapsed() < 3_600 * SECOND {
                let made = begin.elapsed();
                let query = async |replica| {
                    sleep(20 * MS).await;
                    if !is_dead(replica, begin.elapsed()) {
                        return Ok(replica);
                    }
                    if hangs {
                        sleep(60 * SECOND).await;
                    }
                    Err("refused")
                };
                let first = replicas.first_of(preference);
                let answer = first.call_timeout(500 * MS, query).await;
                ledger.lock().unwrap().note(made..begin.elapsed(), &answer);
                sleep(MS * (200 + random.below(200) as u32)).await;
            }
        });
    }
    callers.join_all().await;
    Arc::into_inner(ledger).unwrap().into_inner().unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_replica_is_served_again_soon_after_it_has_recovered() {
    for (hangs, both_preferred, most) in [
        (false, false, None),
        (true, false, None),
        (false, true, None),
        (true, true, None),
        (true, true, Some(1)),
    ] {
        let ledger = hour(hangs, both_preferred, most).await;
        for (replica, dead) in DEAD.iter().enumerate() {
            for &(_, recovered) in *dead {
                let recovered = SECOND * recovered as u32;
                // Nobody asks the second one, where all prefer the first one and that is up.
                if replica == 1 && !both_preferred && !is_dead(0, recovered) {
                    continue;
                }
                let again = ledger.served[replica].iter().find(|&&at| at >= recovered);
                let again = again.expect("it is served again").saturating_sub(recovered);
                assert!(
                    again <= LONGEST + SECOND,
                    "{replica}, {recovered:?}: {again:?}"
                );
            }
        }
        let [served, failed, rejected] = ledger.one_up;
        let share = f64::from(served) / f64::from(served + failed + rejected);
        println!("{hangs} {both_preferred} {most:?}: {served} {failed} {rejected}, {share:.4}");
        assert!(share >= 0.98);
    }
}
