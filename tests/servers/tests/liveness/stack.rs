// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface of all stacks: how they are called and disturbed, and what they promise.

use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Clock, Failure, Outcome, State};
use atomic_breaker_server::{CallError, Observer, Snapshot, Transition, word::Word};

use super::dice::{Dice, Time};
use super::host::{Host, LIMIT, LONGEST_ANSWER, Trouble};

/// The end of the right to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    /// It is reported correctly, once.
    Reported,
    /// So is the call, but its operation panics.
    Panics,
    /// It never reports: a token that is lost, a task that hangs for good.
    Forgotten,
    /// It is dropped after this time, without a call.
    Dropped(Duration),
    /// It is reported this much later.
    Late(Duration),
    /// It is reported twice.
    Twice,
    /// It is reported as neither a success nor a failure.
    Ignored,
    /// There is none: the caller only looks at the state.
    Looks,
    /// The answer begins, and its caller leaves this much later, before the body has ended.
    Body(Duration),
    /// It begins when so much time of an upload has passed, and is started again then.
    Upload(Duration),
}

/// The time at which a caller hangs up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Leave {
    Never,
    After(Duration),
    /// Right before its future would be polled for the n-th time.
    AtPoll(u32),
}

impl Leave {
    /// This percentage of callers hangs up.
    pub(crate) fn any(percent: u64, dice: &mut Dice) -> Self {
        if !dice.percent(percent) {
            return Self::Never;
        }
        if dice.percent(50) {
            Self::After(dice.ms(0..3_000))
        } else {
            Self::AtPoll(dice.within(0..6))
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// The index of the stack's breaker that it calls.
    pub(crate) place: usize,
    pub(crate) ending: Ending,
    pub(crate) leave: Leave,
}

/// The longest time for which a permit granted earlier may still report, except those that are lost.
pub(crate) const LATEST: Duration = Duration::from_secs(6);

impl Caller {
    pub(crate) const fn honest(place: usize) -> Self {
        Self {
            place,
            ending: Ending::Reported,
            leave: Leave::Never,
        }
    }

    /// This percentage of callers misbehaves.
    pub(crate) fn any(place: usize, unruly: u64, dice: &mut Dice) -> Self {
        let mut caller = Self::honest(place);
        if !dice.percent(unruly) {
            return caller;
        }
        match dice.below(3) {
            0 | 1 => caller.leave = Leave::any(100, dice),
            _ => {
                caller.ending = match dice.below(9) {
                    0 => Ending::Panics,
                    1 => Ending::Forgotten,
                    2 => Ending::Dropped(dice.ms(0..3_000)),
                    3 => Ending::Late(dice.ms(0..3_000)),
                    4 => Ending::Twice,
                    5 => Ending::Looks,
                    6 => Ending::Body(dice.ms(0..3_000)),
                    // Longer than any limit of slow calls.
                    7 => Ending::Upload(dice.ms(1_200..3_000)),
                    _ => Ending::Ignored,
                };
            }
        }
        caller
    }

    pub(crate) fn is_honest(self) -> bool {
        self.ending == Ending::Reported && self.leave == Leave::Never
    }
}

/// The result that a caller saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Served,
    Failed,
    Rejected,
    /// The call was handled elsewhere.
    Other,
}

/// The number of consecutive failing calls after which it has tripped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trips {
    pub(crate) after: u32,
    /// The failures must also at least equal the successes within this time.
    pub(crate) outweighing: Duration,
}

/// The conditions once the resource is healthy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calm {
    /// The time between two calls.
    pub(crate) gap: Duration,
    /// The resource responds after this time.
    pub(crate) answers_after: Duration,
    /// The time by which the clock may look behind: it has stepped back, or has nearly wrapped in a
    /// silence.
    pub(crate) behind: Duration,
    /// Callers look first, and do not call what is open.
    pub(crate) looks: bool,
}

/// The state of a breaker as callers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Calls count: it is closed, or traffic returns.
    pub(crate) is_closed: bool,
    /// A caller that looks first does not call.
    pub(crate) is_open: bool,
    pub(crate) epoch: u16,
}

impl Look {
    /// A key that has no slot, because it has not failed.
    pub(crate) const NONE: Self = Self {
        is_closed: true,
        is_open: false,
        epoch: 0,
    };

    pub(crate) const fn of(snapshot: &Snapshot) -> Self {
        Self {
            is_closed: matches!(snapshot.state(), State::Closed | State::Returning),
            is_open: matches!(snapshot.state(), State::Open),
            epoch: snapshot.epoch(),
        }
    }
}

