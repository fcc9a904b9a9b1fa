// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plays a scenario.

use atomic_breaker::{Config, ConfigError};
use atomic_breaker_server::RegistryError;

use super::breakers::BreakerScope;
use super::engine::run;
use super::report::SimulationReport;
use super::scenario::Scenario;

/// Plays a scenario before the real breaker with these settings, on a virtual clock: a minute takes milliseconds. The same
/// settings and the same scenario give the same report.
///
/// The settings of the breakers of a `ClientConfig` of atomic-breaker-http are its `effective_breaker_config()`.
///
/// ```
/// use atomic_breaker_tune::{Config, Scenario, simulate};
/// use std::time::Duration;
///
/// const RULES: Config = Config::new().consecutive_failures(5).open_for(Duration::from_secs(2));
///
/// let report = simulate(&RULES, Scenario::dead());
/// assert!(report.calls_before_open() <= 5, "{report}");
/// assert!(report.time_until_closed() <= Duration::from_millis(2_100), "{report}");
///
/// // One error in fifty must not open it.
/// let report = simulate(&RULES, Scenario::errors(2));
/// assert_eq!(report.trips(), 0, "{report}");
/// ```
///
/// # Panics
/// If the settings do not fit, with what to do about it; if a call of the scenario takes longer than 71 min,
/// or its callers cannot make as many.
pub fn simulate(config: &Config, scenario: Scenario) -> SimulationReport {
    let return_ms = config.gradual_return.map_or(0, |back| back.over_ms);
    let mut report = SimulationReport::new(scenario, u64::from(return_ms) * 1_000);
    let watch = |call: &_, completion| report.add(call, completion);
    match run(
        Some(config),
        BreakerScope::Single,
        scenario.seed,
        scenario.calls(),
        scenario.server(),
        watch,
    ) {
        Ok(changes) => report.changes = changes,
        Err(RegistryError::Config(error)) => panic!("{}", ConfigError::message(error)),
        Err(error) => panic!("{error}"),
    }
    report
}
