// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: calls that arrive by chance, their tries, and the time between.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;
use std::time::Duration;

use atomic_breaker_tower::RetryBudget;

use crate::arrivals::Arrivals;
use crate::client::{Client, DEADLINE};
use crate::clock::{BEGIN, MS, SECOND, Time, now, scramble, seed, set_now};
use crate::figures::Figures;
use crate::guard::{Guard, TRY_LIMIT};
use crate::reply::{Next, Reply};
use crate::scenario::Plan;
use crate::world::{Ask, Fate, World, is_of_ten};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A try ends.
    Ends,
    /// A caller leaves.
    Leaves,
    /// A try without its caller ends.
    EndsAlone,
    /// A pause is over.
    Resumes,
}

/// One call.
struct Call<P> {
    number: u64,
    arrived: Time,
    leaves: Time,
    /// Tries that were made.
    attempts: u32,
    failed: u32,
    permit: Option<P>,
    reply: Reply,
    ends: Time,
    follows_hint: bool,
    holds_token: bool,
    is_wasted: bool,
}

/// Everything that happens in a run.
struct Run<'a, G: Guard> {
    plan: &'a Plan,
    client: Client,
    seed: u64,
    guard: G,
    world: World,
    budget: RetryBudget,
    calls: Vec<Call<G::Permit>>,
    free: Vec<usize>,
    events: BinaryHeap<Reverse<(Time, u64, usize, Kind)>>,
    sent: u64,
    figures: Figures,
}

/// The end of the call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Served,
    Failed,
    Rejected,
}

/// Plays a plan with a breaker.
pub fn run<G: Guard>(
    plan: &Plan,
    client: Client,
    number: u64,
    guard: impl FnOnce() -> G,
) -> Figures {
    let run_seed = scramble(plan.seed ^ scramble(number));
    set_now(BEGIN);
    seed(run_seed ^ 1);
    let mut run = Run {
        plan,
        client,
        seed: run_seed,
        guard: guard(),
        world: (plan.world)(plan.rate),
        budget: RetryBudget::new(),
        calls: Vec::new(),
        free: Vec::new(),
        events: BinaryHeap::new(),
        sent: 0,
        figures: Figures {
            runs: 1,
            ..Figures::default()
        },
    };
    run.play();
    let figures = mem::take(&mut run.figures);
    drop(run);
    set_now(0);
    figures
}

