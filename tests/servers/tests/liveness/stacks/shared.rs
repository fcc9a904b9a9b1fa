// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers over one word: several in one process, each with its own rules, or several processes that share a file and
//! are restarted.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Clock, Config};
use atomic_breaker_mapped::{MappedBuilder, MappedWord};
use atomic_breaker_server::{
    Rules,
    word::{AtomicU64, Word},
};

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::Host;
use crate::rules::{bound_of, command, let_go, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Look, Nervous, Stack, Trips, call_through};

type Of<P> = Breaker<Time, <P as Place>::Word, (), Nervous>;

/// The place where the word is stored.
trait Place: 'static {
    type Word: Word<Bits = u64> + 'static;
    /// `true` if all have the same rules.
    const HAS_ONE_CONFIG: bool;

    fn new(dice: &mut Dice) -> Self;
    fn breaker(&self, config: Config, observer: Nervous) -> Of<Self>
    where
        Self: Sized;
}

struct InMemory(&'static AtomicU64);

impl Place for InMemory {
    type Word = &'static AtomicU64;
    const HAS_ONE_CONFIG: bool = false;

    fn new(_: &mut Dice) -> Self {
        Self(Box::leak(Box::new(AtomicU64::new(0))))
    }

    fn breaker(&self, config: Config, observer: Nervous) -> Of<Self> {
        Breaker::from_parts(self.0, Rules::new(config), Time, (), observer)
    }
}

/// The path of a file, which is removed at the end.
pub(super) struct InFile(pub(super) PathBuf);

impl InFile {
    pub(super) fn next() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // There is no directory per test: removing it would race with the creation of the next file.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("liveness-{}-{number}", std::process::id());
        let file = std::env::temp_dir().join(name);
        // A killed program that had the same process id may have left one.
        let _ = std::fs::remove_file(&file);
        Self(file)
    }
}

impl Place for InFile {
    type Word = MappedWord;
    const HAS_ONE_CONFIG: bool = true;

    fn new(_: &mut Dice) -> Self {
        Self::next()
    }

    fn breaker(&self, config: Config, observer: Nervous) -> Of<Self> {
        let breaker = MappedBuilder::new(config).clock(Time).observer(observer);
        breaker.open(&self.0).unwrap()
    }
}

impl Drop for InFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

struct Shared<P: Place> {
    host: Host,
    place: P,
    configs: Vec<Config>,
    observer: Nervous,
    breakers: RefCell<Vec<Arc<Of<P>>>>,
}

impl<P: Place> Shared<P> {
    fn start(&self, number: usize) -> Arc<Of<P>> {
        Arc::new(self.place.breaker(self.configs[number], self.observer))
    }

    fn any(&self) -> Arc<Of<P>> {
        let breakers = self.breakers.borrow();
        Arc::clone(&breakers[Time.random() as usize % breakers.len()])
    }
}

impl<P: Place> Stack for Shared<P> {
    fn new(host: &Host, dice: &mut Dice) -> Self {
        let mut configs: Vec<_> = (0..dice.within(2..5)).map(|_| rules(dice)).collect();
        if P::HAS_ONE_CONFIG {
            let one = configs[0];
            configs.fill(one);
        }
        let shared = Self {
            host: host.clone(),
            place: P::new(dice),
            configs,
            observer: Nervous::draw(dice),
            breakers: RefCell::default(),
        };
        let breakers = (0..shared.configs.len()).map(|number| shared.start(number));
        shared.breakers.replace(breakers.collect());
        shared
    }

    fn bound(&self, calm: &Calm) -> Duration {
        bound_of(&self.configs, calm)
    }

    /// All breakers see each other's counts.
    fn trips(&self) -> Option<Trips> {
        Some(trips_of(&self.configs))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        call_through(&self.any(), &self.host, caller).await
    }

    fn look(&self, _: usize) -> Look {
        Look::of(&self.breakers.borrow()[0].snapshot())
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        if dice.percent(30) {
            let number = dice.below(self.configs.len() as u64) as usize;
            self.breakers.borrow_mut()[number] = self.start(number);
            return false;
        }
        // The observer may panic.
        let breaker = self.any();
        drop(catch_unwind(AssertUnwindSafe(|| command(&*breaker, dice))));
        true
    }

    fn settle(&self) {
        let_go(&*self.any());
    }

    fn describe(&self) -> String {
        let snapshot = self.any().snapshot();
        format!("{snapshot:?} by {:?}", self.configs)
    }
}

#[test]
fn breakers_over_one_word() {
    explore::<Shared<InMemory>>("stacks::shared::breakers_over_one_word", 40);
}

#[test]
fn processes_that_share_a_file() {
    explore::<Shared<InFile>>("stacks::shared::processes_that_share_a_file", 20);
}
