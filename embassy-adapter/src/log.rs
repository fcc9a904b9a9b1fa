// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines for the debug probe, or the console.

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
#[cfg(feature = "defmt")]
#[derive(Clone, Copy, Debug)]
pub struct DefmtLog {
    name: &'static str,
}

#[cfg(feature = "defmt")]
impl DefmtLog {
    /// Creates an observer whose lines begin with the name.
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }
}

#[cfg(feature = "defmt")]
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

/// An observer that writes a line per transition through the facade [`log`](::log), at level `warn` when the breaker opens
/// and `info` otherwise, and one per rejection at level `debug`. The target of its lines is `atomic_breaker`.
///
/// Lines contain formatted text, which takes flash: `DefmtLog` leaves the formatting to the computer that reads them.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, FacadeLog, word::NativeWord};
///
/// // radio: closed -> open: failures reached the limit, for 5s
/// static RADIO: Breaker<EmbassyClock, NativeWord, (), FacadeLog> =
///     Breaker::builder(Config::new(), EmbassyClock).observer(FacadeLog::new("radio")).build();
/// # let _ = &RADIO;
/// ```
#[cfg(feature = "log")]
#[derive(Clone, Copy, Debug)]
pub struct FacadeLog {
    name: &'static str,
}

#[cfg(feature = "log")]
impl FacadeLog {
    const TARGET: &str = "atomic_breaker";

    /// Creates an observer whose lines begin with the name.
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }
}

#[cfg(feature = "log")]
impl Observer for FacadeLog {
    fn transition(&self, transition: &Transition) {
        let level = match transition.to {
            State::Open | State::ForcedOpen => log::Level::Warn,
            _ => log::Level::Info,
        };
        log::log!(target: Self::TARGET, level, "{}: {transition}", self.name);
    }

    fn rejected(&self, rejected: Rejected) {
        log::debug!(target: Self::TARGET, "{}: {rejected}", self.name);
    }
}
