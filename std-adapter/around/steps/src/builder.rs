// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work to be run, and the rules for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::database::Database;
use super::error::wrong;
use super::in_progress::UnderWay;
use super::inner::{Inner, Times};
use super::job_observer::Observers;
use super::notifier::AnyNotifier;
use super::room::Room;
use super::saver::Saver;
use super::watched::WatchedJobs;
use super::workflow::Plan;
use super::{JobObserver, LONGEST_NAME, Lane, Notifier, Steps, StepsError, Store, Workflow};

/// The work to be run, and the rules for it: made by [`Steps::builder`].
#[must_use]
pub struct StepsBuilder<D> {
    store: D,
    lanes: Vec<Lane>,
    workflows: Vec<Plan>,
    notifier: Option<Arc<dyn AnyNotifier>>,
    observers: Observers,
    times: Times,
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl<D: Store> Steps<D> {
    /// Starts from a store, without lanes or workflows yet.
    pub const fn builder(store: D) -> StepsBuilder<D> {
        StepsBuilder {
            store,
            lanes: Vec::new(),
            workflows: Vec::new(),
            notifier: None,
            observers: Observers(Vec::new()),
            times: Times {
                lease: MINUTE,
                limit: Duration::from_secs(10 * 60),
                poll: Duration::from_secs(1),
                retention: Duration::from_secs(7 * 24 * 60 * 60),
                count: None,
            },
        }
    }
}

impl<D: Store> StepsBuilder<D> {
    /// Adds the resource of some steps. Every lane that a workflow names must be added.
    pub fn lane(mut self, lane: Lane) -> Self {
        self.lanes.push(lane);
        self
    }

    /// Makes jobs of this kind known here.
    pub fn workflow<S>(mut self, workflow: &Workflow<S>) -> Self {
        self.workflows.push(workflow.plan.clone());
        self
    }

    /// Sets the notifier that tells a person about jobs that make no progress; no person is notified unless set. Set it
    /// for all workers of a store.
    pub fn notifier(mut self, notifier: impl Notifier) -> Self {
        self.notifier = Some(Arc::new(notifier));
        self
    }

    /// Adds an observer of what happens to jobs, such as a log or metrics.
    pub fn observer(mut self, observer: impl JobObserver + 'static) -> Self {
        self.observers.0.push(Box::new(observer));
        self
    }

    /// Sets the time for which a worker may be silent before its jobs go to others: 1 s to a day, 1 min unless set.
    /// Renewed while a step runs, so it may be shorter than a step.
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.times.lease = lease;
        self
    }

    /// Sets the time that a step may take before it counts as failed: 1 ms to 30 days, 10 min unless set. A step that
    /// is the probe of its lane's breaker holds its slot for as long as it runs, and other callers are rejected
    /// meanwhile: give its calls shorter limits of their own.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.times.limit = limit;
        self
    }

    /// Sets the interval at which a lane whose breaker admits asks for jobs that others have kept: 1 ms to an hour, 1 s
    /// unless set. Jobs kept by this process are taken up at once.
    pub const fn poll(mut self, poll: Duration) -> Self {
        self.times.poll = poll;
        self
    }

    /// Sets the time for which jobs that are done or cancelled are kept, with their history and their keys: 7 days
    /// unless set.
    pub const fn retention(mut self, retention: Duration) -> Self {
        self.times.retention = retention;
        self
    }

    /// Builds the steps. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`StepsError`] says what is wrong.
    pub fn build(self) -> Result<Steps<D>, StepsError> {
        let mut times = self.times;
        let observers = self.observers;
        let counts = observers.0.iter().filter_map(|it| it.count_every());
        times.count = counts.min();
        let (second, milli) = (Duration::from_secs(1), Duration::from_millis(1));
        let (a_lease, a_limit) = ("a lease of 1 s to a day", "a time limit of 1 ms to 30 days");
        let (a_poll, counting) = ("a poll of 1 ms to an hour", "counting each 1 s to a day");
        for (time, range, what) in [
            (times.lease, second..=DAY, a_lease),
            (times.limit, milli..=DAY * 30, a_limit),
            (times.poll, milli..=MINUTE * 60, a_poll),
            (times.count.unwrap_or(DAY), second..=DAY, counting),
        ] {
            if !range.contains(&time) {
                return wrong(format!("{time:?} is out of range: set {what}"));
            }
        }
        let mut lanes = HashMap::new();
        for lane in self.lanes {
            check_name(lane.name)?;
            if !(1..=10_000).contains(&lane.at_once) {
                return wrong(format!(
                    "lane {:?} must run from 1 to 10,000 steps at once: change `at_once`",
                    lane.name
                ));
            }
            let name = lane.name;
            if lanes.insert(name, Arc::new(Room::new(lane))).is_some() {
                return wrong(twice(name));
            }
        }
        let mut workflows = HashMap::new();
        for plan in self.workflows {
            check(&plan, &lanes)?;
            let kind = plan.kind;
            if workflows.insert(kind, plan).is_some() {
                return wrong(twice(kind));
            }
        }
        let Ok(runtime) = Handle::try_current() else {
            return wrong("steps run within a runtime of tokio: build them in `main` or enter one");
        };
        built(&observers, &workflows, &lanes);
        let store = self.store;
        let database = Arc::new(Database { store, observers });
        Ok(Steps(Arc::new(Inner {
            saver: Saver::new(Arc::clone(&database), times.lease, &runtime),
            database,
            lanes,
            workflows,
            notifier: self.notifier,
            times,
            called: Arc::new(UnderWay::new()),
            telling: Arc::new(UnderWay::new()),
            watched: WatchedJobs::new(),
        })))
    }
}

fn built(
    observers: &Observers,
    workflows: &HashMap<&'static str, Plan>,
    lanes: &HashMap<&'static str, Arc<Room>>,
) {
    let kinds = workflows.values().flat_map(|plan| {
        let steps = plan.steps.iter();
        steps.map(|step| (plan.kind, step.lane))
    });
    let kinds: Vec<_> = kinds.collect();
    let mut lanes: Vec<_> = lanes.keys().copied().collect();
    lanes.sort_unstable();
    observers.each(|it| it.built(&kinds, &lanes));
}

fn check(plan: &Plan, lanes: &HashMap<&'static str, Arc<Room>>) -> Result<(), StepsError> {
    let kind = plan.kind;
    check_name(kind)?;
    if let Err(error) = plan.schedule.check() {
        return wrong(format!("the schedule of {kind:?}: {error}"));
    }
    if plan.steps.is_empty() {
        return wrong(format!("workflow {kind:?} has no steps: add one"));
    }
    for (at, step) in plan.steps.iter().enumerate() {
        let (name, lane) = (step.name, step.lane);
        check_name(name)?;
        if plan.steps[..at].iter().any(|before| before.name == name) {
            return wrong(twice(name));
        }
        if !lanes.contains_key(lane) {
            return wrong(format!(
                "step {name:?} of {kind:?} needs lane {lane:?}: add `.lane(Lane::new({lane:?}))`"
            ));
        }
    }
    Ok(())
}

fn check_name(name: &'static str) -> Result<(), StepsError> {
    if (1..=LONGEST_NAME).contains(&name.len()) && !name.contains('\0') {
        return Ok(());
    }
    let fix = format!("give it 1 to {LONGEST_NAME} bytes, without NUL");
    wrong(format!("{name:?} is kept with jobs: {fix}"))
}

fn twice(name: &str) -> String {
    format!("{name:?} is used twice: rename one of them")
}

impl<D> fmt::Debug for StepsBuilder<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepsBuilder")
            .field("lanes", &self.lanes)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}