pub(crate) trait Stack: Sized + 'static {
    /// The number of breakers that are called separately.
    const PLACES: usize = 1;
    /// The number of milliseconds by which its clock may step back: less than the guard band.
    const STEP_MS: u32 = 60_000;
    /// Even while the resource is healthy, one call of 25 fails, at most one per this time.
    const FAILS_EACH: Option<Duration> = None;
    /// `true` if nothing runs in it between calls, so that weeks may pass.
    const IS_IDLE: bool = true;
    /// This percentage of callers hangs up, even while the resource is healthy.
    const LEAVE_PERCENT: u64 = 0;

    /// The pauses between two calls, in milliseconds, one of which a scenario has.
    const GAPS_MS: [u32; 3] = [20, 200, 1_000];

    /// The time that the resource takes to respond while it is healthy.
    fn answers_after(dice: &mut Dice) -> Duration {
        match dice.below(3) {
            0 => Duration::ZERO,
            1 => dice.ms(1..50),
            _ => dice.ms(50..LONGEST_ANSWER.as_millis() as u32),
        }
    }

    fn new(host: &Host, dice: &mut Dice) -> Self;

    /// The watch that counts the failures of a place: places with one breaker have one.
    fn watch(&self, place: usize) -> usize {
        place
    }

    /// The place that calls next once the resource is healthy.
    fn next(&self, turn: usize, _: &mut Dice) -> usize {
        turn % Self::PLACES
    }

    /// Returns whether calls are still made from this place once the resource is healthy.
    fn calls(&self, _place: usize) -> bool {
        true
    }

    /// Returns whether the calls of this place must be served at the end.
    fn is_served(&self, place: usize) -> bool {
        self.calls(place)
    }

    /// The time at which a caller hangs up, although the resource is healthy.
    fn leave(&self, _place: usize, dice: &mut Dice) -> Leave {
        Leave::any(Self::LEAVE_PERCENT, dice)
    }

    /// The time from when the resource is healthy for good until every call is served.
    fn bound(&self, calm: &Calm) -> Duration;

    /// `None` if callers cannot tell a failure from a wait.
    fn trips(&self) -> Option<Trips>;

    /// One call.
    fn call(self: Rc<Self>, caller: Caller) -> impl Future<Output = Answer>;

    /// The view of one of its breakers.
    fn look(&self, place: usize) -> Look;

    /// Something that operators, engines or workers do. Returns whether counts may have started over.
    fn disturb(&self, dice: &mut Dice) -> bool;

    /// The operator releases every manual hold; killed processes are started again.
    fn settle(&self);

    /// Further conditions at the end.
    fn finish(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// A description for the message of a failed scenario.
    fn describe(&self) -> String;
}

/// A result of the resource, as the classifiers of all stacks see it.
pub(crate) fn outcome(result: &Result<u32, Trouble>) -> Outcome {
    match result {
        Ok(_) => Outcome::Success,
        Err(Trouble {
            retry_after: Some(time),
        }) => Failure::retry_after(*time).into(),
        Err(_) => Failure::new().into(),
    }
}

/// A call of the host through a breaker. A forgotten call leaves the breaker as a killed process would.
pub(crate) async fn call_through<C: Clock, W: Word, O: Observer>(
    breaker: &Breaker<C, W, (), O>,
    host: &Host,
    caller: Caller,
) -> Answer {
    if caller.ending == Ending::Forgotten {
        std::mem::forget(breaker.acquire());
        return Answer::Other;
    }
    let call = breaker.call_async_with(outcome, || async {
        if caller.ending.panics() {
            throw();
        }
        host.answer().await
    });
    match call.await {
        Ok(_) => Answer::Served,
        Err(CallError::Failed(_)) => Answer::Failed,
        Err(CallError::Rejected(_)) => Answer::Rejected,
    }
}

/// The payload of callbacks that panic, which bypasses the hook that prints panics.
pub(crate) struct Thrown;

pub(crate) fn throw() -> ! {
    resume_unwind(Box::new(Thrown))
}

/// An observer that panics in a percentage of the transitions, for as long as that is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nervous {
    pub(crate) percent: u32,
}

thread_local! {
    static MAY_PANIC: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Nervous {
    pub(crate) fn allow(may_panic: bool) {
        MAY_PANIC.set(may_panic);
    }

    pub(crate) fn is_allowed() -> bool {
        MAY_PANIC.get()
    }

    pub(crate) fn draw(dice: &mut Dice) -> Self {
        Self {
            percent: dice.pick(&[0, 0, 10, 50]),
        }
    }
}

impl Observer for Nervous {
    fn transition(&self, _: &Transition) {
        use atomic_breaker_http::Clock;
        // A second panic during unwinding would end the program.
        if MAY_PANIC.get() && !std::thread::panicking() && Time.random() % 100 < self.percent {
            throw();
        }
    }
}

const _: () = assert!(LIMIT.as_secs() < LATEST.as_secs());
