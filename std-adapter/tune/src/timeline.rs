//! What became of the calls of a stretch of time, moment by moment.

use atomic_breaker::Config;
use atomic_breaker_server::RegistryError;

use crate::call::{Call, Ending};
use crate::engine::Watch;
use crate::figures::{UsefulWithin, Worth};
use crate::guard::Change;
use crate::log::Log;
use crate::replay::Replay;

/// The calls that began in one moment of a [`Timeline`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moment {
    /// Made, with a useful answer.
    pub useful: u32,
    /// Made in vain.
    pub wasted: u32,
    /// Made, and nothing is known of the resource.
    pub neither: u32,
    /// Rejected, though they would have had a useful answer.
    pub healthy_rejected: u32,
    /// Rejected, and they would have been in vain.
    pub spared: u32,
}

/// A stretch of a replay in moments of the same length.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Timeline {
    /// The moments, in order.
    pub moments: Vec<Moment>,
    /// What the breakers did in all of the log.
    pub changes: Vec<Change>,
}

impl Replay {
    /// Replays a log and shows a stretch of it, from one moment to another in microseconds, in so many parts, at least one.
    /// Without settings there is no breaker.
    pub fn timeline(
        &self,
        config: Option<&Config>,
        log: &Log,
        (from_us, until_us): (u64, u64),
        moments: usize,
    ) -> Result<Timeline, RegistryError> {
        let mut watch = Moments {
            parts: vec![Moment::default(); moments.max(1)],
            from_us,
            length_us: (until_us.saturating_sub(from_us) / moments.max(1) as u64).max(1),
            useful: self.useful(),
        };
        let changes = self.play_log(config, log, |call| call, &mut watch)?;
        Ok(Timeline {
            moments: watch.parts,
            changes,
        })
    }
}

struct Moments {
    parts: Vec<Moment>,
    from_us: u64,
    length_us: u64,
    useful: UsefulWithin,
}

impl Moments {
    fn of(&mut self, call: &Call) -> Option<&mut Moment> {
        let since = call.start_us.checked_sub(self.from_us)?;
        self.parts
            .get_mut(usize::try_from(since / self.length_us).ok()?)
    }
}

impl Watch for Moments {
    fn rejected(&mut self, call: &Call) {
        let is_useful = self.useful.worth(call.ending()) == Worth::Useful;
        if let Some(moment) = self.of(call) {
            if is_useful {
                moment.healthy_rejected += 1;
            } else {
                moment.spared += 1;
            }
        }
    }

    fn made(&mut self, call: &Call, ending: Ending) {
        let worth = self.useful.worth(ending);
        if let Some(moment) = self.of(call) {
            match worth {
                Worth::Useful => moment.useful += 1,
                Worth::Wasted => moment.wasted += 1,
                Worth::Neither => moment.neither += 1,
            }
        }
    }
}
