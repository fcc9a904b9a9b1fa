// SPDX-License-Identifier: MIT OR Apache-2.0
//! A resource that is unhealthy for a while and then healthy for good, callers of which some misbehave, and two
//! questions: did the breaker trip in time, and is the resource served again in time?

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

use super::dice::{Dice, Time};
use super::explore::Totals;
use super::host::{Health, Host};
use super::stack::{Answer, Caller, Calm, Ending, Leave, Look, Nervous, Stack, Thrown};
use super::watch::Watch;

/// At most this many calls are under way.
const CALLS: usize = 64;
/// This many calls in a row must be served once the bound has passed.
const AFTERWARDS: u32 = 20;

pub(crate) struct World<S> {
    stack: Rc<S>,
    host: Host,
    dice: RefCell<Dice>,
    health: Cell<Health>,
    gap_ms: u32,
    /// Percentages of callers, and of moments at which an operator or engine may act.
    unruly: u64,
    disturbed: u64,
    answers_after: Duration,
    /// `true` if callers look first, once the resource is healthy for good.
    looks: bool,
    under_way: Cell<usize>,
    behind_ms: Cell<u32>,
    /// The time by which a silence was shorter than that in which the clock wraps.
    short_ms: Cell<u32>,
    seen: RefCell<Totals>,
    watches: RefCell<Vec<Watch>>,
    /// A panic that was not thrown on purpose.
    broken: RefCell<Option<Box<dyn Any + Send>>>,
}

