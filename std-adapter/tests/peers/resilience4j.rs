//! Cases of resilience4j: circuit breaker, retry, time limiter.

use std::future::ready;
use std::io;
use std::time::Duration;

use atomic_breaker_std::registry::Registry;
use atomic_breaker_std::retry::{Backoff, RetryConfig, RetryPolicy};
use atomic_breaker_std::tower::{BreakerLayer, TimeLimitLayer};
use atomic_breaker_std::{
    AnyPermit, Breaker, BreakerExt, CallError, Config, Failure, Fallback, LastCalls, ManualClock,
    Outcome, Prober, Ratio, Rejected, Resource, SlidingRatio, State, Timed, TokioClock, Transition,
};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::support::{
    Ask, Diary, Event, LENIENT, MS, RULES, SECOND, Server, breaker, budget, just_before, no_answer,
    play,
};

/// Half of the last five calls, as most of its tests have it; four probes.
const RING: Config = Config::new()
    .tally_only()
    .failure_ratio(Ratio::percent(50).of_last(5).min_calls(5))
    .open_for(Duration::from_secs(5))
    .probes(4);

type Ring<'a, O = ()> =
    Breaker<&'a ManualClock, atomic_breaker_std::word::NativeWord, LastCalls, O>;

fn ring(rules: Config, clock: &ManualClock) -> Ring<'_> {
    Breaker::builder(rules, clock)
        .last_calls(LastCalls::new())
        .build()
}

/// Half-open, and nobody has called yet.
fn half_open(rules: Config, clock: &ManualClock) -> Ring<'_> {
    let ring = ring(rules, clock);
    ring.trip();
    ring.probe_now();
    assert_eq!(ring.state(), State::HalfOpen);
    ring
}

/// resilience4j: the message of a rejection names the state. Here it says how long to wait besides.
#[test]
fn a_rejection_names_the_state_and_the_time() {
    for (state, message) in [
        (State::Open, "circuit breaker is open, retry in 5s"),
        (
            State::HalfOpen,
            "circuit breaker is half-open, retry soon, within 5s",
        ),
        (
            State::ForcedOpen,
            "circuit breaker is forced open, until it is released",
        ),
    ] {
        assert_eq!(Rejected::new(state, 5 * SECOND).to_string(), message);
    }
}

/// resilience4j, configuration: zeros and shares above one hundred are illegal. Here an open time of zero is not: the
/// next call is a probe.
#[test]
fn settings_out_of_range_are_errors() {
    let build = |rules: Config| {
        Breaker::builder(rules, ManualClock::new())
            .last_calls(LastCalls::new())
            .try_build()
    };
    let ratio = |ratio| Config::new().failure_ratio(ratio);
    for bad in [
        Config::new().consecutive_failures(0),
        Config::new().slow_call(Duration::ZERO),
        Config::new().probes(0),
        Config::new().probe_lease(Duration::ZERO),
        Config::new().failures_within(2, Duration::ZERO),
        ratio(Ratio::percent(50).of_last(0)),
        ratio(Ratio::percent(50).of_last(5).min_calls(0)),
        ratio(Ratio::percent(0)),
        ratio(Ratio::percent(101)),
        Config::new().tally_only(),
    ] {
        let error = build(bad).unwrap_err();
        assert!(!error.to_string().is_empty(), "{bad:?}");
    }
    let breaker = build(RULES.open_for(Duration::ZERO)).unwrap();
    assert_eq!(play(&breaker, "xx."), State::Closed);
}

/// resilience4j: opens when the ring is full and the failure rate reached, and not before. There a success that fills
/// the ring opens it, too; here the next failure does.
#[test]
fn it_opens_by_a_failure_when_the_ring_is_full() {
    let clock = ManualClock::new();
    for (calls, state) in [
        ("xxxx", State::Closed),
        ("xxxxxr", State::Open),
        ("..xxxr", State::Open),
        ("xxx..", State::Closed),
        ("xxx..x", State::Open),
        ("...xx", State::Closed),
        // The oldest call leaves the ring.
        ("xxx.....xx", State::Closed),
        ("xxx.....xxx", State::Open),
    ] {
        assert_eq!(play(&ring(RING, &clock), calls), state, "{calls}");
    }
}

