//! Lines for the debug probe.

use atomic_breaker::{Observer, Rejected, State, Transition};

/// An observer that writes a `defmt` line per transition, one more with the open time when it opens, and one
/// per rejection at level `debug`.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, DefmtLog, EmbassyClock, word::NativeWord};
///
/// static RADIO: Breaker<EmbassyClock, NativeWord, (), DefmtLog> =
///     Breaker::builder(Config::new(), EmbassyClock).observer(DefmtLog::new("radio")).build();
/// # let _ = &RADIO;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DefmtLog {
    name: &'static str,
}

impl DefmtLog {
    /// Creates an observer whose lines begin with the name.
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }
}

impl Observer for DefmtLog {
    fn transition(&self, transition: &Transition) {
        defmt::info!(
            "{=str}: {} -> {} at {=u32} ms, {}",
            self.name,
            transition.from,
            transition.to,
            transition.at_ms,
            transition.cause
        );
        if transition.to == State::Open {
            defmt::info!(
                "{=str}: open for {=u32} ms",
                self.name,
                transition.open_for_ms
            );
        }
    }

    fn rejected(&self, rejected: Rejected) {
        defmt::debug!("{=str}: rejected, {}", self.name, rejected);
    }
}