impl<G: Guard> Run<'_, G> {
    fn play(&mut self) {
        let mut arrivals = Arrivals::new(self.plan, self.seed, mem::take(&mut self.world.bursts));
        let mut arrives = arrivals.next();
        let mut number = 0;
        loop {
            let event = self.events.peek().map(|Reverse((at, ..))| *at);
            match (arrives, event) {
                (Some(at), event) if event.is_none_or(|event| at <= event) => {
                    set_now(at);
                    self.arrive(number);
                    number += 1;
                    arrives = arrivals.next();
                }
                (_, Some(at)) => {
                    set_now(at);
                    let Some(Reverse((_, _, slot, kind))) = self.events.pop() else {
                        return;
                    };
                    self.happen(slot, kind);
                }
                _ => return,
            }
        }
    }

    fn schedule(&mut self, at: Time, slot: usize, kind: Kind) {
        self.sent += 1;
        self.events.push(Reverse((at, self.sent, slot, kind)));
    }

    fn ask(&self, slot: usize, is_peek: bool) -> Ask {
        let call = &self.calls[slot];
        Ask {
            since: now().cast_signed() - self.plan.trouble.start.cast_signed(),
            call: call.number,
            attempt: call.attempts,
            seed: self.seed,
            is_peek,
        }
    }

    fn arrive(&mut self, number: u64) {
        let arrived = now();
        let own = self.world.leaves_after.unwrap_or(DEADLINE);
        let call = Call {
            number,
            arrived,
            leaves: arrived + own.min(DEADLINE),
            attempts: 0,
            failed: 0,
            permit: None,
            reply: Reply::Refused,
            ends: 0,
            follows_hint: false,
            holds_token: false,
            is_wasted: false,
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.calls[slot] = call;
            slot
        } else {
            self.calls.push(call);
            self.calls.len() - 1
        };
        self.begin(slot);
    }

    fn begin(&mut self, slot: usize) {
        match self.guard.admit() {
            Ok(permit) => self.send(slot, permit),
            Err(retry_in) => self.rejected(slot, retry_in),
        }
    }

    fn send(&mut self, slot: usize, permit: G::Permit) {
        let ask = self.ask(slot, false);
        let Fate { after, reply } = (self.world.answer)(&ask);
        let limit = self.guard.limit(&permit);
        let (after, reply) = if after < limit {
            (after, reply)
        } else {
            (limit, Reply::TimedOut)
        };
        let ends = now() + after;
        let is_down = self.plan.is_down(now());
        let call = &mut self.calls[slot];
        call.holds_token = false;
        call.attempts += 1;
        call.reply = reply;
        call.ends = ends;
        call.permit = Some(permit);
        if is_down && !reply.is_served() {
            self.figures.wasted_tries += 1;
            self.figures.wasted += u64::from(!mem::replace(&mut call.is_wasted, true));
        }
        let leaves = call.leaves;
        if leaves < ends {
            self.schedule(leaves, slot, Kind::Leaves);
        } else {
            self.schedule(ends, slot, Kind::Ends);
        }
    }

    fn rejected(&mut self, slot: usize, retry_in: Option<Duration>) {
        // If the hint that it has just waited for opened the breaker, it waits for that, too.
        let follows_hint = mem::take(&mut self.calls[slot].follows_hint);
        if let Some(wait) = retry_in.filter(|_| follows_hint) {
            let pause = micros(wait) + self.backoff(slot, 1);
            if now() + pause < self.calls[slot].arrived + DEADLINE {
                self.schedule(now() + pause, slot, Kind::Resumes);
                return;
            }
        }
        if mem::take(&mut self.calls[slot].holds_token) {
            self.budget.give_back();
        }
        let is_counted = self.plan.counted.contains(&self.calls[slot].arrived);
        self.figures.rejected += u64::from(is_counted);
        let ask = self.ask(slot, true);
        let Fate { after, reply } = (self.world.answer)(&ask);
        let left = self.calls[slot].leaves - now().min(self.calls[slot].leaves);
        let would_serve = reply.is_served() && after < TRY_LIMIT.min(left);
        self.figures.rejected_in_vain += u64::from(would_serve && is_counted);
        self.finish(slot, End::Rejected);
    }

    fn happen(&mut self, slot: usize, kind: Kind) {
        match kind {
            Kind::Ends => {
                let call = &mut self.calls[slot];
                let reply = call.reply;
                let permit = call.permit.take().expect("it is under way");
                self.guard.end(permit, reply);
                self.after(slot, reply);
            }
            Kind::Leaves => {
                let permit = self.calls[slot].permit.take().expect("it is under way");
                let ends = self.calls[slot].ends;
                self.count(slot, End::Failed);
                match self.guard.leave(permit) {
                    Some(permit) => {
                        self.calls[slot].permit = Some(permit);
                        self.schedule(ends, slot, Kind::EndsAlone);
                    }
                    None => self.free.push(slot),
                }
            }
            Kind::EndsAlone => {
                let call = &mut self.calls[slot];
                let permit = call.permit.take().expect("it is under way");
                self.guard.end(permit, call.reply);
                self.free.push(slot);
            }
            Kind::Resumes if now() >= self.calls[slot].leaves => {
                if mem::take(&mut self.calls[slot].holds_token) {
                    self.budget.give_back();
                }
                self.finish(slot, End::Failed);
            }
            Kind::Resumes => self.begin(slot),
        }
    }

    fn after(&mut self, slot: usize, reply: Reply) {
        match reply.next() {
            Next::Success => {
                self.budget.deposit();
                let end = if reply.is_served() {
                    End::Served
                } else {
                    End::Failed
                };
                self.finish(slot, end);
            }
            Next::Return => self.finish(slot, End::Failed),
            Next::Retry(hint) => match self.pause(slot, hint) {
                Some(pause) => self.schedule(now() + pause, slot, Kind::Resumes),
                None => self.finish(slot, End::Failed),
            },
        }
    }

    /// A try failed: how long to pause before the next one, if there is one.
    fn pause(&mut self, slot: usize, hint: Option<Duration>) -> Option<Time> {
        let may_repeat = !is_of_ten(&self.ask(slot, true), self.world.unrepeatable);
        let call = &mut self.calls[slot];
        call.failed += 1;
        let failed = call.failed;
        if !may_repeat || failed >= self.client.tries() {
            return None;
        }
        let ends = call.arrived + DEADLINE;
        let pause = self.backoff(slot, failed) + hint.map_or(0, micros);
        if now() + pause >= ends {
            return None;
        }
        let is_granted = self.budget.withdraw_at(now() / MS);
        let call = &mut self.calls[slot];
        call.holds_token = is_granted;
        call.follows_hint = hint.is_some();
        is_granted.then_some(pause)
    }

    /// Full jitter, the same for the same call whatever the breaker.
    fn backoff(&self, slot: usize, retry: u32) -> Time {
        let most = (100 * MS) << (retry - 1);
        let most = most.min(2 * SECOND);
        self.ask(slot, true).draw(1_000 + u64::from(retry)) % most
    }

    fn finish(&mut self, slot: usize, end: End) {
        self.count(slot, end);
        self.free.push(slot);
    }

    fn count(&mut self, slot: usize, end: End) {
        let arrived = self.calls[slot].arrived;
        self.figures
            .note(self.plan, arrived, now(), end == End::Served);
    }
}

fn micros(time: Duration) -> Time {
    u64::try_from(time.as_micros()).unwrap_or(Time::MAX / 4)
}
