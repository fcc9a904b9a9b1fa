// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that users write first, over a week of virtual time: logs and counts match the events.

use std::cell::Cell;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_observe::{Log, Metrics};
use atomic_breaker_server::Guard;
use atomic_breaker_server::{
    Breaker, CallError, Clock, ManualClock, Registry, Rejected, ServiceError, TokioClock,
    word::NativeWord,
};
use tokio::time::timeout;

use crate::support::{Logged, Page, SECOND, logged};
use test_support::week::{Host, OUTAGES, config, protects, week, week_by_hand};

/// The program's own counts.
#[derive(Debug, Default)]
struct Seen {
    admitted: Cell<u64>,
    rejected: Cell<u64>,
}

fn one_more(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

impl Seen {
    /// The value of a call that may have been rejected.
    fn result<T, E>(&self, result: Result<T, CallError<E>>) -> Result<T, CallError<E>> {
        one_more(match result {
            Err(CallError::Rejected(_)) => &self.rejected,
            _ => &self.admitted,
        });
        result
    }

    fn acquired<T>(&self, answer: Result<T, Rejected>) -> Option<T> {
        one_more(match answer {
            Err(_) => &self.rejected,
            Ok(_) => &self.admitted,
        });
        answer.ok()
    }

    /// Neither calls nor rejections are lost, and each opening ends.
    fn agrees(&self, name: &str, events: &[Logged]) {
        let page = Page::now();
        let calls = ["success", "failure", "slow", "ignored", "cancelled"]
            .map(|outcome| page.calls(name, outcome).unwrap());
        assert_eq!(calls.iter().sum::<u64>(), self.admitted.get(), "{calls:?}");
        let rejections = page.get("rejections", name, &[("enforcement", "enforced")]);
        assert_eq!(rejections, Some(self.rejected.get()));
        let outages = u64::from(OUTAGES);
        assert!(self.rejected.get() > outages * 2_000, "{self:?}");

        let logged_as = |target| events.iter().filter(move |event| event.target == target);
        let logged = logged_as("atomic_breaker::rejection")
            .filter(|event| event.get("message").unwrap().starts_with("rejected"));
        let left_out: u64 = events.iter().map(Logged::left_out).sum();
        assert_eq!(logged.count() as u64 + left_out, self.rejected.get());

        let to = |state, cause| page.transitions(name, state, cause).unwrap_or(0);
        let opened = to("open", "failure_limit");
        let reopened = to("open", "probe_failed") + to("open", "probe_cancelled");
        let half_open = to("half_open", "open_time_over");
        // The open time grows, so trips are remembered for a while.
        let returned = to("returning", "probes_succeeded");
        let closed = to("closed", "traffic_returned");
        assert_eq!((opened, returned, closed), (outages, outages, outages));
        assert_eq!(opened + reopened, half_open);
        let transitions = logged_as("atomic_breaker::transition").count() as u64;
        assert_eq!(transitions, opened + reopened + half_open + 2 * outages);

        let shown = ["closed", "open", "half_open"].map(|state| page.breakers(name, state));
        assert_eq!(shown, [Some(1), Some(0), Some(0)]);
    }
}

type Observed<C> = Breaker<C, NativeWord, (), (Log<C>, Metrics)>;

fn observed<C: Clock + Copy>(name: &'static str, clock: C) -> Observed<C> {
    let log = Log::new(name).clock(clock);
    Breaker::builder(config(), clock)
        .observer((log, Metrics::new(name)))
        .build()
}

/// The events logged by a future in paused time.
fn logged_in_paused_time(what: impl AsyncFnOnce()) -> Vec<Logged> {
    logged(|| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(what());
    })
}

#[test]
fn a_call_that_is_left_by_the_question_mark() {
    let (host, clock, seen) = (Host::default(), ManualClock::new(), Seen::default());
    let database = observed("week-question-mark", &clock);
    let ask = || -> Result<u32, Box<dyn Error>> {
        let value = seen.result(database.call(|| host.answer_at_once()))?;
        Ok(value + 1)
    };
    let events = logged(|| protects(&week_by_hand(&host, &clock, || ask().is_ok()), 70));
    // The transition to closed states the last rejections.
    seen.agrees("week-question-mark", &events);
}

