//! What all stacks have in common: how they are called, disturbed, and what they promise.

use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, CallError, Clock, Failure, Observer, Outcome, Snapshot, State, Transition, word::Word,
};

use super::dice::{Dice, Time};
use super::host::{Host, LIMIT, Trouble};

/// What becomes of the right to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    /// It is reported, once, as it was.
    Reported,
    /// So is the call, whose operation panics.
    Panics,
    /// It is never heard of again: a token that is lost, a task that hangs for good.
    Forgotten,
    /// It is dropped after this time, without a call.
    Dropped(Duration),
    /// It is reported this much later.
    Late(Duration),
    /// It is reported twice.
    Twice,
    /// It is nobody's fault.
    Ignored,
}

/// When a caller hangs up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Leave {
    Never,
    After(Duration),
    /// Right before its future would be polled for that time.
    AtPoll(u32),
}

impl Leave {
    /// Of a hundred so many hang up.
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
    /// Which one of the stack's breakers it calls.
    pub(crate) place: usize,
    pub(crate) ending: Ending,
    pub(crate) leave: Leave,
}

/// The longest that a permit which was granted before may still say something, but for those that are lost.
pub(crate) const LATEST: Duration = Duration::from_secs(6);

impl Caller {
    pub(crate) const fn honest(place: usize) -> Self {
        Self {
            place,
            ending: Ending::Reported,
            leave: Leave::Never,
        }
    }

    /// Of a hundred so many do something that they should not.
    pub(crate) fn any(place: usize, unruly: u64, dice: &mut Dice) -> Self {
        let mut caller = Self::honest(place);
        if !dice.percent(unruly) {
            return caller;
        }
        match dice.below(3) {
            0 | 1 => caller.leave = Leave::any(100, dice),
            _ => {
                caller.ending = match dice.below(6) {
                    0 => Ending::Panics,
                    1 => Ending::Forgotten,
                    2 => Ending::Dropped(dice.ms(0..3_000)),
                    3 => Ending::Late(dice.ms(0..3_000)),
                    4 => Ending::Twice,
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

/// What a caller saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Served,
    Failed,
    Rejected,
    /// It went its own way.
    Other,
}

/// After how many failing calls in a row it has tripped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trips {
    pub(crate) after: u32,
    /// At least as many failures as there were successes within this time.
    pub(crate) outweighing: Duration,
}

/// What is so once the resource is well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calm {
    /// Between two calls.
    pub(crate) gap: Duration,
    /// The resource answers after this time.
    pub(crate) answers_after: Duration,
    /// The clock looks as if it were behind by so much: it has stepped back, or has nearly come round in a silence.
    pub(crate) behind: Duration,
}

/// How a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Calls are judged: it is closed, or traffic returns.
    pub(crate) is_closed: bool,
    pub(crate) epoch: u16,
}

impl Look {
    /// Of a key that has no slot, as it has not failed.
    pub(crate) const NONE: Self = Self {
        is_closed: true,
        epoch: 0,
    };

    pub(crate) const fn of(snapshot: &Snapshot) -> Self {
        Self {
            is_closed: matches!(snapshot.state(), State::Closed | State::Returning),
            epoch: snapshot.epoch(),
        }
    }
}

pub(crate) trait Stack: Sized + 'static {
    /// How many breakers it has that are called on their own.
    const PLACES: usize = 1;
    /// By how much its clock may step back, in milliseconds: less than the guard band.
    const STEP_MS: u32 = 60_000;
    /// Also while the resource is well, one call of 25 fails, at most one in so long a time.
    const FAILS_EACH: Option<Duration> = None;
    /// Whether nothing runs in it while nobody calls, so that weeks may pass.
    const IS_IDLE: bool = true;
    /// Of a hundred callers so many hang up, also while the resource is well.
    const LEAVE_PERCENT: u64 = 0;

    fn new(host: &Host, dice: &mut Dice) -> Self;

    /// From when the resource is well for good until every call is served.
    fn bound(&self, calm: &Calm) -> Duration;

    /// `None` where callers cannot tell a failure from a wait.
    fn trips(&self) -> Option<Trips>;

    /// One call.
    fn call(self: Rc<Self>, caller: Caller) -> impl Future<Output = Answer>;

    /// How one of its breakers stands.
    fn look(&self, place: usize) -> Look;

    /// Something that operators, engines or workers do. Whether counts may have begun again.
    fn disturb(&self, dice: &mut Dice) -> bool;

    /// The operator ends what is held by hand; what was killed is started again.
    fn settle(&self);

    /// What else must be so in the end.
    fn finish(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// For what is printed when it fails.
    fn describe(&self) -> String;
}

/// An answer of the resource, as the classifiers of all stacks take it.
pub(crate) fn outcome(result: &Result<u32, Trouble>) -> Outcome {
    match result {
        Ok(_) => Outcome::Success,
        Err(Trouble {
            retry_after: Some(time),
        }) => Failure::retry_after(*time).into(),
        Err(_) => Failure::new().into(),
    }
}

/// A call of the host through a breaker. One that is forgotten is as a process that is killed leaves it.
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

/// What is thrown by callbacks that panic, past the hook that prints panics.
pub(crate) struct Thrown;

pub(crate) fn throw() -> ! {
    resume_unwind(Box::new(Thrown))
}

/// An observer that panics in some of a hundred transitions, for as long as that is allowed.
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
        // A second panic while one unwinds would end the program.
        if MAY_PANIC.get() && !std::thread::panicking() && Time.random() % 100 < self.percent {
            throw();
        }
    }
}

const _: () = assert!(LIMIT.as_secs() < LATEST.as_secs());
