//! What contradicts itself; the plan as text.

use std::time::Duration;

use atomic_breaker_std::client::{ClientConfig, ClientConfigError, ClientGuard};
use atomic_breaker_std::http::Origin;
use atomic_breaker_std::retry::BudgetConfig;
use atomic_breaker_std::{Config, Ratio, State};
use http::Uri;

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
        "a try may take as long as all of them: the limit of a try, 10s, must be shorter than the deadline, 10s"
    );
    assert_eq!(
        fault(config.tries(4)),
        "all tries with their pauses may take 12.7s, longer than the deadline, 10s: lengthen it, or make \
         fewer or shorter tries"
    );
    let short_lease = config.breaker(Config::new().probe_lease(2 * SECOND));
    assert_eq!(
        fault(short_lease),
        "a probe would be taken for lost while its try is under way: the lease, 2s, must not be shorter than \
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
            "time-outs would fall out of the window before there are two of them: the window, 5s, must not be \
             shorter than twice the limit of a try, 3s"
        );
    }
    assert!(fault(config.try_limit(Duration::ZERO)).contains("lengthen the limit of a try"));
    assert!(fault(config.tries(0)).contains("set at least 1"));
    let never = BudgetConfig::new().max_tokens(0);
    assert!(fault(config.budget(never)).contains("a budget of 0 tokens"));
}

#[test]
fn settings_of_breakers_are_checked_as_those_of_any_breaker() {
    let config = ClientConfig::new();
    for bad in [config.breaker(Config::new().probes(0)), config.capacity(0)] {
        let error = ClientGuard::new(bad).unwrap_err();
        assert!(matches!(error, ClientConfigError::Registry(_)), "{error}");
    }
    let guard = ClientGuard::new(config).unwrap();
    assert!(
        guard
            .set_breaker(Config::new().probe_lease(SECOND))
            .is_err()
    );
    assert!(guard.set_breaker(Config::new().probes(0)).is_err());
    assert!(guard.set_breaker(Config::new()).is_ok());
    // What was not said otherwise: calls are slow after half of a try.
    let slow = guard.hosts().config().get_slow_call();
    assert_eq!(slow, Some(SECOND * 3 / 2));
}

#[test]
fn one_host_may_have_rules_of_its_own_which_are_checked_likewise() {
    let guard = ClientGuard::new(ClientConfig::new()).unwrap();
    let host = Origin::of(&Uri::from_static("http://a.example"));
    assert!(
        guard
            .set_breaker_of(&host, Config::new().probe_lease(SECOND))
            .is_err()
    );
    assert!(guard.hosts().entry(&host).is_none(), "nothing changed");
    let rules = guard.config().get_breaker().consecutive_failures(1);
    guard.set_breaker_of(&host, rules).unwrap();
    assert!(guard.hosts().entry(&host).unwrap().has_own_rules);
    for (uri, state) in [
        ("http://a.example", State::Open),
        ("http://b.example", State::Closed),
    ] {
        let key = Origin::of(&Uri::from_static(uri));
        let failed = guard
            .hosts()
            .call(key.clone(), || Err::<(), _>("no answer"));
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
         up to 3 tries of requests that may be sent twice, at most 300ms of pauses\n    \
         a breaker per host, 4096 at most: opens after 5 failures in a row or when 50 % of at least 20 calls \
         fail, for 1s up to 30s; slow after 1.5s\n      \
         3s for a try"
    );
}
