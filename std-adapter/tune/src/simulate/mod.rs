//! Outages of a kind, for a user's own tests.

mod report;
mod scenario;

pub use report::Report;
pub use scenario::Scenario;

use atomic_breaker::{Config, ConfigError};
use atomic_breaker_server::RegistryError;

use crate::call::{Call, Ending};
use crate::callers::Callers;
use crate::engine::{Watch, play};
use crate::figures::Score;
use crate::guard::Keys;

/// Plays a scenario before the real breaker with these settings, on a virtual clock: a minute takes milliseconds. The same
/// settings and the same scenario give the same report.
///
/// The rules of a `ClientConfig` of atomic-breaker-http are its `breaker_rules()`.
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
/// // Nobody should be shut out by one error in fifty.
/// let report = simulate(&RULES, Scenario::errors(2));
/// assert_eq!(report.trips(), 0, "{report}");
/// ```
///
/// # Panics
/// If the settings do not fit, with what to do about it.
pub fn simulate(config: &Config, scenario: Scenario) -> Report {
    let mut watch = (
        Score::new(1, scenario.useful()),
        Outage {
            scenario,
            made: Vec::new(),
            longest_us: 0,
        },
    );
    let (callers, every_us) = scenario.callers_and_beat();
    let source = Callers::new(callers, every_us, scenario.play());
    let changes = match play(Some(config), Keys::One, scenario.seed, source, &mut watch) {
        Ok(changes) => changes,
        Err(RegistryError::Config(error)) => panic!("{}", ConfigError::message(error)),
        Err(error) => panic!("{error}"),
    };
    let (score, outage) = watch;
    Report::new(
        scenario,
        score.total(),
        changes,
        outage.made,
        outage.longest_us,
    )
}

/// The calls that are made during the outage.
struct Outage {
    scenario: Scenario,
    made: Vec<u64>,
    longest_us: u32,
}

impl Watch for Outage {
    fn rejected(&mut self, _: &Call) {}

    fn made(&mut self, call: &Call, ending: Ending) {
        if self.scenario.is_outage(call.start_us) {
            self.made.push(call.start_us);
            self.longest_us = self.longest_us.max(ending.duration_us);
        }
    }
}
