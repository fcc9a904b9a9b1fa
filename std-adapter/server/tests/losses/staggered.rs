// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections that are lost under callers who notice it one after the other, while others go on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Config, ConnectionId, Failure, Guard, ManualClock, Outcome, Ratio, Registry,
    SlidingRatio, State,
};
use test_support::dice::Dice;

use super::alone;

const HOUR: Duration = Duration::from_secs(3_600);
const CALLS: usize = 3_000;
/// From the first call that waits to the loss of its connection, in a virtual time without a unit.
const DIES_AFTER: u64 = 20;

/// Callers of a host that answers some calls; the others wait until their connection is lost.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    callers: u64,
    percent_answered: u64,
    /// Those are the first on each connection.
    is_first: bool,
    /// The most that passes from the loss of a connection to the report of a call on it.
    late: u64,
    /// The most that passes between two calls of a caller.
    pause: u64,
    /// Clients do not name their connections.
    is_unknown: bool,
}

struct Connection {
    id: ConnectionId,
    calls: u64,
    dies_at: Option<u64>,
}

impl Crowd {
    fn any(dice: &mut Dice, callers: u32, percent_answered: Range<u32>) -> Self {
        Self {
            callers: dice.within(callers..61).into(),
            percent_answered: dice.within(percent_answered).into(),
            is_first: dice.percent(50),
            late: dice.pick(&[0, 1, 5, 30]),
            pause: dice.pick(&[0, 1, 10]),
            is_unknown: dice.percent(30),
        }
    }

    fn connect(self) -> Connection {
        let id = if self.is_unknown {
            ConnectionId::UNKNOWN
        } else {
            ConnectionId::unique()
        };
        Connection {
            id,
            calls: 0,
            dies_at: None,
        }
    }

    /// The time at which a call that begins now ends, and its connection if that is lost.
    fn fate(
        self,
        connection: &mut Connection,
        now: u64,
        dice: &mut Dice,
    ) -> (u64, Option<ConnectionId>) {
        if connection.dies_at.is_some_and(|at| at <= now) {
            *connection = self.connect();
        }
        connection.calls += 1;
        let is_answered = if self.is_first {
            // All callers wait in the end.
            let of_each = self.callers * self.percent_answered;
            connection.calls <= of_each.div_ceil(100 - self.percent_answered)
        } else {
            dice.percent(self.percent_answered)
        };
        if is_answered {
            return (now + 1 + dice.below(5), None);
        }
        let dies_at = *connection.dies_at.get_or_insert(now + DIES_AFTER);
        (dies_at + dice.below(self.late + 1), Some(connection.id))
    }

    /// The number of calls until the host is shut out; `None` if it is not.
    fn shuts_out(self, dice: &mut Dice, rules: Config) -> Option<usize> {
        let clock = ManualClock::new();
        let keys = Registry::builder(rules)
            .clock(&clock)
            .tally(|| SlidingRatio::<_, 1>::by(&clock))
            .build()
            .unwrap();
        let mut connection = self.connect();
        let mut under_way: Vec<_> = (0..self.callers).map(|_| None).collect();
        let mut next: BinaryHeap<_> = (0..self.callers)
            .map(|caller| Reverse((dice.below(self.pause + 1), caller)))
            .collect();
        for ended in 0..CALLS {
            loop {
                let Reverse((now, caller)) = next.pop()?;
                let place = &mut under_way[caller as usize];
                if let Some((permit, lost)) = place.take() {
                    end(permit, lost);
                    next.push(Reverse((now + dice.below(self.pause + 1), caller)));
                    break;
                }
                let permit = keys.of(7).acquire().unwrap();
                let (ends_at, lost) = self.fate(&mut connection, now, dice);
                *place = Some((permit, lost));
                next.push(Reverse((ends_at, caller)));
            }
            if keys.state(&7) == State::Open {
                return Some(ended + 1);
            }
        }
        None
    }
}

fn end(permit: impl AnyPermit, lost: Option<ConnectionId>) {
    match lost {
        None => permit.report(Outcome::Success),
        Some(connection) => {
            permit.report_shared(Failure::new().into(), connection, || "lost".to_owned())
        }
    };
}

/// Prints its seed, which repeats the run.
fn dice() -> Dice {
    let seed = std::env::var("BREAKER_SEED").map_or_else(
        |_| fastrand::u64(..),
        |seed| seed.parse().expect("BREAKER_SEED is a number"),
    );
    println!("BREAKER_SEED={seed}");
    Dice::new(seed)
}

fn rules(dice: &mut Dice) -> Config {
    let ratio = Ratio::percent(80).within(HOUR).min_calls(20);
    dice.pick(&[
        Config::new().consecutive_failures(5),
        Config::new().tally_only().failure_ratio(ratio),
    ])
}

#[test]
fn a_host_that_loses_most_calls_is_shut_out_however_late_its_callers_notice() {
    let _alone = alone();
    let mut dice = dice();
    for _ in 0..300 {
        let crowd = Crowd::any(&mut dice, 10, 2..12);
        let rules = rules(&mut dice);
        let calls = crowd.shuts_out(&mut dice, rules);
        assert!(calls.is_some(), "{crowd:?}, {:?}", rules.trip);
    }
}

#[test]
fn a_host_that_answers_most_calls_is_not() {
    let _alone = alone();
    let mut dice = dice();
    for _ in 0..300 {
        let crowd = Crowd::any(&mut dice, 20, 75..96);
        let rules = rules(&mut dice);
        let calls = crowd.shuts_out(&mut dice, rules);
        assert_eq!(calls, None, "{crowd:?}, {:?}", rules.trip);
    }
}