/// resilience4j: a window of time loses its seconds one after the other. Here it is eighths of the time.
#[test]
fn a_window_of_time_loses_its_slices_one_after_the_other() {
    let clock = ManualClock::new();
    let lately = Ratio::percent(50).within(8 * SECOND).min_calls(10);
    let rules = Config::new().tally_only().failure_ratio(lately);
    let breaker = Breaker::builder(rules, &clock)
        .tally(SlidingRatio::<_, 1>::by(&clock))
        .build();
    for seen in 1..=8 {
        assert_eq!(play(&breaker, "."), State::Closed);
        assert_eq!(breaker.tally().seen_and_failed(), (seen, 0));
        clock.advance(SECOND);
    }
    for seen in (0..=7).rev() {
        assert_eq!(breaker.tally().seen_and_failed(), (seen, 0));
        clock.advance(SECOND);
    }
}

/// resilience4j: slow calls open it, by a rate of their own. Here a slow call is a failure.
#[test]
fn slow_calls_open_it_in_the_ring_and_half_open() {
    let clock = ManualClock::new();
    let call = |breaker: &Ring<'_>, takes: Duration| {
        let permit = breaker.acquire().unwrap();
        clock.advance(takes);
        permit.success();
        breaker.state()
    };
    let closed = ring(RING.slow_call(2 * SECOND), &clock);
    for (takes, state) in [
        (5 * SECOND, State::Closed),
        (2 * SECOND, State::Closed),
        (just_before(2 * SECOND), State::Closed),
        (Duration::ZERO, State::Closed),
        (5 * SECOND, State::Open),
    ] {
        assert_eq!(call(&closed, takes), state, "{takes:?}");
    }
    let half_open = half_open(RING.slow_call(2 * SECOND), &clock);
    assert_eq!(call(&half_open, MS), State::HalfOpen);
    assert_eq!(call(&half_open, 5 * SECOND), State::Open);
}

/// resilience4j: permits after the wait, of seconds or hours, and not a moment sooner; the metrics start over.
#[test]
fn it_permits_calls_again_after_the_wait_with_nothing_counted() {
    for wait in [5 * SECOND, 7_200 * SECOND] {
        let clock = ManualClock::new();
        let breaker = ring(RING.open_for(wait).probes(1), &clock);
        assert_eq!(play(&breaker, "xxxxxr"), State::Open);
        clock.advance(just_before(wait));
        assert_eq!(play(&breaker, "r"), State::Open);
        clock.advance(MS);
        assert_eq!(play(&breaker, "."), State::Closed);
        assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    }
}

/// resilience4j: a function gives the wait of each attempt, 1.5 times as long each time.
#[test]
fn the_wait_may_grow_by_a_fraction() {
    let clock = ManualClock::new();
    let rules = RING.exponential_percent(150, 60 * SECOND);
    let breaker = ring(rules, &clock);
    for wait in [5_000, 7_500, 11_250] {
        breaker
            .acquire()
            .map(|probe| probe.report(Failure::tripping()))
            .unwrap();
        assert_eq!(breaker.snapshot().retry_in(), Some(wait * MS));
        clock.advance(wait * MS);
    }
}

/// resilience4j: permits four calls half-open, the fifth is rejected, and a call that is released gives its place back.
#[test]
fn half_open_permits_as_many_calls_as_set_and_a_released_one_counts_no_more() {
    let clock = ManualClock::new();
    let breaker = half_open(RING, &clock);
    let mut permits: Vec<_> = (0..4).map(|_| breaker.acquire().unwrap()).collect();
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(rejected.state(), State::HalfOpen);
    permits.pop().unwrap().cancel();
    permits.push(breaker.acquire().unwrap());
    assert!(breaker.acquire().is_err());
    for permit in permits {
        permit.success();
    }
    assert_eq!(breaker.state(), State::Closed);
}

/// resilience4j: half-open, the failure rate of the permitted calls decides: one failure of four closes it there. Here
/// one failed probe opens it at once, as the resource is not well, and calls of users are what it is tried with.
#[test]
fn one_failed_probe_opens_it_again() {
    for (calls, state) in [
        ("xr", State::Open),
        (".xr", State::Open),
        ("...xr", State::Open),
        ("...", State::HalfOpen),
        ("....", State::Closed),
        ("....xxxx", State::Closed),
    ] {
        let clock = ManualClock::new();
        assert_eq!(play(&half_open(RING, &clock), calls), state, "{calls}");
    }
}

