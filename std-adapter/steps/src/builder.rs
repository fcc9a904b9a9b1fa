//! What is to be run, and how.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;

use super::engine::{Inner, Steps};
use super::job_observer::JobObserver;
use super::lane::Lane;
use super::notifier::AnyNotifier;
use super::room::Room;
use super::saver::Saver;
use super::under_way::UnderWay;
use super::workflow::{AnyWorkflow, is_name};
use super::{LONGEST_NAME, Notifier, Store, Workflow};

/// What is to be run, and how: made by [`Steps::builder`].
#[must_use]
pub struct StepsBuilder<D> {
    store: D,
    lanes: Vec<Lane>,
    workflows: Vec<Arc<dyn AnyWorkflow>>,
    notifier: Option<Arc<dyn AnyNotifier>>,
    observer: Option<Arc<dyn JobObserver>>,
    times: Times,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) lease: Duration,
    pub(super) limit: Duration,
    pub(super) poll: Duration,
    pub(super) retention: Duration,
    /// How often a worker asks how many jobs there are.
    pub(super) count: Option<Duration>,
}

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl<D: Store> StepsBuilder<D> {
    pub(super) const fn new(store: D) -> Self {
        Self {
            store,
            lanes: Vec::new(),
            workflows: Vec::new(),
            notifier: None,
            observer: None,
            times: Times {
                lease: MINUTE,
                limit: Duration::from_secs(10 * 60),
                poll: Duration::from_secs(1),
                retention: Duration::from_secs(7 * 24 * 60 * 60),
                count: None,
            },
        }
    }

    /// Adds the resource of some steps. Every lane that a workflow names must be added.
    pub fn lane(mut self, lane: Lane) -> Self {
        self.lanes.push(lane);
        self
    }

    /// Makes jobs of this kind known here.
    pub fn workflow<S>(mut self, workflow: &Workflow<S>) -> Self
    where
        S: Serialize + DeserializeOwned + Send + 'static,
    {
        self.workflows.push(Arc::new(workflow.clone()));
        self
    }

    /// Who tells a person about jobs that make no progress; no person is told unless set.
    pub fn notifier(mut self, notifier: impl Notifier) -> Self {
        self.notifier = Some(Arc::new(notifier));
        self
    }

    /// Who is notified of what happens to jobs, such as a log or metrics: a pair for two.
    pub fn observer(mut self, observer: impl JobObserver + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// How long a worker may be silent before its jobs go to others: 1 s to a day, 1 min unless set. Renewed while a
    /// step runs, so it may be shorter than a step.
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.times.lease = lease;
        self
    }

    /// How long a step may take before it counts as failed: 1 ms to 30 days, 10 min unless set.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.times.limit = limit;
        self
    }

    /// How often a lane whose breaker admits asks for jobs that others have kept: 1 ms to an hour, 1 s unless set. Jobs
    /// kept by this process are taken up at once.
    pub const fn poll(mut self, poll: Duration) -> Self {
        self.times.poll = poll;
        self
    }

    /// How long jobs that are done or cancelled are kept, with their history and their keys: 7 days unless set.
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
        let observer = self.observer.unwrap_or_else(|| Arc::new(()));
        times.count = observer.count_every();
        let (second, milli) = (Duration::from_secs(1), Duration::from_millis(1));
        for (time, range, what) in [
            (times.lease, second..=DAY, "a lease outside of 1 s to a day"),
            (
                times.limit,
                milli..=DAY * 30,
                "a time limit outside of 1 ms to 30 days",
            ),
            (
                times.poll,
                milli..=MINUTE * 60,
                "a poll outside of 1 ms to an hour",
            ),
            (
                times.count.unwrap_or(DAY),
                second..=DAY,
                "counting jobs outside of each 1 s to a day",
            ),
        ] {
            if !range.contains(&time) {
                return wrong(format!("{what}: set one within"));
            }
        }
        let mut lanes = HashMap::new();
        for lane in self.lanes {
            check_name(lane.name)?;
            if !(1..=10_000).contains(&lane.at_once) {
                return wrong(format!(
                    "lane {:?} runs no step, or more than 10,000 at once: set `at_once` within",
                    lane.name
                ));
            }
            let name = lane.name;
            if lanes.insert(name, Arc::new(Room::new(lane))).is_some() {
                return wrong(twice(name));
            }
        }
        let mut workflows = HashMap::new();
        for workflow in self.workflows {
            check(&*workflow, &lanes)?;
            let kind = workflow.kind();
            if workflows.insert(kind, workflow).is_some() {
                return wrong(twice(kind));
            }
        }
        let Ok(runtime) = Handle::try_current() else {
            return wrong("steps run within a runtime of tokio: build them in `main` or enter one");
        };
        let store = Arc::new(self.store);
        built(&*observer, &workflows, &lanes);
        Ok(Steps(Arc::new(Inner {
            saver: Saver::new(
                Arc::clone(&store),
                Arc::clone(&observer),
                times.lease,
                &runtime,
            ),
            store,
            lanes,
            workflows,
            notifier: self.notifier,
            times,
            observer,
            called: Arc::new(UnderWay::new()),
            telling: Arc::new(UnderWay::new()),
        })))
    }
}

fn built(
    observer: &dyn JobObserver,
    workflows: &HashMap<&'static str, Arc<dyn AnyWorkflow>>,
    lanes: &HashMap<&'static str, Arc<Room>>,
) {
    let kinds = workflows.iter().flat_map(|(kind, workflow)| {
        let steps = workflow.steps().into_iter();
        steps.map(|(_, lane)| (*kind, lane))
    });
    let mut lanes: Vec<_> = lanes.keys().copied().collect();
    lanes.sort_unstable();
    observer.built(&kinds.collect::<Vec<_>>(), &lanes);
}

fn check(
    workflow: &dyn AnyWorkflow,
    lanes: &HashMap<&'static str, Arc<Room>>,
) -> Result<(), StepsError> {
    let kind = workflow.kind();
    check_name(kind)?;
    if let Err(error) = workflow.schedule().check() {
        return wrong(format!("the schedule of {kind:?}: {error}"));
    }
    let steps = workflow.steps();
    if steps.is_empty() {
        return wrong(format!("workflow {kind:?} has no steps: add one"));
    }
    for (at, (step, lane)) in steps.iter().enumerate() {
        check_name(step)?;
        if steps[..at].iter().any(|(before, _)| before == step) {
            return wrong(twice(step));
        }
        if !lanes.contains_key(lane) {
            return wrong(format!(
                "step {step:?} of {kind:?} needs lane {lane:?}: add `.lane(Lane::new({lane:?}))`"
            ));
        }
    }
    Ok(())
}

fn check_name(name: &'static str) -> Result<(), StepsError> {
    if is_name(name) {
        Ok(())
    } else {
        wrong(format!(
            "{name:?} is kept with jobs: give it 1 to {LONGEST_NAME} bytes, without NUL"
        ))
    }
}

fn twice(name: &str) -> String {
    format!("{name:?} is there twice: rename one of them")
}

impl<D> fmt::Debug for StepsBuilder<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepsBuilder")
            .field("lanes", &self.lanes)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// Why steps cannot be run with these settings, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepsError(String);

impl fmt::Display for StepsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for StepsError {}

/// An error with this text.
fn wrong<T>(words: impl Into<String>) -> Result<T, StepsError> {
    Err(StepsError(words.into()))
}
