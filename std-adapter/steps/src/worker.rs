//! Claims the jobs of each lane that are due, as many as its breaker admits.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_resource::{Rejection, State};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::engine::Inner;
use super::job_observer::Asked;
use super::room::{Full, Room, Start};
use super::store::{Store, StoreError};
use super::under_way::UnderWay;

/// How many are claimed at a time, at most.
const TOGETHER: usize = 64;

/// How many jobs are forgotten, or wait again, at a time.
const AT_A_TIME: u32 = 1_000;

/// The longest pause before a store that failed is asked again, unless jobs are polled less often.
const ASKED_AGAIN: Duration = Duration::from_secs(30);

/// Roughly how often old jobs are forgotten, and parked ones looked for.
const HOUSE: Duration = Duration::from_secs(600);

/// Jobs that were parked more recently are left alone, so that many workers do not keep one being tried all the time.
const PARKED: Duration = Duration::from_secs(300);

/// Works until it is stopped or dropped. Steps running when it is dropped run to their end.
#[derive(Debug)]
#[must_use = "dropping it stops it"]
pub struct Worker {
    /// Each of its tasks holds a receiver until it has stopped.
    is_stopped: watch::Sender<bool>,
    /// The work it has claimed.
    claimed: Arc<UnderWay>,
    called: Arc<UnderWay>,
    telling: Arc<UnderWay>,
}

impl Worker {
    pub(super) fn new<D: Store>(inner: &Arc<Inner<D>>) -> Self {
        let (is_stopped, stops) = watch::channel(false);
        let claimed = Arc::new(UnderWay::new());
        for room in inner.lanes.values() {
            let (inner, room) = (Arc::clone(inner), Arc::clone(room));
            tokio::spawn(work(inner, room, stops.clone(), Arc::clone(&claimed)));
        }
        if let Some(each) = inner.times.count {
            let counts = count(Arc::clone(inner), each);
            tokio::spawn(until_stopped(stops.clone(), counts));
        }
        tokio::spawn(until_stopped(stops, keep_house(Arc::clone(inner))));
        Self {
            is_stopped,
            claimed,
            called: Arc::clone(&inner.called),
            telling: Arc::clone(&inner.telling),
        }
    }

    /// Stops claiming, and waits until the steps that run have ended, including those that were
    /// [run](super::Steps::run), [called](super::Steps::call_or_keep) or sent through a `KeepLayer` here before, and
    /// until the messages to a person about them are sent. If this future is dropped, they run on.
    pub async fn stop(self) {
        self.stop_within(Duration::MAX).await;
    }