impl<S: Stack> World<S> {
    pub(crate) fn begin(seed: u64) -> Rc<Self> {
        let mut dice = Dice::new(seed);
        // Half of all clocks wrap while the scenario runs; those of narrow words wrap more often.
        let at_ms = if dice.percent(50) {
            0_u32.wrapping_sub(dice.within(0..60_000))
        } else {
            dice.next() as u32
        };
        Time::begin(at_ms, seed);
        Nervous::allow(true);
        let answers_after = S::answers_after(&mut dice);
        let host = Host::new(answers_after, S::FAILS_EACH, dice.clone());
        let stack = Rc::new(S::new(&host, &mut dice));
        Rc::new(Self {
            stack,
            host,
            gap_ms: dice.pick(&S::GAPS_MS),
            unruly: dice.pick(&[0, 10, 30, 60]),
            disturbed: dice.pick(&[0, 1, 5]),
            answers_after,
            looks: dice.percent(30),
            under_way: Cell::new(0),
            health: Cell::new(Health::Well),
            behind_ms: Cell::new(0),
            short_ms: Cell::new(0),
            seen: RefCell::default(),
            watches: RefCell::new((0..S::PLACES).map(|_| Watch::default()).collect()),
            broken: RefCell::new(None),
            dice: RefCell::new(dice),
        })
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Dice) -> T) -> T {
        draw(&mut self.dice.borrow_mut())
    }

    fn be(&self, health: Health) {
        self.health.set(health);
        self.host.set(health);
        self.count_anew();
    }

    fn count_anew(&self) {
        for watch in &mut *self.watches.borrow_mut() {
            watch.count_anew();
        }
    }

    /// Several spells of trouble, with healthy times between some of them.
    pub(crate) async fn be_ill(self: &Rc<Self>) {
        let spells = self.draw(|dice| dice.within(1..5));
        for _ in 0..spells {
            let (health, lasts) = self.draw(|dice| {
                let is_well = dice.percent(25);
                let health = if is_well {
                    Health::Well
                } else {
                    Health::ill(dice)
                };
                (health, dice.ms(500..20_000))
            });
            self.be(health);
            let until = Instant::now() + lasts;
            while Instant::now() < until {
                self.disturb().await;
                self.call_some();
                let gap = self.draw(|dice| dice.ms(0..2 * self.gap_ms));
                sleep(gap).await;
            }
        }
    }

    async fn disturb(&self) {
        let (is_disturbed, steps, is_quiet) = self.draw(|dice| {
            (
                dice.percent(self.disturbed),
                dice.percent(2),
                dice.percent(1),
            )
        });
        if is_disturbed && self.draw(|dice| self.stack.disturb(dice)) {
            self.count_anew();
        }
        if steps {
            Time::step_on(self.behind_ms.take());
            self.behind_ms
                .set(self.draw(|dice| dice.within(0..S::STEP_MS)));
            Time::step_back(self.behind_ms.get());
            self.count_anew();
        }
        if is_quiet && S::IS_IDLE {
            // Waits for a while, or until the clock has wrapped, nearly or exactly.
            let round = Duration::from_millis(1 << 32);
            let quiet = self.draw(|dice| match dice.below(3) {
                0 => dice.ms(1_000..3_000_000),
                1 => round,
                _ => {
                    let short_ms = dice.within(0..60_000);
                    self.short_ms.set(self.short_ms.get().max(short_ms));
                    round.saturating_sub(Duration::from_millis(short_ms.into()))
                }
            });
            sleep(quiet).await;
            self.count_anew();
            // Once the clock has wrapped, earlier counts look recent again.
            for watch in &mut *self.watches.borrow_mut() {
                watch.come_round();
            }
        }
    }

    fn call_some(self: &Rc<Self>) {
        let calls = self.draw(|dice| if dice.percent(10) { 5 } else { 1 });
        for _ in 0..calls {
            if self.under_way.get() < CALLS {
                let caller = self.draw(|dice| {
                    let place = dice.below(S::PLACES as u64) as usize;
                    Caller::any(place, self.unruly, dice)
                });
                spawn_local(Rc::clone(self).call(caller));
            }
        }
        self.check();
    }

    /// Checks that every check has passed so far.
    fn check(&self) {
        if let Some(panic) = self.broken.take() {
            resume_unwind(panic);
        }
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        self.under_way.set(self.under_way.get() + 1);
        let before = self.stack.look(caller.place);
        if caller.ending == Ending::Looks {
            self.under_way.set(self.under_way.get() - 1);
            self.judge(before, caller, Answer::Other);
            return Answer::Other;
        }
        let call = AssertUnwindSafe(leave(caller.leave, Rc::clone(&self.stack).call(caller)));
        let answer = match call.catch_unwind().await {
            Ok(answer) => answer.unwrap_or(Answer::Other),
            Err(panic) if panic.is::<Thrown>() => Answer::Other,
            Err(panic) => {
                *self.broken.borrow_mut() = Some(panic);
                Answer::Other
            }
        };
        self.under_way.set(self.under_way.get() - 1);
        let judged = catch_unwind(AssertUnwindSafe(|| self.judge(before, caller, answer)));
        if let Err(panic) = judged {
            *self.broken.borrow_mut() = Some(panic);
        }
        answer
    }

    fn judge(&self, before: Look, caller: Caller, answer: Answer) {
        let after = self.stack.look(caller.place);
        let watch = &mut self.watches.borrow_mut()[self.stack.watch(caller.place)];
        let mut seen = self.seen.borrow_mut();
        seen.rejected += u32::from(answer == Answer::Rejected);
        seen.served += u32::from(answer == Answer::Served);
        seen.trips += u32::from(watch.has_tripped(after));
        let fails_always = self.health.get().fails_always();
        watch.judge(&*self.stack, (before, after), caller, answer, fails_always);
    }

    /// From now on the resource is healthy: earlier trouble may delay callers only for a bounded time.
    pub(crate) async fn be_well(self: &Rc<Self>) {
        self.be(Health::Well);
        Nervous::allow(false);
        self.stack.settle();
        let behind_ms = self.behind_ms.get() + self.short_ms.get();
        let behind = Duration::from_millis(behind_ms.into());
        let calm = Calm {
            gap: Duration::from_millis(self.gap_ms.into()),
            answers_after: self.answers_after,
            behind,
            looks: self.looks,
        };
        let (began, bound) = (Instant::now(), self.stack.bound(&calm));
        let last_in_vain = Rc::new(Cell::new(Duration::ZERO));
        let mut turn = 0;
        while began.elapsed() <= bound {
            // While there is no room for a call, the turn stays with its place: otherwise answers that take as long as some
            // rounds could give all room to the others, each time.
            if self.under_way.get() < CALLS {
                let place = self.draw(|dice| self.stack.next(turn, dice));
                self.call_calmly(place, &last_in_vain, began);
                turn += 1;
            }
            sleep(calm.gap / S::PLACES as u32).await;
            self.check();
        }
        for _ in 0..AFTERWARDS {
            for place in 0..S::PLACES {
                if !self.stack.is_served(place) {
                    self.call_calmly(place, &Rc::default(), began);
                    continue;
                }
                let asked = Rc::clone(self).call(Caller::honest(place));
                let answer = timeout(Duration::from_secs(60), asked).await;
                self.check();
                let is_fine = answer == Ok(Answer::Served)
                    || S::FAILS_EACH.is_some() && answer == Ok(Answer::Failed);
                assert!(
                    is_fine && self.stack.look(place).is_closed,
                    "{answer:?} {:?} after it was well for good, of {bound:?}; answers after {:?}, a call each {:?}: {}",
                    began.elapsed(),
                    self.answers_after,
                    calm.gap,
                    self.stack.describe()
                );
            }
            sleep(calm.gap).await;
        }
        self.stack.finish().await;
        self.seen.borrow_mut().slowest = (last_in_vain.get(), bound);
    }

    /// A call of a healthy resource, in a task of its own.
    fn call_calmly(
        self: &Rc<Self>,
        place: usize,
        last_in_vain: &Rc<Cell<Duration>>,
        began: Instant,
    ) {
        if !self.stack.calls(place) || self.under_way.get() >= CALLS {
            return;
        }
        let (world, in_vain) = (Rc::clone(self), Rc::clone(last_in_vain));
        let begins = began.elapsed();
        if self.looks && self.stack.look(place).is_open {
            if self.stack.is_served(place) {
                in_vain.set(in_vain.get().max(begins));
            }
            return;
        }
        let caller = Caller {
            leave: self.draw(|dice| self.stack.leave(place, dice)),
            ..Caller::honest(place)
        };
        spawn_local(async move {
            let is_served = world.stack.is_served(place);
            if world.call(caller).await == Answer::Rejected && is_served {
                in_vain.set(in_vain.get().max(begins));
            }
        });
    }

    pub(crate) fn add_to(&self, totals: &mut Totals) {
        let seen = self.seen.borrow();
        totals.rejected += seen.rejected;
        totals.served += seen.served;
        totals.trips += seen.trips;
        if seen.slowest.0 > totals.slowest.0 {
            totals.slowest = seen.slowest;
        }
    }
}

/// The result, unless the caller has hung up.
async fn leave(leave: Leave, call: impl Future<Output = Answer>) -> Option<Answer> {
    match leave {
        Leave::Never => Some(call.await),
        Leave::After(patience) => timeout(patience, call).await.ok(),
        Leave::AtPoll(polls) => {
            let mut call = pin!(call);
            let mut left = polls;
            poll_fn(|context| {
                if left == 0 {
                    return Poll::Ready(None);
                }
                left -= 1;
                call.as_mut().poll(context).map(Some)
            })
            .await
        }
    }
}

impl Ending {
    /// Returns whether the call that begins now is to panic: no call does once the resource is healthy for good, even
    /// if its caller has waited since before.
    pub(crate) fn panics(self) -> bool {
        self == Self::Panics && Nervous::is_allowed()
    }
}
