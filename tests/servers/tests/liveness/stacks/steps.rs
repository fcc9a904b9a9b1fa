// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that are kept while their resource is unhealthy, and done by workers that are killed, stopped, or cut off from
//! the store for a while. The breaker guards their steps, or the calls within these.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Clock, Config};
use atomic_breaker_server::{CallError, word::NativeWord};
use atomic_breaker_steps::{
    Filter, Lane, MemoryStore, Ran, Schedule, Status, StepContext, StepError, Steps, Store, Worker,
    Workflow,
};
use tokio::task::spawn_local;

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::{Host, Trouble};
use crate::rules::{bound_of, command, let_go, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Look, Nervous, Stack, Trips, outcome, throw};
use test_support::faulty_store::{Fault, FaultyStore};

type Shared = Arc<Breaker<Time, NativeWord, (), Nervous>>;

const LEASE: Duration = Duration::from_secs(5);
/// The longest time for which the resource may ask to be left alone.
const LONGEST_ASKED: Duration = Duration::from_secs(31);
/// Concurrent steps: more than begin during one response.
const AT_ONCE: u32 = 64;
/// No more jobs are kept while this many wait.
const MOST: u64 = 150;
const PROCESSES: usize = 2;

/// The results of the steps.
#[derive(Clone)]
struct Seen {
    breaker: Shared,
    count: Arc<Mutex<Count>>,
}

#[derive(Default)]
struct Count {
    jobs: HashMap<String, Tried>,
    /// The number of consecutive steps that failed in this epoch while the breaker was closed.
    in_a_row: u32,
    epoch: u16,
}

#[derive(Default)]
struct Tried {
    panics: bool,
    failed: u32,
}

impl Seen {
    async fn step(self, host: Host, key: String) -> Result<u32, StepError> {
        self.call(host, key).await.map_err(step_error)
    }

    /// The same, through the breaker.
    async fn step_within(self, host: Host, key: String) -> Result<u32, StepError> {
        let breaker = Arc::clone(&self.breaker);
        let call = breaker.call_async_with(outcome, || self.call(host, key));
        call.await.map_err(|error| match error {
            CallError::Rejected(rejected) => StepError::from(rejected),
            CallError::Failed(trouble) => step_error(trouble),
        })
    }

    async fn call(self, host: Host, key: String) -> Result<u32, Trouble> {
        if self.panics(&key) {
            throw();
        }
        let before = Look::of(&self.breaker.snapshot());
        let answer = host.answer().await;
        if answer.is_ok() {
            self.count.lock().unwrap().in_a_row = 0;
        } else {
            self.failed(key, before);
        }
        answer
    }

    fn panics(&self, key: &str) -> bool {
        let jobs = &mut self.count.lock().unwrap().jobs;
        let tried = jobs.entry(key.to_owned()).or_default();
        let panics = std::mem::take(&mut tried.panics) && Nervous::is_allowed();
        tried.failed += u32::from(panics);
        panics
    }

    /// Results from an earlier epoch do not count, as in the breaker.
    fn failed(&self, key: String, before: Look) {
        let look = Look::of(&self.breaker.snapshot());
        let count = &mut *self.count.lock().unwrap();
        count.jobs.entry(key).or_default().failed += 1;
        if !look.is_closed || look.epoch != count.epoch {
            (count.epoch, count.in_a_row) = (look.epoch, 0);
        }
        count.in_a_row += u32::from(look == before);
    }
}

fn step_error(Trouble { retry_after }: Trouble) -> StepError {
    match retry_after {
        Some(time) => StepError::retry_after(time, "busy"),
        None => StepError::from("no answer"),
    }
}

struct Process {
    store: FaultyStore,
    steps: Steps<FaultyStore>,
    worker: Cell<Option<Worker>>,
}

struct Jobs<const WITHIN: bool> {
    seen: Seen,
    config: Config,
    store: MemoryStore,
    workflow: Workflow<u32>,
    processes: RefCell<Vec<Rc<Process>>>,
    next: Cell<u32>,
}

impl<const WITHIN: bool> Jobs<WITHIN> {
    fn start(&self) -> Rc<Process> {
        let store = FaultyStore::to(&self.store);
        let (lane, breaker) = (Lane::new("lane"), Arc::clone(&self.seen.breaker));
        let lane = if WITHIN {
            lane.guarded_within(breaker)
        } else {
            lane.guarded(breaker)
        };
        let steps = Steps::builder(store.clone())
            .lane(lane.at_once(AT_ONCE))
            .workflow(&self.workflow)
            .lease(LEASE)
            .build()
            .unwrap();
        Rc::new(Process {
            store,
            worker: Cell::new(Some(steps.work())),
            steps,
        })
    }

    /// For jobs that are done, no rejection was charged as a try. They are forgotten.
    async fn check_tries(&self) {
        let filter = Filter::new().status(Status::Done);
        for job in self.store.list(&filter, u32::MAX).await.unwrap() {
            let history = self.store.history(job.id).await.unwrap();
            let charged = history.iter().filter(|failed| {
                // The job may have been started by a worker that was killed, and an observer may panic in a call within
                // the step.
                let is_excused = failed.error.contains("was lost")
                    || WITHIN && failed.error.contains("panicked");
                failed.failures > 0 && !is_excused
            });
            let tried = self.seen.count.lock().unwrap().jobs[&job.key].failed;
            assert!(charged.count() <= tried as usize, "{tried}: {history:?}");
        }
        self.store.forget(Duration::ZERO, u32::MAX).await.unwrap();
    }
}

