// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that contradict each other; the plan as text.

use std::convert::Infallible;
use std::time::Duration;

use atomic_breaker_http::{
    Backoff, BodyLimits, BudgetConfig, ClientConfig, ClientGuard, Config, Guard, Origin, Ratio,
    State,
};
use http::{Request, Uri};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn fault(config: ClientConfig) -> String {
    let checked = config.check().unwrap_err();
    let built = ClientGuard::new(config).unwrap_err();
    assert_eq!(checked, built);
    built.to_string()
}

#[test]
fn settings_that_contradict_each_other_are_errors_that_name_both() {
    let config = ClientConfig::new();
    assert_eq!(
        fault(config.try_limit(10 * SECOND)),
        "one try may take as long as the whole request: the limit of a try, 10s, must be shorter than the deadline, 10s"
    );
    assert_eq!(
        fault(config.tries(4)),
        "all tries with their pauses may take 12.7s, longer than the deadline, 10s: lengthen it, or make \
         fewer or shorter tries"
    );
    let short_lease = config.breaker(Config::new().probe_lease(2 * SECOND));
    assert_eq!(
        fault(short_lease),
        "a probe would be presumed lost while its try is under way: the lease, 2s, must not be shorter than \
         the limit of a try, 3s: set probe_lease"
    );
    let long_try = config.deadline(200 * SECOND).try_limit(31 * SECOND);
    assert!(fault(long_try).contains("the lease, 30s,"), "by default");
    let ratio = Ratio::percent(50).within(5 * SECOND);
    for rules in [
        Config::new().failure_ratio(ratio),
        Config::new().failures_within(5, 5 * SECOND),
    ] {
        assert_eq!(
            fault(config.breaker(rules)),
            "timeouts would fall out of the window before there are two of them: the window, 5s, must not be \
             shorter than twice the limit of a try, 3s"
        );
    }
    assert!(fault(config.try_limit(Duration::ZERO)).contains("lengthen the limit of a try"));
    assert_eq!(
        fault(config.probe_limit(3_001 * MS)),
        "a probe is a try, too: probe_limit, 3.001s, must not be longer than the limit of a try, 3s"
    );
    assert_eq!(config.probe_limit(3 * SECOND).check(), Ok(()));
    assert!(fault(config.probe_limit(Duration::ZERO)).contains("lengthen probe_limit"));
    assert!(fault(config.tries(0)).contains("set at least 1"));
    let never = BudgetConfig::new().max_tokens(0);
    assert!(fault(config.budget(never)).contains("a budget of 0 tokens"));
}

#[test]
fn settings_that_just_fit_are_fine_and_a_little_less_is_not() {
    let ms = Duration::from_millis;
    let config = ClientConfig::new();
    let rules = Config::new();
    // Three tries of 3 s with 0.3 s of pauses.
    let deadline = |time| config.deadline(time);
    let lease = |time| config.breaker(rules.probe_lease(time));
    let ratio = |time| config.breaker(rules.failure_ratio(Ratio::percent(50).within(time)));
    let window = |time| config.breaker(rules.failures_within(5, time));
    let whole = |time| {
        let parts = BodyLimits::new().idle(SECOND).first_byte(4 * SECOND);
        config.body_limits(parts.whole(time))
    };
    let edges: [(&dyn Fn(Duration) -> ClientConfig, u64); 5] = [
        (&deadline, 9_300),
        (&lease, 3_000),
        (&ratio, 6_000),
        (&window, 6_000),
        (&whole, 4_000),
    ];
    for (number, (with, least)) in edges.into_iter().enumerate() {
        assert_eq!(with(ms(least)).check(), Ok(()), "{number}");
        fault(with(ms(least - 1)));
    }
}

#[test]
fn settings_of_breakers_are_checked_like_those_of_any_breaker() {
    let config = ClientConfig::new();
    for bad in [config.breaker(Config::new().probes(0)), config.capacity(0)] {
        fault(bad);
    }
    let guard = ClientGuard::new(config).unwrap();
    assert!(
        guard
            .set_breaker_config(Config::new().probe_lease(SECOND))
            .is_err()
    );
    assert!(guard.set_breaker_config(Config::new().probes(0)).is_err());
    assert!(guard.set_breaker_config(Config::new()).is_ok());
    // The default: calls are slow after half of a try's limit.
    assert_eq!(guard.hosts().config().slow_call_ms, Some(1_500));
}

