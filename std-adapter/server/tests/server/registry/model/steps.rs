// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that are taken by the registry and by the model.

use atomic_breaker_server::{
    AnyPermit, Failure, Guard, Outcome, Permit, Rejected, Rules, State, Token,
};

use super::super::panicking::Key;
use super::super::{MS, SECOND};
use super::world::{Grant, Held, World};
use super::{CAPACITY, KEYS, LIMIT, RULES, STRICT};

impl<'a> World<'a> {
    fn acquire(&mut self, key: u32) {
        let before = self.word(key);
        let number = self.lives.get(&key).map(|life| life.number);
        let (after, granted) = self.on(key, before, |breaker| {
            breaker
                .acquire()
                .map(Permit::into_token)
                .map_err(Rejected::wait)
        });
        let hosts = self.hosts;
        let answer = self.run(move || hosts.of(Key(key)).acquire());
        let Some(answer) = answer else {
            let given_back = granted.map(|token| {
                self.on(key, after, |breaker| {
                    breaker.resume(token).report(Outcome::Ignored)
                })
                .0
            });
            self.settle(key, &[before, after, given_back.unwrap_or(after)], true);
            return;
        };
        match (answer, granted) {
            (Ok(permit), Ok(token)) => {
                let grant = number.map_or(Grant::Absent, |life| Grant::Admitted(life, token));
                self.held.push(Held { key, permit, grant });
            }
            (Err(rejection), Err(wait)) => assert_eq!(rejection.wait(), wait),
            (answer, granted) => panic!("{key}: {answer:?}, in the model {granted:?}"),
        }
        self.settle(key, &[after], false);
    }

    fn end(&mut self, held: Held<'a>, outcome: Option<Outcome>) {
        let Held { key, permit, grant } = held;
        let before = self.word(key);
        let token = match grant {
            // Ignored and cancelled ones say nothing.
            Grant::Absent if matches!(outcome, None | Some(Outcome::Ignored)) => None,
            Grant::Absent => Some(Token::from_raw(0, 0)),
            Grant::Admitted(number, token) => {
                let is_same = self
                    .lives
                    .get(&key)
                    .is_some_and(|life| life.number == number);
                is_same.then_some(token)
            }
        };
        let (after, _) = self.on(key, before, |breaker| {
            let permit = token.map(|token| breaker.resume(token));
            match (permit, outcome) {
                (Some(permit), Some(outcome)) => permit.report(outcome),
                (Some(permit), None) => permit.cancel(),
                (None, _) => None,
            }
        });
        let answer = self.run(move || match outcome {
            Some(outcome) => drop(permit.report(outcome)),
            None => drop(permit),
        });
        match answer {
            Some(()) => self.settle(key, &[after], false),
            None => self.settle(key, &[before, after], true),
        }
    }

    fn command(&mut self, key: u32) {
        let command = self.random.below(8);
        let act = move |breaker: &dyn atomic_breaker_server::Control| match command {
            0 => breaker.trip(),
            1 => breaker.trip_for(7 * SECOND),
            2 => breaker.force_open(),
            3 => breaker.release(),
            4 => breaker.disable(),
            5 => breaker.enable(),
            6 => breaker.probe_now(),
            _ => breaker.reset(),
        };
        let before = self.word(key);
        let (after, _) = self.on(key, before, |breaker| act(breaker));
        let hosts = self.hosts;
        let answer = self.run(move || hosts.command(&Key(key), |breaker| act(breaker)).is_ok());
        match answer {
            Some(_) => self.settle(key, &[after], false),
            None => self.settle(key, &[before, after], true),
        }
    }

    fn own_rules(&mut self, key: u32) {
        if self.hosts.set_config_of(&Key(key), RULES).is_ok() {
            let before = self.word(key);
            self.own.insert(key);
            self.settle(key, &[before], false);
        }
        self.forget();
    }

    /// Others apply from the next event on.
    fn rules_of_class(&mut self) {
        let next = STRICT[self.random.below(2) as usize];
        self.hosts.set_config_of_class(&true, next).unwrap();
        self.strict = Rules::new(next);
    }

    pub(super) fn step(&mut self) {
        // Few keys get most calls, so that they live for long.
        let of = if self.random.below(8) == 0 { KEYS } else { 32 };
        let key = self.random.below(of) as u32;
        match self.random.below(100) {
            0..48 => self.acquire(key),
            48 => self.command(key),
            49 if self.random.below(10) == 0 => self.own_rules(key),
            49 => {
                let had_some = self.hosts.clear_config_of(&Key(key));
                assert_eq!(self.own.remove(&key), had_some);
            }
            50 if self.random.below(10) == 0 => self.rules_of_class(),
            50 => self.clock.advance(MS * (1_u32 << self.random.below(13))),
            _ if self.held.is_empty() => {}
            _ => {
                let index = self.random.below(self.held.len() as u64) as usize;
                let held = self.held.swap_remove(index);
                // A third of the keys fail mostly.
                let fails = self.random.below(10) < if held.key.is_multiple_of(3) { 8 } else { 1 };
                let outcome = match self.random.below(40) {
                    0 => None,
                    1 => Some(Outcome::Ignored),
                    2 if fails => Some(Failure::tripping().into()),
                    3 if fails => Some(Failure::retry_after(3 * SECOND).into()),
                    _ if fails => Some(Failure::new().into()),
                    _ => Some(Outcome::Success),
                };
                self.end(held, outcome);
            }
        }
    }

    /// Lets every key go that is done with: as many others as there are slots are all guarded, an hour later.
    pub(super) fn all_go(&mut self) {
        self.held.clear();
        for key in 0..KEYS as u32 {
            self.hosts.clear_config_of(&Key(key));
            let _ = self.hosts.command_if_present(&Key(key), |breaker| {
                breaker.release();
                breaker.enable();
            });
        }
        self.clock.advance(3_600 * SECOND);
        for key in 10_000..10_000 + CAPACITY {
            for _ in 0..LIMIT {
                let _ = self.hosts.of(Key(key)).call(|| Err::<(), _>("down"));
            }
        }
        let open =
            (10_000..10_000 + CAPACITY).filter(|&key| self.hosts.state(&Key(key)) == State::Open);
        assert_eq!(open.count(), CAPACITY as usize);
        assert_eq!(self.hosts.entries().count(), CAPACITY as usize);
    }
}
