// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of the TCP server and their times: two scenes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::scene::{Scene, ms};

/// The mode of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Healthy,
    /// There is no server.
    Killed,
    /// Accepts connections and never responds.
    Hanging,
    /// Responds late.
    Slow,
    /// Has just started: each response warms it. When overloaded, it breaks down for a while and is cold again.
    Cold,
}

impl Mode {
    const ALL: [Self; 5] = [
        Self::Healthy,
        Self::Killed,
        Self::Hanging,
        Self::Slow,
        Self::Cold,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Killed => "killed",
            Self::Hanging => "hanging",
            Self::Slow => "slow",
            Self::Cold => "cold",
        }
    }

    /// Returns whether a call sent to the server now can only fail.
    pub(crate) const fn is_dead(self) -> bool {
        matches!(self, Self::Killed | Self::Hanging)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| format!("{name} is not a mode"))
    }
}

/// The server dies in each possible way, and works again.
pub(crate) const OUTAGE: Scene<Mode> = Scene {
    timeline: &[
        (ms(0), Mode::Healthy),
        (ms(1_200), Mode::Killed),
        (ms(2_800), Mode::Hanging),
        (ms(4_400), Mode::Slow),
        (ms(5_600), Mode::Healthy),
    ],
    end: ms(7_500),
};

/// The server is restarted, and cannot bear the whole load at once.
pub(crate) const COLD_START: Scene<Mode> = Scene {
    timeline: &[
        (ms(0), Mode::Healthy),
        (ms(800), Mode::Killed),
        (ms(1_600), Mode::Cold),
    ],
    end: ms(5_500),
};

/// The delay of a slow server.
pub(crate) const SLOW: Duration = ms(150);
