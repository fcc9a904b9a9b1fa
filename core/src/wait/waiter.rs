// SPDX-License-Identifier: MIT OR Apache-2.0
//! A waiter, from its first rejection until its turn, and how long it sleeps.

#![expect(
    clippy::manual_async_fn,
    reason = "an `async fn` holds each argument that it uses twice, a block once"
)]

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;

use super::{Awaited, Timer, ms};
use crate::error::Rejected;
use crate::number::scramble;
use crate::state::State;
use crate::word::{self, AtomicU32};

pub(super) const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Waiter<T> {
    pub(super) timer: T,
    /// The time since which this waiter counts as away: the start of its own wait, or of the open time that it found.
    away_since_ms: u64,
    /// The time at which it gives up.
    deadline_ms: u64,
    /// `true` if it waits even if the time of its turn is unknown, or after the deadline.
    is_patient: bool,
    /// The number of times in a row that it has found the breaker half-open.
    looked_half_open: u32,
    /// While traffic returns, a call may pass at any time: whether it is this waiter's time to try.
    may_try: bool,
}

impl<T: Timer> Waiter<T> {
    pub(super) fn new(timer: T) -> Self {
        Self {
            away_since_ms: timer.now_ms(),
            timer,
            deadline_ms: NEVER,
            is_patient: true,
            looked_half_open: 0,
            may_try: false,
        }
    }

    /// The first try need not wait, because the decision is not this waiter's.
    pub(super) fn trying(timer: T) -> Self {
        Self {
            may_try: true,
            ..Self::new(timer)
        }
    }

    /// Gives up at this time of its timer, or as soon as its turn is not known to come by then.
    pub(super) fn give_up_at(&mut self, ms: u64) {
        self.deadline_ms = ms;
        self.is_patient = false;
    }

    /// Begins to wait again.
    pub(super) fn restart(&mut self) {
        self.away_since_ms = self.timer.now_ms();
        self.looked_half_open = 0;
        self.may_try = true;
    }

    /// Waits until a try is worthwhile; `false` when it gives up.
    pub(super) fn turn(&mut self, awaited: &impl Awaited) -> impl Future<Output = bool> {
        async move {
            loop {
                // Before the look at the state, so that no change is missed.
                let seen = awaited.epoch();
                let Some(rejected) = self.look(awaited) else {
                    return true;
                };
                if self.gives_up(rejected) {
                    return false;
                }
                let is_woken = will_be_woken(awaited).await;
                let pause = self.pause(awaited, rejected, is_woken);
                let woken = sleep_until_change(awaited, &self.timer, &seen, pause.ms).await;
                self.may_try = rejected.state() == State::Returning && woken == Woken::AtItsEnd;
                if woken == Woken::Early || woken == Woken::Changed && !pause.is_spread {
                    // Other waiters find out now, too.
                    let spread_ms = self.spread_ms(awaited);
                    self.sleep(spread_ms).await;
                }
            }
        }
    }

    /// Returns the rejection that a caller would get, unless this one is to try now.
    fn look(&mut self, awaited: &impl Awaited) -> Option<Rejected> {
        let snapshot = awaited.snapshot();
        let rejected = snapshot.rejection();
        if let (Some(open_for), Some(left)) = (snapshot.open_for(), snapshot.retry_in()) {
            let since_ms = ms(open_for.saturating_sub(left));
            let opened_ms = self.timer.now_ms().saturating_sub(since_ms);
            self.away_since_ms = self.away_since_ms.min(opened_ms);
        }
        // While traffic returns, calls are rejected at random.
        match rejected {
            Some(rejected) if rejected.state() == State::Returning && self.may_try => {}
            Some(rejected) => return Some(rejected),
            None => {}
        }
        self.may_try = false;
        None
    }

    fn gives_up(&self, rejected: Rejected) -> bool {
        !self.is_patient && is_vain(rejected, self.left_ms())
    }

    fn pause(&mut self, awaited: &impl Awaited, rejected: Rejected, is_woken: bool) -> Pause {
        let looked = self.looked_half_open;
        self.looked_half_open = match rejected.state() {
            State::HalfOpen => looked.saturating_add(1),
            _ => 0,
        };
        let share = Spread::draw(awaited);
        let pause = sleep_after(rejected, self.away_ms(), looked, is_woken, share);
        Pause {
            ms: pause.ms.min(self.left_ms()),
            ..pause
        }
    }

    /// The time by which it returns later than the others, if a call would be admitted now.
    fn spread_ms(&self, awaited: &impl Awaited) -> u64 {
        match awaited.snapshot().rejection() {
            Some(_) => 0,
            None => Spread::draw(awaited)
                .of_spread_after(self.away_ms())
                .min(self.left_ms()),
        }
    }

    /// The sleep, if there is one.
    pub(super) async fn sleep(&self, ms: u64) {
        if ms > 0 {
            self.timer.sleep(ms).await;
        }
    }

    fn away_ms(&self) -> u64 {
        self.timer.now_ms().saturating_sub(self.away_since_ms)
    }

