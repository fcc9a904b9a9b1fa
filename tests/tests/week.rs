// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs that users write first, over a week of virtual time with a resource that is down for an hour,
//! twice a day.
//!
//! Each program is written as if its author had read no further than the example. It must trip soon after the
//! resource went down, waste little while it is down, and let calls through again soon after it came back; if
//! an idiom cannot see failures, the test pins that.

use std::cell::Cell;
use std::future::{Future, pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, CallError, Config, ManualClock, Permit, State};

const WEEK_S: u32 = 7 * 24 * 3_600;
const PERIOD_S: u32 = 12 * 3_600;
const DOWN_FROM_S: u32 = 5 * 3_600;
const DOWN_UNTIL_S: u32 = 6 * 3_600;

type Guarded<'a, W> = Arc<Breaker<&'a ManualClock, W>>;

/// The fate of the calls during an outage and after it.
#[derive(Debug, Default)]
struct Week {
    /// The most calls that reached the resource in one outage.
    wasted: u32,
    /// The most seconds until it opened.
    opened_after_s: u32,
    /// The most seconds from the return of the resource until a call succeeded again.
    back_after_s: u32,
    /// Calls rejected although the resource had been back for two minutes, or had never been away.
    rejected_in_health: u32,
    outages: u32,
    /// Outages in which it opened.
    opened: u32,
    /// Outages after which a call succeeded.
    back: u32,
}

/// Makes a call each second. `call` makes it to a resource that is up or not, lets virtual time pass if it
/// takes any, and returns whether the resource was reached and whether the call succeeded.
fn week<W: Word>(
    word: W,
    config: Config,
    call: impl Fn(&Guarded<'_, W>, &ManualClock, bool) -> (bool, bool),
) -> Week {
    let clock = ManualClock::starting_at(0_u32.wrapping_sub(3_600_000));
    let breaker = Arc::new(Breaker::over(word, config, &clock));
    let begin = clock_ms(&clock);
    let mut week = Week::default();
    let (mut wasted, mut opened_s, mut back_s) = (0, None, None);
    let mut last = 0;
    loop {
        let now = clock_ms(&clock).wrapping_sub(begin) / 1_000;
        if now >= WEEK_S {
            return week;
        }
        let phase = now % PERIOD_S;
        if phase < last {
            (wasted, opened_s, back_s) = (0, None, None);
        }
        last = phase;
        let is_up = !(DOWN_FROM_S..DOWN_UNTIL_S).contains(&phase);
        let (reached, succeeded) = call(&breaker, &clock, is_up);
        if !is_up {
            week.outages += u32::from(wasted == 0 && reached);
            wasted += u32::from(reached);
            week.wasted = week.wasted.max(wasted);
            if opened_s.is_none() && breaker.state() == State::Open {
                let after = phase - DOWN_FROM_S;
                opened_s = Some(after);
                week.opened += 1;
                week.opened_after_s = week.opened_after_s.max(after);
            }
        } else if phase >= DOWN_UNTIL_S {
            if succeeded && back_s.is_none() {
                let after = phase - DOWN_UNTIL_S;
                back_s = Some(after);
                week.back += 1;
                week.back_after_s = week.back_after_s.max(after);
            }
            let is_late = phase >= DOWN_UNTIL_S + 120;
            week.rejected_in_health += u32::from(is_late && !reached);
        } else {
            week.rejected_in_health += u32::from(!reached);
        }
        let passed = clock_ms(&clock).wrapping_sub(begin) / 1_000 - now;
        if passed == 0 {
            clock.advance(Duration::from_secs(1));
        }
    }
}

fn clock_ms(clock: &ManualClock) -> u32 {
    use atomic_breaker::Clock;
    clock.now_ms()
}

/// A typical setup: one probe, and the open time grows to a minute.
fn config() -> Config {
    Config::new().exponential(2, Duration::from_secs(60))
}

/// It trips within `opens_s`, at most `wasted` calls of the hour reach the resource, and a minute after its
/// return calls succeed again.
fn protects(week: &Week, opens_s: u32, wasted: u32) {
    assert_eq!(
        (week.outages, week.opened, week.back),
        (14, 14, 14),
        "{week:?}"
    );
    assert!(week.opened_after_s <= opens_s, "{week:?}");
    assert!(week.wasted <= wasted, "{week:?}");
    assert!(week.back_after_s <= 61, "{week:?}");
    assert_eq!(week.rejected_in_health, 0, "{week:?}");
}

fn reach(reached: &Cell<bool>, is_up: bool) -> Result<u32, &'static str> {
    reached.set(true);
    if is_up { Ok(7) } else { Err("down") }
}

#[test]
fn a_call_in_an_expression() {
    fn program<W: Word>(breaker: &Guarded<'_, W>, _: &ManualClock, is_up: bool) -> (bool, bool) {
        let reached = Cell::new(false);
        let answer = breaker.call(|| reach(&reached, is_up));
        (reached.get(), answer.is_ok())
    }
    protects(&week(AtomicU64::new(0), config(), program), 5, 70);
    protects(&week(AtomicU32::new(0), config(), program), 5, 70);
}

#[test]
fn an_attempt_that_is_left_by_the_question_mark() {
    fn program<W: Word>(breaker: &Guarded<'_, W>, _: &ManualClock, is_up: bool) -> (bool, bool) {
        let reached = Cell::new(false);
        let work = || -> Result<u32, Box<dyn std::error::Error>> {
            let attempt = breaker.acquire()?.failing_when_dropped();
            let answer = reach(&reached, is_up)?;
            attempt.success();
            Ok(answer)
        };
        let answer = work();
        (reached.get(), answer.is_ok())
    }
    protects(&week(AtomicU64::new(0), config(), program), 5, 70);
    protects(&week(AtomicU32::new(0), config(), program), 5, 70);
}

