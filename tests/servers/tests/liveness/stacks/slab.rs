// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker for each of several keys in a file that is open twice in one process; one of the two is closed and opened
//! again at any moment. Other keys fill the slots and misbehave.

use std::cell::{Cell, RefCell};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_http::{Clock, Config};
use atomic_breaker_mapped::{MappedSlab, SlotBreaker};
use atomic_breaker_server::CallError;

use super::shared::InFile;
use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::Host;
use crate::rules::{bound_of, command, let_go, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Ending, Look, Nervous, Stack, Trips, outcome, throw};

const PLACES: usize = 2;
/// Fewer slots than there are keys.
const CAPACITY: u32 = 4;
const KEYS: u64 = 8;

type Handle = Rc<MappedSlab<Time>>;

struct Slab {
    host: Host,
    config: Config,
    observer: Nervous,
    others: Cell<u64>,
    /// At least one of them is open. Calls that began in a closed one continue.
    handles: RefCell<[Option<Handle>; 2]>,
    // Removed after all are closed.
    file: InFile,
}

fn key(number: u64) -> String {
    format!("{number}.example")
}

impl Slab {
    fn open(&self) -> Handle {
        let slab = MappedSlab::builder(self.config).clock(Time);
        Rc::new(slab.capacity(CAPACITY).open(&self.file.0).unwrap())
    }

    fn any(&self) -> Handle {
        let first = Time.random() as usize % 2;
        let handles = self.handles.borrow();
        let open = handles[first].as_ref().or(handles[1 - first].as_ref());
        Rc::clone(open.unwrap())
    }

    /// All slots were taken, those of the first keys at the start.
    fn breaker<'a>(&self, slab: &'a Handle, place: usize) -> SlotBreaker<'a, Time, Nervous> {
        slab.observed(key(place as u64), self.observer).unwrap()
    }

    /// Calls another key, which fails, succeeds, or loses its permit.
    fn misbehave(&self) {
        let mut dice = Dice::new(self.others.get());
        self.others.set(dice.next());
        let other = key(PLACES as u64 + dice.below(KEYS - PLACES as u64));
        let slab = self.any();
        let Ok(breaker) = slab.breaker(other) else {
            return;
        };
        let Ok(permit) = breaker.acquire() else {
            return;
        };
        match dice.below(4) {
            0 => drop(permit.success()),
            1 => drop(permit.failure()),
            2 => forget(permit),
            _ => {}
        }
    }
}

impl Stack for Slab {
    const PLACES: usize = PLACES;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let slab = Self {
            host: host.clone(),
            config: rules(dice),
            observer: Nervous::draw(dice),
            others: Cell::new(dice.next()),
            handles: RefCell::default(),
            file: InFile::next(),
        };
        slab.handles.replace([Some(slab.open()), Some(slab.open())]);
        for place in 0..PLACES {
            drop(slab.breaker(&slab.any(), place));
        }
        slab
    }

    fn bound(&self, calm: &Calm) -> Duration {
        bound_of(&[self.config], calm)
    }

    fn trips(&self) -> Option<Trips> {
        Some(trips_of(&[self.config]))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        self.misbehave();
        let slab = self.any();
        let breaker = self.breaker(&slab, caller.place);
        if caller.ending == Ending::Forgotten {
            forget(breaker.acquire());
            return Answer::Other;
        }
        let call = breaker.call_async_with(outcome, || async {
            if caller.ending.panics() {
                throw();
            }
            self.host.answer().await
        });
        match call.await {
            Ok(_) => Answer::Served,
            Err(CallError::Failed(_)) => Answer::Failed,
            Err(CallError::Rejected(_)) => Answer::Rejected,
        }
    }

    fn look(&self, place: usize) -> Look {
        let slab = self.any();
        Look::of(&slab.get(key(place as u64)).unwrap().snapshot())
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        if dice.percent(60) {
            let number = dice.below(2) as usize;
            let is_open = self.handles.borrow()[number].is_some();
            if is_open {
                // The other one is open, or opened first.
                let other = self.handles.borrow_mut()[1 - number].take();
                self.handles.borrow_mut()[1 - number] = Some(other.unwrap_or_else(|| self.open()));
                self.handles.borrow_mut()[number] = None;
            } else {
                self.handles.borrow_mut()[number] = Some(self.open());
            }
            return false;
        }
        let slab = self.any();
        let breaker = self.breaker(&slab, dice.below(PLACES as u64) as usize);
        // The observer may panic.
        drop(catch_unwind(AssertUnwindSafe(|| command(&breaker, dice))));
        true
    }

    fn settle(&self) {
        for place in 0..PLACES {
            let_go(&self.breaker(&self.any(), place));
        }
    }

    fn describe(&self) -> String {
        let slab = self.any();
        let entries: Vec<_> = slab.entries().collect();
        format!("{entries:?} by {:?}", self.config)
    }
}

#[test]
fn keys_in_a_file_that_is_open_twice() {
    explore::<Slab>("stacks::slab::keys_in_a_file_that_is_open_twice", 20);
}