/// resilience4j: errors that are ignored release their permission, and the breaker closes by the others.
#[test]
fn ignored_errors_give_their_slot_back_half_open() {
    let clock = ManualClock::new();
    let breaker = half_open(RING, &clock);
    assert_eq!(play(&breaker, "..."), State::HalfOpen);
    for _ in 0..10 {
        breaker.acquire().unwrap().report(Outcome::Ignored);
        assert_eq!(breaker.state(), State::HalfOpen);
        assert_eq!(breaker.snapshot().successes(), 3);
    }
    assert_eq!(play(&breaker, "."), State::Closed);
}

/// resilience4j: half-open for too long, it goes to a state of choice. Here the calls are taken for lost after their
/// lease, one after the other is let pass, and none of the lost ones counts.
#[test]
fn half_open_for_too_long_begins_a_new_round() {
    let clock = ManualClock::new();
    let breaker = half_open(RING.probe_lease(10 * SECOND), &clock);
    let lost: Vec<_> = (0..4).map(|_| breaker.acquire().unwrap()).collect();
    clock.advance(10 * SECOND);
    let probe = breaker.acquire().unwrap();
    assert_eq!(breaker.snapshot().lost_rounds(), 1);
    for late in lost {
        assert_eq!(late.failure(), None);
    }
    probe.success();
    assert_eq!(play(&breaker, "..."), State::Closed);
}

/// resilience4j: there is no way from closed to half-open. Commands that do not apply change nothing here, and say so.
#[test]
fn commands_that_do_not_apply_change_nothing() {
    let clock = ManualClock::new();
    let breaker = ring(RING, &clock);
    for command in [
        Ring::probe_now,
        Ring::probe_early,
        Ring::release,
        Ring::enable,
    ] {
        assert_eq!(command(&breaker), None);
        assert_eq!(breaker.state(), State::Closed);
    }
}

/// resilience4j: each state may be entered again. Here being closed, open or half-open begins anew; what an operator
/// has set already is no transition.
#[test]
fn entering_a_state_again_begins_it_anew() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    let to = |made: Option<Transition>| made.map(|made| (made.from, made.to));
    play(&breaker, "x");
    assert_eq!(to(breaker.reset()), Some((State::Closed, State::Closed)));
    assert_eq!(play(&breaker, "x"), State::Closed, "counts anew");
    breaker.trip();
    clock.advance(9 * SECOND);
    assert_eq!(to(breaker.trip()), Some((State::Open, State::Open)));
    assert_eq!(breaker.snapshot().retry_in(), Some(10 * SECOND));
    breaker.probe_now();
    let _probe = breaker.acquire().unwrap();
    assert_eq!(
        to(breaker.probe_now()),
        Some((State::HalfOpen, State::HalfOpen))
    );
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    breaker.force_open();
    assert_eq!(to(breaker.force_open()), None);
    breaker.reset();
    breaker.disable();
    assert_eq!(to(breaker.disable()), None);
}

/// resilience4j: reset clears the metrics, from whatever state.
#[test]
fn reset_closes_and_clears_from_every_state() {
    let clock = ManualClock::new();
    for enter in [Ring::trip, Ring::force_open, Ring::disable, Ring::reset] {
        let breaker = ring(RING, &clock);
        play(&breaker, "x.x");
        assert_eq!(breaker.tally().seen_and_failed(), (3, 2));
        enter(&breaker);
        breaker.reset();
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    }
}

/// resilience4j: disabled, every call passes, nothing is counted and no event is published. Here the observer still
/// sees outcomes, as they are what happened.
#[test]
fn disabled_all_calls_pass_and_nothing_is_counted() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(RING, &clock)
        .last_calls(LastCalls::new())
        .observer(Diary::default())
        .build();
    breaker.disable();
    breaker.observer().read();
    assert_eq!(play(&breaker, "xxxxxxxxxx."), State::Disabled);
    assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    assert_eq!(breaker.snapshot().failures(), 0);
    let seen = breaker.observer().read();
    assert_eq!((seen.len(), seen[10]), (11, Event::Succeeded));
}

