//! What happens to the server, and when: two scenes.

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
    /// Has just come up: each answer warms it. Asked for more than it can bear, it breaks down for a
    /// while and is cold again.
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
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| format!("{name} is no mode"))
    }
}

/// A course of events.
pub(crate) struct Scene {
    /// The modes in order, and from when on each holds.
    pub(crate) timeline: &'static [(Duration, Mode)],
    /// When it is over.
    pub(crate) end: Duration,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The server dies in each way there is, and works again.
pub(crate) const OUTAGE: Scene = Scene {
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
pub(crate) const COLD_START: Scene = Scene {
    timeline: &[
        (ms(0), Mode::Healthy),
        (ms(800), Mode::Killed),
        (ms(1_600), Mode::Cold),
    ],
    end: ms(5_500),
};

/// How late a slow server answers.
pub(crate) const SLOW: Duration = ms(150);

impl Scene {
    /// The mode at a time.
    pub(crate) fn mode_at(&self, time: Duration) -> Mode {
        let begun = self.timeline.iter().rev().find(|(from, _)| *from <= time);
        begun.map_or(Mode::Healthy, |(_, mode)| *mode)
    }

    /// Each mode with its begin and end.
    pub(crate) fn modes(&self) -> impl Iterator<Item = (Duration, Duration, Mode)> {
        let ends = self.timeline.iter().skip(1).map(|(from, _)| *from);
        let ends = ends.chain([self.end]);
        self.timeline
            .iter()
            .zip(ends)
            .map(|((from, mode), until)| (*from, until, *mode))
    }

    /// When the last mode begins: the server answers again.
    pub(crate) fn recovery(&self) -> Duration {
        self.timeline.last().map_or(self.end, |(from, _)| *from)
    }
}