#[test]
fn one_host_may_have_rules_of_its_own_which_are_checked_likewise() {
    let guard = ClientGuard::new(ClientConfig::new()).unwrap();
    let host = Origin::from_uri(&Uri::from_static("http://a.example")).unwrap();
    assert!(
        guard
            .set_breaker_config_of(&host, Config::new().probe_lease(SECOND))
            .is_err()
    );
    assert!(guard.hosts().entry(&host).is_none(), "nothing changed");
    let rules = guard.config().breaker_config();
    let rules = rules.consecutive_failures(1).lasting(Duration::ZERO);
    guard.set_breaker_config_of(&host, rules).unwrap();
    assert!(guard.hosts().entry(&host).unwrap().has_own_rules);
    for (uri, state) in [
        ("http://a.example", State::Open),
        ("http://b.example", State::Closed),
    ] {
        let key = Origin::from_uri(&Uri::from_static(uri)).unwrap();
        let failed = guard
            .hosts()
            .of(key.clone())
            .call(|| Err::<(), _>("no answer"));
        assert!(failed.is_err());
        assert_eq!(guard.hosts().state(&key), state, "{uri}");
    }
}

#[test]
fn the_defaults_fit_and_their_plan_can_be_read() {
    let config = ClientConfig::default();
    assert_eq!(config.check(), Ok(()));
    assert_eq!(
        config.to_string(),
        "10s for a request\n  \
         up to 3 tries of requests that may be sent twice, at most 300ms of pauses\n  \
         a budget of retries per host: 100 at most, 20 % of one for each success, 1 a second\n    \
         a breaker per host, 4096 at most: opens after 10 failures in a row that last 100ms or when 90 % of at \
         least 20 calls within 10s fail or 80 % of them are slow, for 200ms up to 4s, up to 20 % longer by jitter; slow after 1.5s\n      \
         3s for a try, 1.5s for a probe; 32 per host go on when their callers leave"
    );
    let short = config.probe_limit(250 * MS).to_string();
    assert!(
        short.contains("3s for a try, 250ms for the first probe;"),
        "{short}"
    );
}

#[test]
fn the_plan_names_what_never_ends_and_what_is_left_out() {
    let rules = Config::new().open_for(SECOND);
    let budget = BudgetConfig::new().deposit_percent(0);
    let config = ClientConfig::new()
        .breaker(rules)
        .deadline(Duration::MAX)
        .without_slow_limit()
        .shared_budget(budget)
        .rejection_waits(2)
        .outliving(0);
    assert_eq!(config.check(), Ok(()));
    assert_eq!(
        config.to_string(),
        "no deadline for a request\n  \
         up to 3 tries of requests that may be sent twice, at most 300ms of pauses\n  \
         a budget of retries in all: 100 at most, none for successes, 1 a second\n  \
         waits 2 times for a breaker that rejects\n    \
         a breaker per host, 4096 at most: opens after 5 failures in a row, for 1s, no jitter; never slow\n      \
         3s for a try; ends when its caller leaves"
    );
    let patient = Backoff::new().longest(Duration::MAX).factor(u32::MAX);
    let plan = config.backoff(patient).tries(9).to_string();
    assert!(plan.contains("no limit of pauses"), "{plan}");
    let shared = config.trip_on_429(true).to_string();
    assert!(
        shared.contains("never slow; a 429 is a failure\n"),
        "{shared}"
    );
    for (most, words) in [
        (
            5 * SECOND,
            "never slow; a Retry-After holds it open for at most 5s\n",
        ),
        (
            Duration::ZERO,
            "never slow; a Retry-After says nothing to it\n",
        ),
    ] {
        let plan = config.max_retry_after(most).to_string();
        assert!(plan.contains(words), "{plan}");
    }
    let once = config.tries(1).to_string();
    assert!(once.contains("\n  1 try\n"), "{once}");
}

