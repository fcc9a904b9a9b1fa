// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typical observers, and transitions as lines of a log.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::support::{AnyWord, Diary, fail, ms, observed, on_both_words, rules};
use atomic_breaker::word::NativeWord;
use atomic_breaker::{
    Breaker, Cause, Clock, Config, EventLog, FailedCall, Failure, ManualClock, Observer,
    OnTransition, Outcome, Rejected, State, Transition,
};

#[test]
fn a_closure_is_notified_of_each_transition() {
    let clock = ManualClock::new();
    let lines = RefCell::new(Vec::new());
    let breaker = Breaker::builder(Config::new(), &clock)
        .on_transition(|transition| lines.borrow_mut().push(transition.to_string()))
        .build();
    fail(&breaker, 5);
    clock.advance(ms(5_000));
    breaker.acquire().unwrap().success();
    assert_eq!(
        *lines.borrow(),
        [
            "closed -> open: failures reached the limit, for 5s",
            "open -> half-open: the open time is over",
            "half-open -> closed: enough probes succeeded",
        ]
    );
}

/// A function observes a breaker in a `static`.
#[test]
fn a_function_in_a_static_is_notified_of_each_transition() {
    static TRIPS: AtomicU32 = AtomicU32::new(0);
    static CLOCK: ManualClock = ManualClock::new();
    type Function = OnTransition<fn(&Transition)>;
    static BREAKER: Breaker<&ManualClock, NativeWord, (), Function> =
        Breaker::builder(Config::new(), &CLOCK)
            .on_transition(count as fn(&Transition))
            .build();
    fn count(transition: &Transition) {
        TRIPS.fetch_add(u32::from(transition.to == State::Open), Ordering::Relaxed);
    }
    BREAKER.trip();
    BREAKER.reset();
    BREAKER.trip();
    assert_eq!(TRIPS.load(Ordering::Relaxed), 2);
    assert_eq!(format!("{:?}", BREAKER.observer()), "OnTransition { .. }");
}

/// A closure owns its captures, in a breaker that moves between threads.
#[test]
fn a_closure_that_owns_goes_between_threads() {
    let notices = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&notices);
    let breaker = Breaker::builder(Config::new(), ManualClock::new())
        .on_transition(move |transition: &Transition| sink.lock().unwrap().push(transition.to))
        .build();
    std::thread::spawn(move || breaker.trip()).join().unwrap();
    assert_eq!(*notices.lock().unwrap(), [State::Open]);
}

/// Counts everything that it is notified of.
#[derive(Default)]
struct Count {
    transitions: AtomicU32,
    rejected: AtomicU32,
    outcomes: AtomicU32,
    cancelled: AtomicU32,
}

impl Observer for Count {
    fn transition(&self, _transition: &Transition) {
        self.transitions.fetch_add(1, Ordering::Relaxed);
    }

    fn rejected(&self, _rejected: Rejected) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    fn outcome(&self, _outcome: Outcome) {
        self.outcomes.fetch_add(1, Ordering::Relaxed);
    }