    /// The time until it gives up.
    pub(super) fn left_ms(&self) -> u64 {
        if self.deadline_ms == NEVER {
            NEVER
        } else {
            self.deadline_ms.saturating_sub(self.timer.now_ms())
        }
    }
}

/// Returns whether a call is not known to be admitted within this time.
pub(super) fn is_vain(rejected: Rejected, within_ms: u64) -> bool {
    let earliest_ms = match (rejected.state(), rejected.retry_in_ms()) {
        (_, None) => return true,
        (State::Open, Some(left_ms)) => left_ms.into(),
        (_, Some(_)) => 1,
    };
    earliest_ms > within_ms
}

/// Returns whether the observer will wake this task at the next transition.
pub(super) async fn will_be_woken(awaited: &impl Awaited) -> bool {
    poll_fn(|context| Poll::Ready(awaited.wake_on_change(context.waker()))).await
}

/// The reason why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The breaker is in another epoch, before the time was over.
    Early,
    /// The time was over, and the breaker is in another epoch.
    Changed,
    AtItsEnd,
}

/// Sleeps for this long, or until the breaker is in another epoch.
pub(super) async fn sleep_until_change<A: Awaited>(
    awaited: &A,
    timer: &impl Timer,
    seen: &A::Epoch,
    ms: u64,
) -> Woken {
    let mut sleep = pin!(timer.sleep(ms));
    poll_fn(|context| {
        // Before the look, so that no change is missed.
        awaited.wake_on_change(context.waker());
        let is_over = sleep.as_mut().poll(context).is_ready();
        match (awaited.epoch() == *seen, is_over) {
            (true, false) => Poll::Pending,
            (true, true) => Poll::Ready(Woken::AtItsEnd),
            (false, false) => Poll::Ready(Woken::Early),
            (false, true) => Poll::Ready(Woken::Changed),
        }
    })
    .await
}

/// The interval between the looks of a waiter that the observer does not wake.
const LOOK_MS: u64 = 1_000;
/// The interval between the looks of a waiter that is woken by transitions made here, but not by those made elsewhere.
pub(super) const LOOK_WHEN_WOKEN_MS: u64 = 10_000;

/// Waiters return over this part (one eighth) of the time that they were away.
const SPREAD_PART: u64 = 8;
const LONGEST_SPREAD_MS: u64 = 1_000;

/// The first sleep while half-open, doubled with each until the longest.
const FIRST_MS: u64 = 10;
const LONGEST_MS: u64 = 1_000;

/// A fraction of 1, as 2³² parts, for this caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread(u32);

static DRAWN: AtomicU32 = AtomicU32::new(0);

/// 2³² divided by the golden ratio.
const GOLDEN: u32 = 0x9E37_79B9;

impl Spread {
    /// The multiples of 2³² divided by the golden ratio fall evenly between each other, however many
    /// there are (Weyl's equidistribution; Knuth, TAOCP 3, 6.4); each process begins at a different
    /// point.
    pub(super) fn draw(awaited: &impl Awaited) -> Self {
        let begin = scramble(awaited.entropy());
        Self(word::draw(&DRAWN, GOLDEN).wrapping_add(begin))
    }

    /// This share of a time, or of 49 days if it is longer, rounded down.
    fn of(self, ms: u64) -> u64 {
        (ms.min(u32::MAX.into()) * u64::from(self.0)) >> u32::BITS
    }

    /// Somewhere between half of a time and all of it.
    pub(super) fn between_half_and_all(self, ms: u64) -> u64 {
        ms - self.of(ms / 2)
    }

    /// The time by which a waiter returns later than others that were away as long.
    fn of_spread_after(self, away_ms: u64) -> u64 {
        self.of((away_ms / SPREAD_PART).min(LONGEST_SPREAD_MS))
    }
}

/// The time for which a rejected waiter sleeps.
#[derive(Clone, Copy, Debug)]
struct Pause {
    ms: u64,
    /// `true` if it includes a share of the spread already.
    is_spread: bool,
}

fn sleep_after(
    rejected: Rejected,
    away_ms: u64,
    looked_half_open: u32,
    is_woken: bool,
    share: Spread,
) -> Pause {
    let look_ms = if is_woken {
        LOOK_WHEN_WOKEN_MS
    } else {
        LOOK_MS
    };
    let mut is_spread = false;
    let ms = match rejected.state() {
        State::HalfOpen => {
            let doubled = FIRST_MS << looked_half_open.min(8);
            share.between_half_and_all(doubled.min(LONGEST_MS))
        }
        State::Returning => share.between_half_and_all(LONGEST_MS),
        State::Closed | State::Open | State::ForcedOpen | State::Disabled => {
            match rejected.retry_in_ms().map(u64::from) {
                Some(left_ms) if left_ms <= look_ms => {
                    is_spread = true;
                    left_ms + share.of_spread_after(away_ms + left_ms)
                }
                Some(_) | None => look_ms,
            }
        }
    };
    Pause { ms, is_spread }
}