/// The preset refuses `of_last`.
#[test]
fn no_error_of_the_preset_advises_what_it_refuses() {
    let rules = ClientConfig::new().breaker_config();
    let within = rules.failure_ratio(Ratio::percent(50).within(Duration::ZERO));
    let fault = fault(ClientConfig::new().breaker(within));
    assert!(
        fault.contains("lengthen it") && !fault.contains("of_last"),
        "{fault}"
    );
}

/// `check` finds exactly what building refuses, word for word.
#[test]
fn whatever_building_refuses_the_check_refuses_with_the_same_words() {
    let rules = ClientConfig::new().breaker_config();
    let ratio = Ratio::percent(120).within(10 * SECOND);
    let config = ClientConfig::new();
    for bad in [
        config.breaker(rules.failure_ratio(ratio)),
        config.breaker(rules.failure_ratio(Ratio::percent(50).of_last(20))),
        config.breaker(rules.probes(0)),
        config.breaker(rules.close_after(0)),
        config.breaker(rules.jitter_percent(101)),
        config.breaker(rules.consecutive_failures(0)),
        config.breaker(rules.consecutive_failures(65_536)),
        config.breaker(rules.open_for(Duration::MAX)),
        config.breaker(rules.gradual_return(0, SECOND)),
        config.breaker(rules.exponential(1, SECOND)),
        config.breaker(Config::new().tally_only()),
        config.capacity(0),
        config.capacity(usize::MAX),
    ] {
        fault(bad);
        assert!(fault_at_end(bad).contains(&fault(bad)));
    }
}

fn fault_at_end(config: ClientConfig) -> String {
    config.at_end_of_body().check().unwrap_err().to_string()
}

#[tokio::test]
async fn a_host_that_asks_to_be_left_alone_keeps_its_place_for_a_minute_unless_set() {
    let minute = Duration::from_secs(60);
    let plan = ClientConfig::new();
    let rules = plan
        .breaker_config()
        .consecutive_failures(1)
        .lasting(Duration::ZERO);
    let plan = plan.breaker(rules);
    for (plan, most) in [
        (plan, minute),
        (plan.breaker(rules.max_retry_after(minute * 3)), minute * 3),
        (plan.max_retry_after(minute * 3), minute * 3),
        // More than a classifier allows unless set.
        (plan.max_retry_after(minute * 6), minute * 6),
        // Whatever the rules say.
        (
            plan.max_retry_after(minute * 2)
                .breaker(rules.max_retry_after(minute)),
            minute * 2,
        ),
        // Its own open time.
        (plan.max_retry_after(Duration::ZERO), 200 * MS),
    ] {
        let guard = ClientGuard::new(plan.tries(1)).unwrap().leak();
        let asks = service_fn(|_: Request<()>| async {
            let response = http::Response::builder().status(503);
            Ok::<_, Infallible>(
                response
                    .header("retry-after", "600")
                    .body(String::new())
                    .unwrap(),
            )
        });
        let client = ServiceBuilder::new().layer(guard.layer()).service(asks);
        let uri = Uri::from_static("http://a.example");
        let request = Request::get(&uri).body(()).unwrap();
        assert_eq!(client.oneshot(request).await.unwrap().status(), 503);
        let entry = guard
            .hosts()
            .entry(&Origin::from_uri(&uri).unwrap())
            .unwrap();
        let wait = entry.snapshot.retry_in().unwrap();
        // With a jitter of 20 %.
        assert!(
            wait < most * 3 / 2 && wait > most / 2,
            "{wait:?} of {most:?}"
        );
    }
}

/// The registry of a guard knows nothing of its tries: what its documentation advises says whether they fit.
#[test]
fn rules_for_the_registry_of_a_guard_can_be_checked_first() {
    let guard = ClientGuard::new(ClientConfig::new()).unwrap();
    let rules = Config::new().probe_lease(Duration::from_secs(1));
    let checked = guard.config().breaker(rules).check().unwrap_err();
    assert!(checked.to_string().contains("probe_lease"), "{checked}");
    assert_eq!(guard.set_breaker_config(rules), Err(checked));
    guard.hosts().set_config(rules).unwrap();
}