impl Process {
    fn disturb(&self, dice: &mut Dice) {
        match dice.below(5) {
            0 => self.store.set(Some(Fault::Fails(dice.ms(0..3_000)))),
            1 => self.store.set(Some(Fault::Late(dice.ms(0..8_000)))),
            2 => self.store.set(None),
            3 => {
                if let Some(worker) = self.worker.take() {
                    spawn_local(worker.stop_within(dice.ms(0..3_000)));
                }
            }
            _ => self.worker.set(Some(self.steps.work())),
        }
    }
}

impl<const WITHIN: bool> Stack for Jobs<WITHIN> {
    /// Workers poll periodically.
    const IS_IDLE: bool = false;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let config = rules(dice);
        let observer = Nervous::draw(dice);
        let breaker = Breaker::builder(config, Time).observer(observer).build();
        let seen = Seen {
            breaker: Arc::new(breaker),
            count: Arc::default(),
        };
        let schedule = Schedule::new()
            .first(dice.ms(100..1_000))
            .longest(LONGEST_ASKED / 10)
            .tries(100_000);
        let (counts, host) = (seen.clone(), host.clone());
        let step = move |_, context: StepContext| {
            let (seen, host, key) = (counts.clone(), host.clone(), context.key);
            async move {
                if WITHIN {
                    seen.step_within(host, key).await
                } else {
                    seen.step(host, key).await
                }
            }
        };
        let jobs = Self {
            seen,
            config,
            store: MemoryStore::new(),
            workflow: Workflow::new("kind")
                .schedule(schedule)
                .step_in_context("only", "lane", step),
            processes: RefCell::default(),
            next: Cell::new(0),
        };
        let processes = (0..PROCESSES).map(|_| jobs.start()).collect();
        jobs.processes.replace(processes);
        jobs
    }

    /// Until the breaker admits calls; then waiting jobs are due, or return when the lease of a killed worker has
    /// ended; a store that failed is called again after half a minute at most; and `MOST` jobs are done beside the new
    /// ones.
    fn bound(&self, calm: &Calm) -> Duration {
        let beside = Duration::from_secs(1) / AT_ONCE;
        let each = beside.max(calm.answers_after.saturating_sub(calm.gap) / AT_ONCE);
        let drained = 4 * MOST as u32 * each;
        let comes_back = LONGEST_ASKED.max(2 * LEASE) + Duration::from_secs(33);
        bound_of(&[self.config], calm) + comes_back + drained
    }

    /// Workers make calls as well as callers: `Seen` counts both.
    fn trips(&self) -> Option<Trips> {
        None
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        let most = trips_of(&[self.config]).after + 2 * AT_ONCE;
        let in_a_row = self.seen.count.lock().unwrap().in_a_row;
        assert!(
            in_a_row <= most,
            "{in_a_row} steps failed in a row, and it has not tripped: {}",
            self.describe()
        );
        if self.next.get().is_multiple_of(100) {
            self.check_tries().await;
        }
        let counts = self.store.counts().await.unwrap();
        if counts.of(Status::Waiting) >= MOST {
            return Answer::Other;
        }
        let key = self.next.replace(self.next.get() + 1).to_string();
        let tried = Tried {
            panics: caller.ending.panics(),
            failed: 0,
        };
        let count = Arc::clone(&self.seen.count);
        count.lock().unwrap().jobs.insert(key.clone(), tried);
        let process = Rc::clone(&self.processes.borrow()[Time.random() as usize % PROCESSES]);
        match process.steps.run(&self.workflow, &key, &7).await {
            Ok(Ran::Done(_)) => Answer::Served,
            Ok(Ran::Later { .. }) if count.lock().unwrap().jobs[&key].failed > 0 => Answer::Failed,
            Ok(Ran::Later { .. }) => Answer::Rejected,
            Ok(Ran::Ended { .. }) | Err(_) => Answer::Other,
        }
    }

    fn look(&self, _: usize) -> Look {
        Look::of(&self.seen.breaker.snapshot())
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        let number = dice.below(PROCESSES as u64) as usize;
        match dice.below(4) {
            0 => {
                // The observer may panic.
                let command = || command(&*self.seen.breaker, dice);
                drop(catch_unwind(AssertUnwindSafe(command)));
                self.seen.count.lock().unwrap().in_a_row = 0;
            }
            1 => {
                // It is killed as far as the store can tell, and another one starts.
                let killed = self.processes.borrow_mut()[number].store.clone();
                killed.set(Some(Fault::Error("killed".to_owned())));
                self.processes.borrow_mut()[number] = self.start();
            }
            _ => {
                let process = Rc::clone(&self.processes.borrow()[number]);
                process.disturb(dice);
            }
        }
        true
    }

    fn settle(&self) {
        let_go(&*self.seen.breaker);
        for process in &*self.processes.borrow() {
            process.store.set(None);
            process.worker.set(Some(process.steps.work()));
        }
    }

    fn describe(&self) -> String {
        format!("{:?} by {:?}", self.seen.breaker.snapshot(), self.config)
    }

    /// Every job must be done.
    async fn finish(&self) {
        self.check_tries().await;
        let left = self.store.counts().await.unwrap();
        assert_eq!(left.jobs, [], "{}", self.describe());
    }
}

#[test]
fn jobs_that_workers_do() {
    explore::<Jobs<false>>("stacks::steps::jobs_that_workers_do", 10);
}

#[test]
fn jobs_whose_steps_call_through_the_breaker_of_their_lane() {
    let test = "stacks::steps::jobs_whose_steps_call_through_the_breaker_of_their_lane";
    explore::<Jobs<true>>(test, 10);
}