    fn cancelled(&self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn all(&self) -> [u32; 4] {
        [
            &self.transitions,
            &self.rejected,
            &self.outcomes,
            &self.cancelled,
        ]
        .map(|count| count.load(Ordering::Relaxed))
    }
}

/// Everything happens once, except transitions: there are two.
fn use_once(observer: impl Observer) {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(Config::new(), &clock)
        .observer(observer)
        .build();
    breaker.acquire().unwrap().success();
    drop(breaker.acquire().unwrap());
    breaker.trip();
    assert!(breaker.acquire().is_err());
    breaker.reset();
}

const ONCE: [u32; 4] = [2, 1, 1, 1];

#[test]
fn an_observer_is_notified_behind_every_pointer() {
    let (plain, rc, arc) = (
        Count::default(),
        Rc::new(Count::default()),
        Arc::new(Count::default()),
    );
    use_once(&plain);
    use_once(Rc::clone(&rc));
    use_once(Arc::clone(&arc));
    assert_eq!([plain.all(), rc.all(), arc.all()], [ONCE; 3]);
    let boxed: Box<dyn Observer + '_> = Box::new(&plain);
    use_once(boxed);
    let shared: Arc<dyn Observer> = Arc::clone(&arc) as Arc<dyn Observer>;
    use_once(&shared);
    use_once(shared);
    assert_eq!(plain.all(), ONCE.map(|count| 2 * count));
    assert_eq!(arc.all(), ONCE.map(|count| 3 * count));
}

#[test]
fn an_observer_is_optional() {
    let count = Count::default();
    use_once(Some(&count));
    assert_eq!(count.all(), ONCE);
    use_once(None::<&Count>);
    assert_eq!(count.all(), ONCE);
    assert!(Some(&count).is_listening());
    assert!(!None::<&Count>.is_listening() && !Some(()).is_listening());
}

#[test]
fn a_pair_of_any_two_is_notified_of_everything_twice() {
    let (one, other, third) = (
        Count::default(),
        Arc::new(Count::default()),
        Count::default(),
    );
    let sum = Cell::new(0);
    let closure = OnTransition(|_: &Transition| sum.set(sum.get() + 1));
    let nested = ((&one, Arc::clone(&other)), (Some(&third), closure));
    use_once(nested);
    assert_eq!([one.all(), other.all(), third.all()], [ONCE; 3]);
    assert_eq!(sum.get(), ONCE[0]);
}

/// A list of observers is an observer in five lines.
#[test]
fn a_users_own_observer_can_be_a_list() {
    struct All(Vec<Box<dyn Observer>>);
    impl Observer for All {
        fn transition(&self, transition: &Transition) {
            self.0.iter().for_each(|each| each.transition(transition));
        }
    }
    let counts = [(); 3].map(|()| Rc::new(Count::default()));
    let list = counts
        .iter()
        .map(|count| Box::new(Rc::clone(count)) as Box<dyn Observer>);
    use_once(All(list.collect()));
    assert!(counts.iter().all(|count| count.all() == [2, 0, 0, 0]));
}

#[test]
fn a_transition_reads_like_a_line_of_a_log() {
    let line = |from, to, cause| Transition::new(from, to, cause).to_string();
    let lines = [
        (
            line(State::HalfOpen, State::Returning, Cause::ProbesSucceeded),
            "half-open -> returning: enough probes succeeded",
        ),
        (
            line(State::Returning, State::Closed, Cause::TrafficReturned),
            "returning -> closed: traffic has returned",
        ),
        (
            line(State::HalfOpen, State::HalfOpen, Cause::ProbeLost),
            "half-open -> half-open: a probe did not report",
        ),
        (
            line(State::Closed, State::ForcedOpen, Cause::Manual),
            "closed -> forced open: by command",
        ),
    ];
    for (said, expected) in lines {
        assert_eq!(said, expected);
    }
    let mut opened = Transition::new(State::HalfOpen, State::Open, Cause::ProbeCancelled);
    opened.open_for_ms = 1_500;
    assert_eq!(
        opened.to_string(),
        "half-open -> open: a probe was cancelled late, for 1.5s"
    );
}

#[test]
fn every_cause_has_its_own_words() {
    let said: HashSet<_> = Cause::ALL.iter().map(Cause::to_string).collect();
    assert_eq!(said.len(), 14);
    for cause in Cause::ALL {
        assert_eq!(cause.to_string(), cause.text());
    }
    assert_eq!(format!("[{:<12}]", Cause::Restored), "[restored    ]");
    assert_eq!(format!("[{:>10}]", State::Returning), "[ returning]");
}

/// For tests of code that handles transitions.
#[test]
fn a_transition_can_be_made_by_hand() {
    let mut made = Transition::new(State::Closed, State::Open, Cause::FailureLimit);
    assert_eq!(
        (made.at_ms, made.epoch, made.trips, made.open_for_ms),
        (0, 0, 0, 0)
    );
    made.trips = 3;
    let log = EventLog::<2>::new();
    log.transition(&made);
    assert_eq!(log.pop(), Some(made));
}

/// A report or a command returns the transition of which the observer is notified, and `None` if nothing changed.
fn every_report_returns_the_transition_it_caused<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let config = rules()
        .consecutive_failures(2)
        .open_for(ms(10))
        .gradual_return(100, ms(100));
    let breaker = observed::<W>(config, &clock, &diary);
    let answers = |answer: Option<Transition>, cause: Option<Cause>| {
        assert_eq!(answer.map(|made| made.cause), cause);
        assert_eq!(diary.transitions.take(), Vec::from_iter(answer));
    };
    let permit = || {
        let permit = breaker.acquire().unwrap();
        diary.transitions.take();
        permit
    };
    answers(permit().success(), None);
    answers(permit().failure(), None);
    answers(permit().report(Outcome::Ignored), None);
    answers(permit().cancel(), None);
    answers(
        permit().record(&Err::<(), _>("no")),
        Some(Cause::FailureLimit),
    );
    clock.advance(ms(10));
    answers(
        permit().report(Failure::with_weight(1)),
        Some(Cause::ProbeFailed),
    );
    clock.advance(ms(10));
    answers(
        permit().record(&Ok::<_, ()>(1)),
        Some(Cause::ProbesSucceeded),
    );
    answers(
        permit().report(Failure::tripping_for(ms(20))),
        Some(Cause::RetryAfter),
    );
    answers(breaker.trip_for(ms(40)), Some(Cause::Manual));
    answers(breaker.trip_for(ms(30)), None);
    clock.advance(ms(40));
    let token = permit().into_token();
    answers(
        breaker.resume(token).success(),
        Some(Cause::ProbesSucceeded),
    );
    answers(
        permit().report(Failure::tripping()),
        Some(Cause::TripDemanded),
    );
    answers(breaker.restore().unwrap(), Some(Cause::Restored));
}

