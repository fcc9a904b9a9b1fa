// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any two users of one breaker: bare calls, a layer, a middleware, workers with jobs or without any, a prober, a member
//! of a fleet that makes no calls any more. Callers of one of them hang up or have time limits of their own, also while
//! the resource is healthy, and a worker's store may stay slow. The bound is that of the slower page.

mod guard;
mod noticed;
mod through;
mod users;
mod work;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined, Seat};
use atomic_breaker_http::{Breaker, Config};
use atomic_breaker_server::{Resource, word::NativeWord};

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT, LONGEST_ANSWER};
use crate::rules::{bound_of, command, let_go, open_of, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Leave, Look, Nervous, Stack, Trips};
use users::{Kind, Manners, User};

type Shared = Arc<Breaker<Time, NativeWord, (), (Option<Seat>, Nervous)>>;
/// The guard that all users call through.
type Guarded = Resource<Shared>;

const POLL: Duration = Duration::from_secs(5);
const ENGINE_LIMIT: Duration = Duration::from_millis(250);

struct Pair {
    users: [User; 2],
    config: Config,
    /// With a fleet each user has an instance, and a breaker, of its own.
    engine: Option<InProcess>,
    joined: RefCell<Vec<Joined>>,
}

impl Pair {
    fn breakers(&self) -> impl Iterator<Item = &Arc<Guarded>> {
        let separate = if self.engine.is_some() { 2 } else { 1 };
        self.users[..separate].iter().map(|user| &user.resource)
    }
}

/// Rules for callers that leave: a probe that is dropped before a healthy resource would have answered is neutral, as
/// the guide says.
fn patient(dice: &mut Dice) -> Config {
    rules(dice).cancel_limit(LONGEST_ANSWER + dice.ms(0..300))
}

impl Stack for Pair {
    const PLACES: usize = 2;
    const IS_IDLE: bool = false;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = patient(dice);
        let nervous = Nervous::draw(dice);
        let engine = dice.percent(40).then(InProcess::new);
        let mut joined = Vec::new();
        let mut resource = |name: &'static str| {
            let seat = engine.as_ref().map(|engine| {
                let fleet = FleetConfig::new(1).time_limit(ENGINE_LIMIT).poll(POLL);
                let one = Joined::new(engine.clone(), fleet.instance(name)).unwrap();
                let seat = one.seat("payments").unwrap();
                joined.push(one);
                seat
            });
            let breaker = Breaker::builder(config, Time)
                .observer((seat.clone(), nervous))
                .build();
            let breaker = Arc::new(breaker);
            if let Some(seat) = seat {
                assert!(seat.take(Arc::clone(&breaker)));
            }
            Arc::new(Resource::new(breaker))
        };
        let first = resource("a");
        let second = if engine.is_some() {
            resource("b")
        } else {
            Arc::clone(&first)
        };
        let kinds = Kind::two(engine.is_some(), dice);
        let manners = Manners::any(host, dice);
        Self {
            users: [
                User::new(kinds[0], manners, host, first, dice),
                User::new(kinds[1], Manners::GOOD, host, second, dice),
            ],
            config,
            engine,
            joined: RefCell::new(joined),
        }
    }

    fn watch(&self, place: usize) -> usize {
        if self.engine.is_some() { place } else { 0 }
    }

    /// At random, as those who call in turn may always find that the other one has just taken a probe's slot.
    fn next(&self, _: usize, dice: &mut Dice) -> usize {
        dice.below(2) as usize
    }

    fn calls(&self, place: usize) -> bool {
        self.users[place].calls_when_well()
    }

    fn is_served(&self, place: usize) -> bool {
        self.users[place].is_served()
    }

    fn leave(&self, place: usize, dice: &mut Dice) -> Leave {
        self.users[place].manners.leave(dice)
    }

    /// Beside the breaker's own bound: callers that leave may take a probe's slot first, each for as long as a healthy
    /// resource takes; what a fleet adds, as in `Fleet`; and the longest ping.
    fn bound(&self, calm: &Calm) -> Duration {
        let open = open_of(&[self.config]);
        let of_fleet = self.engine.as_ref().map_or(Duration::ZERO, |_| {
            open + 3 * (open / 10).max(4 * ENGINE_LIMIT) + POLL + 2 * calm.gap
        });
        let lost_to_others = 24 * (LONGEST_ANSWER + calm.gap);
        bound_of(&[self.config], calm) + of_fleet + lost_to_others + 2 * LIMIT
    }

    /// Calls of workers and pings count beside those that are watched.
    fn trips(&self) -> Option<Trips> {
        let is_seen = self.users.iter().all(|user| user.is_seen());
        is_seen.then(|| trips_of(&[self.config]))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        self.users[caller.place].call(caller).await
    }

    fn look(&self, place: usize) -> Look {
        Look::of(&self.users[place].resource.breaker().snapshot())
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        match (dice.below(3), &self.engine) {
            (0, Some(engine)) => match dice.below(4) {
                0 => engine.cut(),
                1 => engine.hang(true),
                2 => engine.flush(),
                _ => {
                    engine.mend();
                    engine.hang(false);
                }
            },
            (1, _) => self.users.iter().for_each(|user| user.disturb(dice)),
            _ => {
                let breaker = &**self.users[dice.below(2) as usize].resource.breaker();
                // The observer may panic.
                drop(catch_unwind(AssertUnwindSafe(|| command(breaker, dice))));
            }
        }
        true
    }

    fn settle(&self) {
        if let Some(engine) = &self.engine {
            engine.mend();
            engine.hang(false);
        }
        for breaker in self.breakers() {
            let_go(&**breaker.breaker());
        }
        self.users.iter().for_each(User::settle);
    }

    async fn finish(&self) {
        self.joined.borrow_mut().clear();
    }

    fn describe(&self) -> String {
        let each: Vec<_> = self.breakers().map(|it| it.breaker().snapshot()).collect();
        let joined = self.joined.borrow();
        let fleet: Vec<_> = joined.iter().map(Joined::status).collect();
        let users: Vec<_> = self.users.iter().map(User::describe).collect();
        format!("{users:?}: {each:#?} {fleet:?} by {:?}", self.config)
    }
}

#[test]
fn two_users_of_one_breaker() {
    explore::<Pair>("stacks::pairs::two_users_of_one_breaker", 60);
}