/// resilience4j, metrics only: all calls pass and all is recorded. Here the transitions happen as well, in shadow mode,
/// so that an operator sees what it would have done.
#[test]
fn in_shadow_mode_all_calls_pass_and_all_transitions_happen() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(RULES, &clock)
        .observer(Diary::default())
        .build();
    let resource = Resource::new(breaker);
    resource.enforcement().set_percent(0).unwrap();
    for _ in 0..3 {
        let permit = resource.acquire().unwrap();
        permit.report(Failure::new().into());
    }
    assert_eq!(resource.state(), State::Open);
    let shadowed = resource.acquire().unwrap();
    assert!(!shadowed.is_admitted());
    drop(shadowed);
    assert_eq!(
        resource.observer().read(),
        [
            Event::Failed,
            Event::Failed,
            Event::Changed(State::Closed, State::Open),
            Event::Rejected(State::Open),
            Event::Rejected(State::Open),
        ]
    );
    resource.enforcement().set_percent(100).unwrap();
    assert!(resource.acquire().is_err());
}

/// resilience4j: it may begin open, forced open or disabled.
#[test]
fn it_may_begin_in_another_state() {
    let clock = ManualClock::new();
    let begins = [Ring::trip, Ring::force_open, Ring::disable];
    let then = [
        ("r", State::Open),
        ("r", State::ForcedOpen),
        ("x", State::Disabled),
    ];
    for (begin, (calls, state)) in begins.into_iter().zip(then) {
        let breaker = ring(RING, &clock);
        assert!(begin(&breaker).is_some());
        assert_eq!(play(&breaker, calls), state);
    }
}

/// resilience4j: may go to half-open by itself, by a timer. Here it is open until somebody calls, and only the snapshot
/// says that it is due; a task that pings does what the timer is for.
#[tokio::test(start_paused = true)]
async fn it_stays_open_until_somebody_calls_or_pings() {
    let breaker = breaker(RULES);
    breaker.trip();
    sleep(60 * SECOND).await;
    assert_eq!(
        (breaker.state(), breaker.snapshot().is_due()),
        (State::Open, true)
    );
    let prober =
        tokio::spawn(breaker.run_prober(Prober::every(SECOND), async || Ok::<_, io::Error>(())));
    sleep(5 * SECOND).await;
    prober.abort();
    assert_eq!(breaker.state(), State::Closed);
}

/// resilience4j: calls that began earlier are recorded where they end, open or half-open. Here they change nothing: a
/// slow answer of the outage neither closes the breaker nor opens it again.
#[test]
fn calls_that_began_in_another_state_change_nothing() {
    let clock = ManualClock::new();
    let breaker = ring(RING, &clock);
    let early: Vec<_> = (0..6).map(|_| breaker.acquire().unwrap()).collect();
    breaker.trip();
    breaker.probe_now();
    for (n, permit) in early.into_iter().enumerate() {
        if n < 4 {
            permit.success();
        } else {
            permit.failure();
        }
        assert_eq!(breaker.state(), State::HalfOpen);
        assert_eq!(breaker.snapshot().successes(), 0);
    }
}

/// resilience4j: exceptions to record and to ignore, ignoring goes first; results may be failures too.
#[test]
fn what_is_recorded_and_ignored_is_the_classifiers_choice() {
    let classify = |result: &Result<u16, io::ErrorKind>| match result {
        Err(io::ErrorKind::InvalidInput) => Outcome::Ignored,
        Err(io::ErrorKind::NotFound) => Outcome::Success,
        Err(_) | Ok(500..) => Failure::new().into(),
        Ok(_) => Outcome::Success,
    };
    for (result, event, failures) in [
        (Err(io::ErrorKind::TimedOut), Event::Failed, 2),
        (Ok(503), Event::Failed, 2),
        // Neither counts nor clears.
        (Err(io::ErrorKind::InvalidInput), Event::Ignored, 1),
        (Err(io::ErrorKind::NotFound), Event::Succeeded, 0),
        (Ok(200), Event::Succeeded, 0),
    ] {
        let breaker = Breaker::builder(RULES.consecutive_failures(9), ManualClock::new())
            .observer(Diary::default())
            .build();
        play(&breaker, "x");
        breaker.observer().read();
        let answer = breaker.call_with(classify, || result);
        assert_eq!(answer, result.map_err(CallError::Failed));
        assert_eq!(breaker.observer().read(), [event], "{result:?}");
        assert_eq!(breaker.snapshot().failures(), failures);
    }
}