/// Transitions are returned even if no observer is set.
fn transitions_are_returned_without_an_observer<W: AnyWord>() {
    let clock = ManualClock::starting_at(44);
    let breaker = super::support::breaker::<W>(rules().consecutive_failures(1), &clock);
    let made = breaker.acquire().unwrap().failure().unwrap();
    assert_eq!((made.from, made.to), (State::Closed, State::Open));
    assert_eq!(
        (made.cause, made.epoch, made.trips),
        (Cause::FailureLimit, 1, 1)
    );
    assert_eq!((made.at_ms, made.open_for()), (44, Some(ms(5_000))));
    let made = breaker.reset().unwrap();
    assert_eq!((made.at_ms, made.epoch, made.open_for()), (44, 2, None));
}

on_both_words!(
    every_report_returns_the_transition_it_caused,
    transitions_are_returned_without_an_observer,
);

/// The clock that measured the call is asked each time, not kept.
#[test]
fn a_failed_call_says_how_long_it_took_when_it_is_asked() {
    let clock = ManualClock::new();
    let took = || (clock.now_ms() > 0).then(|| ms(clock.now_ms().into()));
    let failed = FailedCall::new(Failure::with_weight(3), true, &took, &"reset by peer");
    assert_eq!(failed.took(), None);
    clock.advance(ms(40));
    assert_eq!(failed.took(), Some(ms(40)));
    assert_eq!(
        (failed.failure(), failed.is_probe()),
        (Failure::with_weight(3), true)
    );
    let other = FailedCall::new(Failure::new(), false, &took, &"reset by peer");
    assert!(!other.is_probe());
    assert_eq!(failed.why().to_string(), "reset by peer");
    let printed = format!("{failed:?}");
    for part in ["is_probe: true", "took: Some(40ms)", "why: reset by peer"] {
        assert!(printed.contains(part), "{printed}");
    }
}