/// Polls once; a future that is still pending is dropped after `limit`, as a timeout around it does.
fn dropped_after<T>(
    future: impl Future<Output = T>,
    clock: &ManualClock,
    limit: Duration,
) -> Option<T> {
    let mut future = pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => {
            clock.advance(limit);
            None
        }
    }
}

const LIMIT: Duration = Duration::from_secs(1);

/// With the timeout inside, a resource that hangs fails.
#[test]
fn a_timeout_inside() {
    fn program<W: Word>(
        breaker: &Guarded<'_, W>,
        clock: &ManualClock,
        is_up: bool,
    ) -> (bool, bool) {
        let reached = Cell::new(false);
        let answer = breaker.call(|| {
            reached.set(true);
            let resource = async { if is_up { 7 } else { pending().await } };
            dropped_after(resource, clock, LIMIT).ok_or("timed out")
        });
        (reached.get(), answer.is_ok())
    }
    protects(&week(AtomicU64::new(0), config(), program), 5, 70);
    protects(&week(AtomicU32::new(0), config(), program), 5, 70);
}

/// Puts a timeout around the guarded call.
fn timed_out_around<W: Word>(
    breaker: &Guarded<'_, W>,
    clock: &ManualClock,
    is_up: bool,
) -> (bool, bool) {
    let reached = Cell::new(false);
    let call = breaker.call_async(|| {
        reached.set(true);
        async move {
            if is_up {
                Ok::<_, ()>(7)
            } else {
                pending().await
            }
        }
    });
    let answer = dropped_after(call, clock, LIMIT);
    (reached.get(), matches!(answer, Some(Ok(_))))
}

/// With the timeout around the call and `slow_call`, the calls that are cut short count, and a probe that hung
/// is no free retry.
#[test]
fn a_timeout_around_it_with_slow_calls_measured() {
    let slow = config().slow_call(Duration::from_millis(800));
    protects(&week(AtomicU64::new(0), slow, timed_out_around), 5, 70);
    protects(&week(AtomicU32::new(0), slow, timed_out_around), 5, 70);
}

/// Without `slow_call` the calls that are cut short do not count while closed, as the documentation warns;
/// they wedge nothing.
#[test]
fn a_timeout_around_it_alone_never_trips_and_never_wedges() {
    let week = week(AtomicU64::new(0), config(), timed_out_around);
    assert_eq!((week.opened, week.rejected_in_health), (0, 0));
    assert_eq!((week.outages, week.back), (14, 14));
    assert!(week.back_after_s <= 1, "{week:?}");
    assert!(week.wasted >= 3_600, "{week:?}");
}

/// Two places of a program take turns calling, with owned permits of clones of one `Arc`.
#[test]
fn clones_in_two_places() {
    fn program<W: Word>(
        breaker: &Guarded<'_, W>,
        clock: &ManualClock,
        is_up: bool,
    ) -> (bool, bool) {
        use atomic_breaker::Clock;
        let here = Arc::clone(breaker);
        let reached = Cell::new(false);
        if clock.now_ms().is_multiple_of(2_000) {
            let answer = here.call(|| reach(&reached, is_up));
            return (reached.get(), answer.is_ok());
        }
        let Ok(permit) = Permit::acquire(here) else {
            return (false, false);
        };
        let answer = reach(&reached, is_up);
        permit.record(&answer);
        (true, answer.is_ok())
    }
    protects(&week(AtomicU64::new(0), config(), program), 5, 70);
    protects(&week(AtomicU32::new(0), config(), program), 5, 70);
}

/// Every third call is given up in the middle, at once: it does not count and holds no slot.
#[test]
fn drops_in_the_middle() {
    fn program<W: Word>(
        breaker: &Guarded<'_, W>,
        clock: &ManualClock,
        is_up: bool,
    ) -> (bool, bool) {
        use atomic_breaker::Clock;
        if (clock.now_ms() / 1_000).is_multiple_of(3) {
            let call = breaker.call_async(pending::<Result<u32, ()>>);
            let mut call = pin!(call);
            let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            return (polled.is_pending(), false);
        }
        let reached = Cell::new(false);
        let call = breaker.call_async(|| ready(reach(&reached, is_up)));
        let answer = dropped_after(call, clock, LIMIT);
        (reached.get(), matches!(answer, Some(Ok(_))))
    }
    // The calls that are given up reach the resource, too, and may take a probe's turn for a second.
    protects(&week(AtomicU64::new(0), config(), program), 8, 160);
    protects(&week(AtomicU32::new(0), config(), program), 8, 160);
}

/// One breaker in two layers is documented as wrong, as the outer call holds the slot that the inner one
/// needs. It protects for the week, and an operator can close it.
#[test]
fn a_breaker_inside_itself_never_closes_by_itself() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(config(), &clock);
    breaker.trip();
    for _ in 0..WEEK_S / 60 {
        clock.advance(Duration::from_secs(60));
        let nested = breaker.call(|| breaker.call(|| Ok::<_, ()>(7)));
        assert!(matches!(
            nested,
            Err(CallError::Rejected(_) | CallError::Failed(CallError::Rejected(_)))
        ));
    }
    breaker.reset();
    assert!(breaker.call(|| breaker.call(|| Ok::<_, ()>(7))).is_ok());
}