/// resilience4j: Java's errors are not measured. Here a panic is a failure, wherever it happens, and goes on: in the
/// closure before there is a future, in the future, in a service.
#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_and_goes_on() {
    let (closure, future, service) = (breaker(RULES), breaker(RULES), breaker(RULES));
    let guarded = BreakerLayer::new(service).layer(Server::default());
    for _ in 0..2 {
        let call = tokio::spawn(async {
            let _ = closure
                .call_async(|| -> std::future::Ready<io::Result<()>> { panic!("no future") })
                .await;
        });
        assert!(call.await.unwrap_err().is_panic());
        let call = tokio::spawn(async {
            let panics = async {
                if true {
                    panic!("in the future")
                } else {
                    Ok::<(), io::Error>(())
                }
            };
            let _ = future.call_async(|| panics).await;
        });
        assert!(call.await.unwrap_err().is_panic());
        let call = tokio::spawn(guarded.clone().oneshot(Ask::Panic));
        assert!(call.await.unwrap_err().is_panic());
    }
    for breaker in [closure, future, service] {
        assert_eq!(breaker.state(), State::Open);
    }
}

/// resilience4j, futures: reported once, however it is looked at; a time-out inside is a failure; one that is cancelled
/// is none, and releases its permission.
#[tokio::test(start_paused = true)]
async fn a_future_is_reported_once_and_not_at_all_if_it_is_cancelled() {
    let breaker = Breaker::builder(RULES, TokioClock)
        .observer(Diary::default())
        .build();
    let breaker: &'static _ = Box::leak(Box::new(breaker));
    assert!(
        breaker
            .call_async(|| ready(Ok::<_, io::Error>(7)))
            .await
            .is_ok()
    );
    assert!(
        breaker
            .call_async(|| ready(Err::<(), _>(no_answer())))
            .await
            .is_err()
    );
    let hangs = breaker.call_async(std::future::pending::<io::Result<()>>);
    assert!(tokio::time::timeout(SECOND, hangs).await.is_err());
    let late = breaker
        .call_timeout(SECOND, std::future::pending::<io::Result<()>>)
        .await;
    assert!(matches!(late, Err(CallError::Failed(Timed::TimedOut))));
    assert_eq!(
        breaker.observer().read(),
        [
            Event::Succeeded,
            Event::Failed,
            Event::Cancelled,
            Event::Failed,
            Event::Changed(State::Closed, State::Open),
        ]
    );
    let not_made = breaker.call_async(|| ready(Ok::<_, io::Error>(7))).await;
    assert!(matches!(not_made, Err(CallError::Rejected(_))));
}

/// resilience4j: recovers from a rejection, and chains decorated functions.
#[test]
fn a_rejection_can_be_recovered_from() {
    let (first, second) = [(); 2]
        .map(|()| Breaker::new(RULES, ManualClock::new()))
        .into();
    let chained = || {
        first.call(|| Ok::<_, &str>("first")).or_if_rejected(|_| {
            second
                .call(|| Ok("second"))
                .or_if_rejected(|_| Err("neither"))
        })
    };
    assert_eq!(chained(), Ok("first"));
    first.trip();
    assert_eq!(chained(), Ok("second"));
    second.trip();
    assert_eq!(chained(), Err("neither"));
}

/// resilience4j, registry: the same name gives the same breaker, another one another; rules of one name and of all are
/// replaced while running.
#[test]
fn a_registry_has_one_breaker_for_each_name() {
    let clock = ManualClock::new();
    let names = Registry::<&'static str>::builder(RULES)
        .clock(&clock)
        .build()
        .unwrap();
    let fail = |name| names.call(name, || Err::<(), _>("no answer")).is_err();
    assert!(fail("a") && fail("a") && fail("b"));
    let states = ["a", "b", "unknown"].map(|name| names.state(&name));
    assert_eq!(states, [State::Open, State::Closed, State::Closed]);
    names
        .set_config_of(&"c", RULES.consecutive_failures(1))
        .unwrap();
    names.set_config(RULES.consecutive_failures(3)).unwrap();
    assert!(fail("b") && fail("c"));
    assert_eq!(
        ["b", "c"].map(|name| names.state(&name)),
        [State::Closed, State::Open]
    );
    assert!(names.set_config(RULES.probes(0)).is_err());
    assert!(fail("b"));
    assert_eq!(names.state(&"b"), State::Open);
}