    /// Like [`stop`](Self::stop), but work that has not ended within this time is dropped where it stands: its job is
    /// due at once, for any worker, and that was no try; the same applies to a call or request, which is kept. For a
    /// process that was told to exit. While the store does not answer, it takes longer, by a lease or two.
    pub async fn stop_within(self, time: Duration) {
        self.is_stopped.send_replace(true);
        let before = self.called.until_now();
        let ended = || async {
            self.is_stopped.closed().await;
            self.claimed.ended().await;
            before.ended().await;
        };
        let told = async {
            ended().await;
            self.telling.until_now().ended().await;
        };
        if timeout(time, told).await.is_err() {
            self.claimed.give_up();
            before.give_up();
            ended().await;
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.is_stopped.send_replace(true);
    }
}

async fn until_stopped(mut stops: watch::Receiver<bool>, work: impl Future<Output = ()>) {
    tokio::select! {
        // The sender is gone when the worker is.
        _ = stops.wait_for(|is_stopped| *is_stopped) => {}
        () = work => {}
    }
}

/// Stops between two claims only: jobs that were claimed are run.
async fn work<D: Store>(
    inner: Arc<Inner<D>>,
    room: Arc<Room>,
    stops: watch::Receiver<bool>,
    claimed: Arc<UnderWay>,
) {
    let mut failures = 0;
    let mut lends = true;
    // The worker itself holds the sender until it stops.
    while !*stops.borrow() && stops.has_changed().is_ok() {
        let (starts, full) = starts(&room);
        let wanted = starts.len();
        let mut pause = None;
        if wanted > 0 {
            if let Ok((next, gave_back)) = claim(&inner, &room, starts, lends, &claimed).await {
                failures = 0;
                pause = next;
                // Calls in quick succession must not keep a job waiting forever.
                lends = !gave_back;
            } else {
                failures += 1;
                let longest = inner.times.poll.max(ASKED_AGAIN);
                pause = Some((inner.times.poll * failures.min(30)).min(longest));
            }
        }
        let poll = spread(inner.times.poll);
        let pauses = async {
            match (pause, full) {
                // There may be more, and there is room.
                (None, None) if wanted > 0 => {}
                (None, Some(Full::Room)) => room.has_room().await,
                (None, Some(Full::Rejected(rejection))) => {
                    sleep(until_asked_again(&rejection, poll)).await;
                }
                (pause, _) => {
                    let pause = pause.unwrap_or(poll).max(Duration::from_millis(1));
                    let _ = timeout(pause, room.came.notified()).await;
                }
            }
        };
        until_stopped(stops.clone(), pauses).await;
    }
}

/// While traffic returns, a share of calls passes: ask often, not only at the end of the return.
const RETURNING: Duration = Duration::from_millis(100);

fn until_asked_again(rejection: &Rejection, poll: Duration) -> Duration {
    let longest = match rejection.state() {
        State::Returning => poll.min(RETURNING),
        _ => poll,
    };
    let wait = rejection.retry_in().unwrap_or(longest);
    wait.max(Duration::from_millis(10)).min(longest)
}

/// As many jobs as may start, and why not more.
fn starts(room: &Room) -> (Vec<Start>, Option<Full>) {
    let mut starts = Vec::new();
    let mut why = None;
    for _ in 0..TOGETHER.min(room.lane.at_once as usize) {
        match room.start() {
            Ok(start) => starts.push(start),
            // One is rejected, but the next may pass.
            Err(Full::Rejected(rejection)) if rejection.state() == State::Returning => {
                why = Some(Full::Rejected(rejection));
            }
            Err(full) => return (starts, Some(full)),
        }
    }
    (starts, why)
}

/// Claims as many as may start, and starts them. The rest is given back at once. Returns when the next one is due, if
/// there were fewer, and whether one was given back.
///
/// Meanwhile what it `lends` goes to steps that are ready to run: a store may take long.
async fn claim<D: Store>(
    inner: &Arc<Inner<D>>,
    room: &Room,
    starts: Vec<Start>,
    lends: bool,
    under_way: &UnderWay,
) -> Result<(Option<Duration>, bool), StoreError> {
    let most = starts.len();
    let held = if lends {
        room.lend(starts);
        None
    } else {
        Some(starts)
    };
    let (lane, lease) = (room.lane.name, inner.times.lease);
    let store = &inner.store;
    let claim = store.ask(Asked::Claim, |it| it.claim(lane, most as u32, lease));
    let claim = claim.await;
    let held = held.unwrap_or_else(|| room.take_back(most));
    let claim = claim?;
    let fewer = claim.jobs.len() < most;
    let mut gave_back = false;
    let mut starts = held.into_iter().filter_map(|start| room.again(start).ok());
    for claimed in claim.jobs {
        let start = starts.next();
        gave_back |= start.is_none();
        let (inner, one) = (Arc::clone(inner), under_way.begin());
        tokio::spawn(async move { inner.run(start, claimed, &one.part).await });
    }
    let poll = spread(inner.times.poll);
    let next = fewer.then(|| claim.next_due.map_or(poll, |due| due.min(poll)));
    Ok((next, gave_back))
}

/// Up to a tenth sooner or later, so that workers do not ask in lockstep.
fn spread(time: Duration) -> Duration {
    time.mul_f64(0.9 + 0.2 * fastrand::f64())
}

/// Parked jobs that are known here wait again; old ones are forgotten. Whatever the store fails to do is left for the
/// next time.
async fn keep_house<D: Store>(inner: Arc<Inner<D>>) {
    // Other workers may have just parked jobs that this one knows.
    let mut parked_before = Duration::ZERO;
    loop {
        unpark(&inner, parked_before).await;
        parked_before = PARKED;
        let (store, age) = (&inner.store, inner.times.retention);
        all(|| store.ask(Asked::Forget, |it| it.forget(age, AT_A_TIME))).await;
        sleep(spread(HOUSE)).await;
    }
}

/// As long as there are more.
async fn all<F: Future<Output = Result<u64, StoreError>>>(some: impl Fn() -> F) {
    while matches!(some().await, Ok(many) if many == u64::from(AT_A_TIME)) {}
}

async fn unpark<D: Store>(inner: &Inner<D>, parked_before: Duration) {
    // Without those that are parked again meanwhile.
    let began = Instant::now();
    for plan in inner.workflows.values() {
        let steps: Vec<_> = plan.steps.iter().map(|step| step.name).collect();
        let unpark = || {
            let before = parked_before + began.elapsed();
            let steps = &steps;
            inner.store.ask(Asked::Unpark, move |store| {
                store.unpark(plan.kind, steps, before, AT_A_TIME)
            })
        };
        all(unpark).await;
    }
}

/// Asks repeatedly how many jobs there are. An answer is valid until two have been missed.
async fn count<D: Store>(inner: Arc<Inner<D>>, each: Duration) {
    loop {
        let began = Instant::now();
        if let Ok(counts) = inner.store.ask(Asked::Counts, D::counts).await {
            let valid_for = (each + began.elapsed()) * 3;
            inner.observe(|it| it.counted(&counts, valid_for));
        }
        sleep(spread(each)).await;
    }
}
