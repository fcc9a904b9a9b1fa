// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances that learn from each other's trips. Their engine is stopped, cut off, emptied, or reverts to older data;
//! instances are killed, restart, or leave.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined, Seat, contract::Ledger};
use atomic_breaker_http::{Breaker, Clock, Config};
use atomic_breaker_server::{TokioTimer, wait::HasTimer, word::NativeWord};

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, LIMIT as CALL_LIMIT};
use crate::rules::{bound_of, command, let_go, open_of, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Look, Nervous, Stack, Trips, call_through};

const INSTANCES: usize = 3;
const POLL: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_millis(250);

/// A clock that is ahead of those of the others.
#[derive(Clone, Copy, Debug)]
struct Ahead(u32);

impl Clock for Ahead {
    fn now_ms(&self) -> u32 {
        Time.now_ms().wrapping_add(self.0)
    }

    fn entropy(&self) -> u32 {
        self.0
    }

    fn random(&self) -> u32 {
        Time.random()
    }
}

impl HasTimer for Ahead {
    type Timer = TokioTimer;

    fn timer(&self) -> TokioTimer {
        TokioTimer
    }
}

type Shared = Arc<Breaker<Ahead, NativeWord, (), (Seat, Nervous)>>;

struct Instance {
    /// `None` after it has left.
    joined: Option<Joined>,
    breaker: Shared,
    /// The number of times that it was started.
    starts: u16,
}

struct Fleet {
    host: Host,
    engine: InProcess,
    config: Config,
    quorum: u32,
    /// Callers wait until they are admitted, and so none is rejected.
    waits: bool,
    observer: Nervous,
    instances: RefCell<Vec<Instance>>,
    older: RefCell<Option<Ledger>>,
}

impl Fleet {
    fn start(&self, number: usize, starts: u16) -> Instance {
        let fleet = FleetConfig::new(self.quorum).time_limit(LIMIT).poll(POLL);
        let fleet = fleet.instance(["a", "b", "c"][number]);
        let joined = Joined::new(self.engine.clone(), fleet).unwrap();
        let seat = joined.seat("payments").unwrap();
        let breaker = Breaker::builder(self.config, Ahead(number as u32 * 3_600_000))
            .observer((seat.clone(), self.observer))
            .build();
        let breaker = Arc::new(breaker);
        assert!(seat.take(Arc::clone(&breaker)));
        Instance {
            joined: Some(joined),
            breaker,
            starts,
        }
    }

    fn breaker(&self, number: usize) -> Shared {
        Arc::clone(&self.instances.borrow()[number].breaker)
    }

    fn disturb_engine(&self, dice: &mut Dice) {
        match dice.below(8) {
            0 => self.engine.cut(),
            1 | 2 => self.engine.mend(),
            3 => self.engine.hang(true),
            4 => self.engine.hang(false),
            5 => self.engine.flush(),
            6 => drop(self.older.replace(Some(self.engine.replica()))),
            _ => {
                if let Some(older) = self.older.take() {
                    self.engine.fail_over(older);
                }
            }
        }
    }
}

impl Stack for Fleet {
    const PLACES: usize = INSTANCES;
    /// It polls periodically.
    const IS_IDLE: bool = false;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let fleet = Self {
            host: host.clone(),
            engine: InProcess::new(),
            config: rules(dice),
            quorum: dice.within(1..INSTANCES as u32 + 1),
            waits: dice.below(3) == 0,
            observer: Nervous::draw(dice),
            instances: RefCell::default(),
            older: RefCell::default(),
        };
        let instances = (0..INSTANCES).map(|number| fleet.start(number, 0));
        fleet.instances.replace(instances.collect());
        fleet
    }

    /// Beside the breaker's own bound, as the page on fleets says: two graces, and a poll for lost messages; another
    /// period and grace for an earlier probe that failed; and two more calls if calls are rare. Callers that wait return two
    /// seconds later; one that began before the calm may be the probe.
    fn bound(&self, calm: &Calm) -> Duration {
        let open = open_of(&[self.config]);
        let grace = (open / 10).max(4 * LIMIT);
        let waits = if self.waits {
            Duration::from_secs(2) + CALL_LIMIT
        } else {
            Duration::ZERO
        };
        // Others have their turn first.
        let turns = if calm.looks { 18 } else { 0 };
        bound_of(&[self.config], calm) + open + (3 + turns) * grace + POLL + 2 * calm.gap + waits
    }

    fn trips(&self) -> Option<Trips> {
        Some(trips_of(&[self.config]))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        let breaker = self.breaker(caller.place);
        if self.waits {
            breaker.ready().await;
        }
        call_through(&breaker, &self.host, caller).await
    }

    /// A restarted process has other epochs.
    fn look(&self, place: usize) -> Look {
        let instance = &self.instances.borrow()[place];
        let look = Look::of(&instance.breaker.snapshot());
        Look {
            epoch: look.epoch.wrapping_add(instance.starts.wrapping_mul(4_999)),
            ..look
        }
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        let number = dice.below(INSTANCES as u64) as usize;
        match dice.below(10) {
            0..6 => self.disturb_engine(dice),
            6 => {
                let starts = self.instances.borrow()[number].starts + 1;
                self.instances.borrow_mut()[number] = self.start(number, starts);
            }
            7 => self.instances.borrow_mut()[number].joined = None,
            _ => {
                // The observer may panic.
                let breaker = self.breaker(number);
                drop(catch_unwind(AssertUnwindSafe(|| command(&*breaker, dice))));
            }
        }
        true
    }

    /// An instance that has left goes on alone.
    fn settle(&self) {
        self.engine.mend();
        self.engine.hang(false);
        for instance in &*self.instances.borrow() {
            let_go(&*instance.breaker);
        }
    }

    fn describe(&self) -> String {
        let instances = self.instances.borrow();
        let each = instances.iter().map(|instance| {
            let status = instance.joined.as_ref().map(Joined::status);
            format!("{:?} {status:?}", instance.breaker.snapshot())
        });
        let each: Vec<_> = each.collect();
        format!("{each:#?} by {:?}, quorum {}", self.config, self.quorum)
    }
}

#[test]
fn instances_of_a_fleet() {
    explore::<Fleet>("stacks::fleet::instances_of_a_fleet", 20);
}