fn always(_: &Ask) -> bool {
    true
}

/// resilience4j, retry: gives up after its attempts with the last error; each call of a decorated function has attempts
/// of its own. There is an error that says that the attempts are used up; here the last result is the answer.
#[tokio::test(start_paused = true)]
async fn each_request_has_its_own_tries() {
    let server = Server::default();
    let policy = RetryPolicy::new(RetryConfig::new(), budget(), always);
    let client = server.retried(breaker(LENIENT), policy);
    for calls in [3, 6, 9] {
        let error = client.clone().oneshot(Ask::Fail).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer");
        assert_eq!(server.calls(), calls);
    }
    assert!(client.oneshot(Ask::FailFirst(11)).await.is_ok());
    assert_eq!(server.calls(), 12);
}

/// resilience4j, retry: the backoff is taken into account. (There it may be fixed or random; here it always has full
/// jitter.)
#[tokio::test(start_paused = true)]
async fn the_pauses_lie_between_the_tries() {
    let backoff = Backoff::new().first(SECOND).longest(60 * SECOND).factor(3);
    let config = RetryConfig::new()
        .backoff(backoff)
        .tries(4)
        .within(60 * SECOND);
    let mut longest = [Duration::ZERO; 3];
    for _ in 0..100 {
        let server = Server::default();
        let policy = RetryPolicy::new(config, budget(), always);
        let client = server.retried(breaker(LENIENT), policy);
        assert!(client.oneshot(Ask::Fail).await.is_err());
        for (longest, two) in longest.iter_mut().zip(server.called_at().windows(2)) {
            *longest = two[1].duration_since(two[0]).max(*longest);
        }
    }
    for (longest, most) in longest.into_iter().zip([1, 3, 9]) {
        assert!(
            longest > most * SECOND / 2 && longest <= most * SECOND + MS,
            "{longest:?}"
        );
    }
}

/// resilience4j, retry above a circuit breaker: there a rejection is one more error to be retried, and uses an attempt.
/// Here it is never retried before its time, and costs neither a try nor a token.
#[tokio::test(start_paused = true)]
async fn a_rejection_uses_no_try_and_is_waited_for() {
    let (breaker, server, budget) = (breaker(RULES), Server::default(), budget());
    breaker.trip();
    let config = RetryConfig::new().tries(1).within(60 * SECOND);
    let client = server.retried(breaker, RetryPolicy::new(config, budget, always));
    let begin = Instant::now();
    assert!(client.oneshot(Ask::Answer).await.is_ok());
    assert!(server.called_at()[0] - begin >= 10 * SECOND);
    assert!(budget.snapshot().is_full());
}

/// resilience4j, time limiter: a result in time, an error as it is, a time-out that cancels the call, whose late
/// result nobody sees. (That the call goes on without being cancelled is no option here.)
#[tokio::test(start_paused = true)]
async fn a_time_out_cancels_the_call_and_counts_once() {
    let (breaker, server) = (breaker(RULES), Server::default());
    let limited = ServiceBuilder::new()
        .layer(BreakerLayer::new(breaker))
        .layer(TimeLimitLayer::new(SECOND))
        .service(server.clone());
    let call = async |ask| {
        limited
            .clone()
            .oneshot(ask)
            .await
            .map_err(|error| error.failed().unwrap())
    };
    assert_eq!(call(Ask::Take(SECOND / 2)).await.unwrap(), 200);
    let error = call(Ask::Fail).await.unwrap_err();
    assert!(matches!(&error, Timed::Failed(error) if error.to_string() == "no answer"));
    assert_eq!(
        call(Ask::Take(2 * SECOND)).await.unwrap_err().to_string(),
        Timed::<io::Error>::TimedOut.to_string()
    );
    assert_eq!(breaker.state(), State::Open);
    sleep(60 * SECOND).await;
    assert_eq!((server.calls(), server.answered()), (3, 2));
}

/// resilience4j, time limiter: waits for a service that is not ready within its limit.
#[tokio::test(start_paused = true)]
async fn the_time_before_a_service_is_ready_counts() {
    let mut limited = TimeLimitLayer::new(SECOND).layer(Server::busy());
    let begin = Instant::now();
    let answer = limited.call(Ask::Answer).await;
    assert!(matches!(answer, Err(Timed::TimedOut)));
    assert_eq!(begin.elapsed(), SECOND);
}
