// SPDX-License-Identifier: MIT OR Apache-2.0
//! The behaviour of all crates in the same small situations.
//!
//! Every situation is brought about and judged through what a contestant shows to its users: it
//! runs an operation, or rejects. Three failures trip; the open time is [`OPEN_FOR`].

mod history;
mod late;
mod lost;

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::contestant::{Answer, AsyncCaller, Caller, Contestant, Down, Rules, Work};
use crate::storm::storm;

/// The time for which a tripped breaker stays open.
pub const OPEN_FOR: Duration = Duration::from_millis(20);

/// Long enough for every wait that a contestant promises to end.
const LONG: Duration = Duration::from_millis(400);

const RULES: Rules = Rules {
    failures: 3,
    open_for: OPEN_FOR,
};

/// The behaviour of a contestant in each situation, in a few words.
pub struct Behaviour {
    /// The crate.
    pub name: &'static str,
    /// The part of its documentation that explains it.
    pub design: &'static str,
    /// One result per situation, in the order of [`SITUATIONS`].
    pub answers: [String; SITUATIONS.len()],
}

/// The situations.
pub const SITUATIONS: [&str; 9] = [
    "eight callers at the deadline: let through",
    "late successes, from before the trip",
    "late failures, from before the trip",
    "a probe's future is dropped",
    "a probe hangs",
    "a probe panics",
    "ten panics while closed",
    "failures to trip after 100 000 successes",
    "a failure per 1 000 successes, for long",
];

/// Callers at the deadline.
const HERD: usize = 8;

/// Puts a contestant into each situation; `F` is its form for futures.
pub fn of_futures<C, F>() -> Behaviour
where
    C: Contestant,
    F: Contestant,
    for<'a> F::Caller<'a>: AsyncCaller,
{
    behaviour::<C>(lost::dropped::<F>)
}

/// Puts a contestant that takes closures only into each situation.
pub fn of_closures<C: Contestant>() -> Behaviour {
    behaviour::<C>(|_| "takes no futures".into())
}

fn behaviour<C: Contestant>(dropped: impl Fn(usize) -> String) -> Behaviour {
    let herd = storm::<C>(HERD, 30);
    let slots = lost::slots(herd.most);
    Behaviour {
        name: C::NAME,
        design: C::DESIGN,
        answers: [
            herd.admitted(),
            late::successes::<C>(),
            late::failures::<C>(),
            dropped(slots),
            lost::hung::<C>(herd.most),
            lost::panicked::<C>(slots),
            history::panics::<C>(),
            history::after_many_successes::<C>(),
            history::between_successes::<C>(),
        ],
    }
}

/// A call that stays under way until told to land.
struct Flight {
    ends: Sender<Work>,
    call: JoinHandle<Answer>,
}

/// Starts a call in a thread of its own and waits until its operation runs; `None` if rejected.
fn start<C: Contestant>(breaker: &Arc<C>) -> Option<Flight> {
    let (ends, end) = mpsc::channel();
    let (enters, entered) = mpsc::channel();
    let breaker = breaker.clone();
    let call = thread::spawn(move || {
        let mut caller = breaker.caller();
        caller.call(move || {
            enters.send(()).expect("the starter waits");
            end.recv().expect("the flight lands")
        })
    });
    entered.recv().ok().map(|()| Flight { ends, call })
}

impl Flight {
    fn land(self, result: Work) {
        self.ends.send(result).expect("the call waits");
        self.call.join().expect("the call did not panic");
    }
}

/// One call that runs and succeeds, unless it is rejected.
fn passes<C: Contestant>(breaker: &C) -> bool {
    breaker.caller().call(|| Ok(1)) == Answer::Done
}

/// One call that runs and fails, unless it is rejected.
fn fails<C: Contestant>(breaker: &C) -> bool {
    breaker.caller().call(|| Err(Down)) == Answer::Failed
}

/// Waits until a call passes; how long that took.
fn time_to_pass<C: Contestant>(breaker: &C) -> Option<Duration> {
    let begin = Instant::now();
    while begin.elapsed() < LONG {
        if passes(breaker) {
            return Some(begin.elapsed());
        }
        thread::sleep(Duration::from_millis(1));
    }
    None
}

fn until_the_deadline() {
    thread::sleep(OPEN_FOR * 2);
}
