//! How the metrics reach the recorder.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use atomic_breaker::{Cause, State};
use metrics::Recorder;

use super::counts::End;
use super::meter::{self, Meter};
use super::series::{self, Series};
use super::text::{Mode, cause_name, state_name};

/// Passes everything that `BreakerMetrics`, `RegistryMetrics` and `JobMetrics` have counted to the recorder of the
/// `metrics` facade: call it for each scrape, before the recorder renders its page. Where that is not possible, use
/// [`publish_each_second`].
///
/// Counters are set to their sums since the start. So it does not matter when the recorder was installed, how often
/// this is called, or whether several threads call it at the same time; counts from threads that have ended are kept.
/// Calls made meanwhile do not wait.
///
/// A new key of a registry is passed as zero the first time, then with its counts: a rate needs to see a counter rise.
/// (If two servers scrape in turn, only one sees the zero.)
///
/// ```
/// use atomic_breaker_std::observe;
/// use metrics_exporter_prometheus::PrometheusHandle;
///
/// /// Answers `GET /metrics`.
/// async fn page(prometheus: PrometheusHandle) -> String {
///     observe::publish();
///     prometheus.render()
/// }
/// ```
///
/// # Panics
/// If the recorder does.
pub fn publish() {
    publish_after(Duration::ZERO);
}

/// Starts a thread that [publishes](publish()) each second until the process ends: for recorders that serve scrapes
/// themselves, and for those that push. `scrape_interval` is the time between two scrapes; a new key of a registry
/// stays at zero for that long. A second call sets the new interval and starts no other thread. A forked process has
/// only its first thread, so each forked worker must call this itself.
///
/// ```no_run
/// use atomic_breaker_std::observe;
/// use std::time::Duration;
///
/// // PrometheusBuilder::new().install()?;
/// observe::publish_each_second(Duration::from_secs(15))?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the system cannot start a thread.
pub fn publish_each_second(scrape_interval: Duration) -> io::Result<()> {
    // The process whose thread is running.
    static RUNNING_IN: Mutex<Option<u32>> = Mutex::new(None);
    static INTERVAL_MS: AtomicU64 = AtomicU64::new(0);

    let ms = u64::try_from(scrape_interval.as_millis()).unwrap_or(u64::MAX);
    // A setting on which no other memory depends.
    INTERVAL_MS.store(ms, Ordering::Relaxed);
    let mut running_in = RUNNING_IN.lock().unwrap_or_else(PoisonError::into_inner);
    let this = Some(process::id());
    if *running_in != this {
        let publishing = || loop {
            let interval = Duration::from_millis(INTERVAL_MS.load(Ordering::Relaxed));
            // The panic of a recorder has already been reported; try again in the next second.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| publish_after(interval)));
            thread::sleep(Duration::from_secs(1));
        };
        thread::Builder::new()
            .name("breaker-metrics".to_owned())
            .spawn(publishing)?;
        *running_in = this;
    }
    Ok(())
}

/// Publishes once; new keys stay at zero for that interval.
fn publish_after(interval: Duration) {
    // No lock is held while the recorder is called, because it may be slow, or use a breaker.
    let meters = meter::all();
    metrics::with_recorder(|recorder| {
        series::describe(recorder);
        for meter in &meters {
            publish_meter(recorder, meter, interval);
        }
        #[cfg(feature = "steps")]
        {
            series::describe_jobs(recorder);
            for meter in super::job_meter::all() {
                super::publish_jobs::publish(recorder, &meter);
            }
        }
    });
}

fn publish_meter(recorder: &dyn Recorder, meter: &Meter, interval: Duration) {
    let series = Series {
        recorder,
        meter: &meter.name,
    };
    for end in End::ALL {
        let labels = [(series::OUTCOME, end.name().into())];
        series.counter(series::CALLS, labels, meter.counts.sum(end));
    }
    for mode in Mode::ALL {
        let labels = [(series::ENFORCEMENT, mode.name().into())];
        series.counter(series::REJECTIONS, labels, meter.rejections(mode));
    }
    for to in 0..=State::ALL.len() {
        for why in 0..=Cause::ALL.len() {
            let (state, cause) = (State::ALL.get(to).copied(), Cause::ALL.get(why).copied());
            let count = meter.transitions(to, why);
            let is_usual = state
                .zip(cause)
                .is_some_and(|(to, cause)| is_usual(to, cause));
            if count != 0 || is_usual {
                let state = state.map_or(meter::OTHER, state_name);
                let cause = cause.map_or(meter::OTHER, cause_name);
                let labels = [(series::STATE, state.into()), (series::CAUSE, cause.into())];
                series.counter(series::TRANSITIONS, labels, count);
            }
        }
    }
    let seen = meter.look();
    if let Some(seen) = &seen {
        for (state, count) in State::ALL.iter().copied().zip(seen.states) {
            let labels = [(series::STATE, state_name(state).into())];
            series.gauge(series::BREAKERS, labels, count);
        }
    }
    for (label, of_key) in meter.keys() {
        let is_new = of_key.is_new(interval);
        let total = |count: &AtomicU64| {
            if is_new {
                0
            } else {
                count.load(Ordering::Relaxed)
            }
        };
        let key = || (series::KEY, label.clone().into());
        series.counter(series::KEY_OPENED, [key()], total(&of_key.opened));
        for (mode, count) in Mode::ALL.into_iter().zip(&of_key.rejections) {
            // For each rejection by a registry it is known whether it is enforced.
            if mode != Mode::Partial {
                let labels = [key(), (series::ENFORCEMENT, mode.name().into())];
                series.counter(series::KEY_REJECTIONS, labels, total(count));
            }
        }
        if let Some(seen) = &seen {
            if label != meter::OTHER {
                let is_open = seen.open.contains(&label);
                series.gauge(series::KEY_OPEN, [key()], is_open.into());
            }
        }
    }
}

/// Whether breakers usually make such transitions; these are published even before the first one.
fn is_usual(to: State, cause: Cause) -> bool {
    match to {
        State::Closed => matches!(
            cause,
            Cause::ProbesSucceeded | Cause::TrafficReturned | Cause::Manual | Cause::CorruptWord
        ),
        State::Open => matches!(
            cause,
            Cause::FailureLimit
                | Cause::FailureRatio
                | Cause::TripDemanded
                | Cause::RetryAfter
                | Cause::ProbeFailed
                | Cause::ProbeCancelled
                | Cause::Manual
        ),
        State::HalfOpen => {
            matches!(
                cause,
                Cause::OpenTimeOver | Cause::ProbeLost | Cause::Manual
            )
        }
        State::Returning => cause == Cause::ProbesSucceeded,
        State::ForcedOpen | State::Disabled => cause == Cause::Manual,
        _ => false,
    }
}
