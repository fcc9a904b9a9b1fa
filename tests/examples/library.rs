// SPDX-License-Identifier: MIT OR Apache-2.0
//! A library that has a breaker inside: a client that sends measurements to a collector.
//!
//! Its users bring a clock and the text of their settings. They see no breaker, no lock and no runtime,
//! and errors of the library's own. What it depends on: `atomic-breaker` with the feature `serde`,
//! `serde` and `toml`.
//!
//! ```console
//! cargo test -p tests --example library
//! ```

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

// All that users need of the breaker: what their clock must be.
pub use atomic_breaker::Clock;
use atomic_breaker::word::NativeWord;
use atomic_breaker::{Breaker, CallError, Config, LastCalls};
use serde::Deserialize;

/// The contents of the settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    station: String,
    /// The rules under the names of `Config`'s methods. What is left out has the default that the
    /// breaker gives it.
    #[serde(default)]
    breaker: Config,
}

/// Sends measurements to a collector, and lets it rest while it fails.
///
/// `C` is `StdClock` of `atomic-breaker-std` on a server, `EmbassyClock` of `atomic-breaker-embassy` on
/// a microcontroller, `ManualClock` in tests. The bound stands here because of `Debug`, which shows the
/// breaker as of now.
#[derive(Debug)]
pub struct Client<C: Clock> {
    station: String,
    /// The settings may have a failure ratio, which needs memory.
    breaker: Breaker<C, NativeWord, LastCalls>,
}

impl<C: Clock> Client<C> {
    /// A client with the settings in this text, in TOML.
    ///
    /// # Errors
    /// [`Error::Settings`] says what is wrong with them, the rules of the breaker included.
    pub fn from_toml(text: &str, clock: C) -> Result<Self, Error> {
        let Settings { station, breaker } = toml::from_str(text).map_err(Error::settings)?;
        let breaker = Breaker::builder(breaker, clock).last_calls(LastCalls::new());
        let breaker = breaker.try_build().map_err(Error::settings)?;
        Ok(Self { station, breaker })
    }

    /// Sends one measurement.
    ///
    /// # Errors
    /// [`Error::Io`] when it could not be sent; [`Error::Resting`], without a try, when too many could not.
    pub fn send(&self, collector: &mut impl Write, degrees: f32) -> Result<(), Error> {
        let send = || writeln!(collector, "{} {degrees}", self.station);
        Ok(self.breaker.call(send)?)
    }
}

/// The reason why a client could not be made, or a measurement not be sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The settings cannot be read, or their values do not fit.
    Settings(Box<dyn StdError + Send + Sync>),
    /// The collector has failed too often and is left alone for a while.
    Resting {
        /// The time after which to retry, if that is known.
        retry_in: Option<Duration>,
    },
    /// The collector could not be reached.
    Io(io::Error),
}

impl Error {
    fn settings(error: impl StdError + Send + Sync + 'static) -> Self {
        Self::Settings(error.into())
    }
}

/// Keeps the breaker's own errors out of the library's signatures.
impl From<CallError<io::Error>> for Error {
    fn from(error: CallError<io::Error>) -> Self {
        match error {
            CallError::Failed(error) => Self::Io(error),
            CallError::Rejected(rejected) => Self::Resting {
                retry_in: rejected.retry_in(),
            },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(_) => write!(f, "the settings do not fit"),
            Self::Resting {
                retry_in: Some(time),
            } => write!(f, "the collector rests for {time:?}"),
            Self::Resting { retry_in: None } => write!(f, "the collector rests"),
            Self::Io(_) => write!(f, "the collector could not be reached"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Settings(error) => Some(error.as_ref()),
            Self::Resting { .. } => None,
            Self::Io(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomic_breaker::ManualClock;

    const SETTINGS: &str = r#"
        station = "hut"

        [breaker]
        consecutive_failures = 2
        open_for_ms = 10_000
        exponential = { factor = 2, max_ms = 60_000 }
    "#;

    /// A collector that is down.
    struct Down;

    impl Write for Down {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionRefused.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn rests_after_two_failures_and_comes_back() -> Result<(), Error> {
        let clock = ManualClock::new();
        let client = Client::from_toml(SETTINGS, &clock)?;
        for _ in 0..2 {
            assert!(matches!(client.send(&mut Down, 3.5), Err(Error::Io(_))));
        }
        let mut collector = Vec::new();
        let resting = client.send(&mut collector, 3.5).unwrap_err();
        assert_eq!(resting.to_string(), "the collector rests for 10s");

        clock.advance(Duration::from_secs(10));
        client.send(&mut collector, 3.5)?;
        assert_eq!(collector, b"hut 3.5\n");
        Ok(())
    }

    #[test]
    fn wrong_settings_say_what_to_do() {
        let reason = |rules: &str| {
            let text = format!("station = 'hut'\n[breaker]\n{rules}");
            let error = Client::from_toml(&text, ManualClock::new()).unwrap_err();
            error.source().map(ToString::to_string).unwrap_or_default()
        };
        let zero = reason("probes = 0");
        assert_eq!(
            zero,
            "with 0 probes an open breaker never closes: set at least 1"
        );
        assert!(reason("open_for = 5").contains("unknown field `open_for`, expected one of"));
    }
}