/// Calls that are cut short are slow ones: they are cancelled, and trip.
#[test]
fn a_timeout_around_a_call() {
    let (host, seen) = (Host::hanging(), Seen::default());
    let log = Log::new("week-timeout").clock(TokioClock);
    let database = Breaker::builder(config().slow_call(SECOND), TokioClock)
        .observer((log, Metrics::new("week-timeout")))
        .build();
    let events = logged_in_paused_time(async || {
        let ask = || async {
            let call = timeout(2 * SECOND, database.call_async(|| host.answer()));
            if let Ok(result) = call.await {
                return seen.result(result).is_ok();
            }
            one_more(&seen.admitted);
            false
        };
        protects(&week(&host, ask).await, 130);
    });
    seen.agrees("week-timeout", &events);
}

#[test]
fn clones_of_an_arc_in_two_places() {
    let (host, clock, seen) = (Host::default(), ManualClock::new(), Seen::default());
    let one = Arc::new(observed("week-clones", &clock));
    let other = Arc::clone(&one);
    let mut number = 0;
    let ask = || {
        number += 1;
        let breaker = if number % 2 == 0 { &one } else { &other };
        seen.result(breaker.call(|| host.answer_at_once())).is_ok()
    };
    let events = logged(|| protects(&week_by_hand(&host, &clock, ask), 70));
    seen.agrees("week-clones", &events);
}

#[test]
fn permits_that_are_dropped_in_the_middle() {
    let (host, clock, seen) = (Host::default(), ManualClock::new(), Seen::default());
    let database = observed("week-dropped", &clock);
    let mut number = 0_u32;
    let ask = || {
        number += 1;
        let Some(permit) = seen.acquired(database.acquire()) else {
            return false;
        };
        let answer = host.answer_at_once();
        match answer {
            Ok(_) => permit.success(),
            Err(_) if number.is_multiple_of(3) => return false,
            Err(_) => permit.failure(),
        };
        answer.is_ok()
    };
    let events = logged(|| protects(&week_by_hand(&host, &clock, ask), 160));
    seen.agrees("week-dropped", &events);
}

/// A rejection a minute is logged, and the others are counted.
#[test]
fn a_key_of_a_registry() {
    const NAME: &str = "week-keys";
    let (host, clock, seen) = (
        Host::default(),
        Arc::new(ManualClock::new()),
        Seen::default(),
    );
    let metrics = Metrics::new(NAME);
    let log = Log::new(NAME).clock(Arc::clone(&clock));
    let hosts = Registry::builder(config())
        .clock(Arc::clone(&clock))
        .observer((
            log.rejections_every(Duration::from_secs(60)),
            metrics.clone(),
        ))
        .build()
        .unwrap();
    let hosts = Arc::new(hosts);
    metrics.watch(&hosts);
    let ask = || {
        assert_eq!(hosts.of("b.example").call(|| Ok::<_, &str>(7)), Ok(7));
        one_more(&seen.admitted);
        let answer = hosts.of("a.example").call(|| host.answer_at_once());
        one_more(match answer {
            Err(ServiceError::Rejected(_)) => &seen.rejected,
            _ => &seen.admitted,
        });
        answer.is_ok()
    };
    let events = logged(|| protects(&week_by_hand(&host, &clock, ask), 70));
    seen.agrees(NAME, &events);
    let logged = events
        .iter()
        .filter(|event| event.target == "atomic_breaker::rejection");
    // One a minute, and the first of each open time.
    assert!(logged.count() < OUTAGES as usize * 150);
    let page = Page::now();
    let opened: u64 = ["failure_limit", "probe_failed"]
        .map(|cause| page.transitions(NAME, "open", cause).unwrap())
        .iter()
        .sum();
    let of_key = page.get("key_opened", NAME, &[("key", "a.example")]);
    assert_eq!(of_key, Some(opened));
}
