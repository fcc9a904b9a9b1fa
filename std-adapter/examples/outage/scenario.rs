//! What happens to the server, and when.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How the server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Healthy,
    /// There is no server.
    Killed,
    /// Accepts connections and never answers.
    Hanging,
    /// Answers late.
    Slow,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Killed => "killed",
            Self::Hanging => "hanging",
            Self::Slow => "slow",
        }
    }

    /// Whether a call sent to the server now can only fail.
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
        [Self::Healthy, Self::Killed, Self::Hanging, Self::Slow]
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| format!("{name} is no mode"))
    }
}

/// The modes in order, and from when on each holds.
pub(crate) const TIMELINE: [(Duration, Mode); 5] = [
    (Duration::ZERO, Mode::Healthy),
    (Duration::from_millis(1_500), Mode::Killed),
    (Duration::from_millis(3_500), Mode::Hanging),
    (Duration::from_millis(5_500), Mode::Slow),
    (Duration::from_secs(7), Mode::Healthy),
];

/// When it is over.
pub(crate) const END: Duration = Duration::from_secs(9);

/// When the last mode begins: the server works again.
pub(crate) const RECOVERY: Duration = TIMELINE[TIMELINE.len() - 1].0;

/// How late a slow server answers.
pub(crate) const SLOW: Duration = Duration::from_millis(150);

/// The mode at a time.
pub(crate) fn mode_at(time: Duration) -> Mode {
    TIMELINE
        .iter()
        .rev()
        .find(|(from, _)| *from <= time)
        .map_or(Mode::Healthy, |(_, mode)| *mode)
}
