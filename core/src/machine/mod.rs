//! The machine: pure functions from one circuit to the next.
//!
//! Each arrow of the [life cycle](crate::state) is one function here, and nothing here touches an
//! atomic: [`Breaker`](crate::Breaker) applies the functions in the one compare-and-swap loop of the
//! crate. The law: a step that changes the state, or begins a new round of probes, raises the epoch
//! by one and names a cause; any other step keeps the epoch.
//!
//! [`Now`](crate::clock::Now) is read when asked, so that a step that needs no time reads no clock.

mod admit;
mod control;
mod report;
mod wait;

pub(crate) use control::Command;
pub(crate) use report::Fail;

use crate::circuit::{Circuit, Phase};
use crate::config::Config;
use crate::observer::Cause;
use crate::time::Timeline;
use crate::word::Layout;

/// What every step may look at: the rules and the shape of the word.
#[derive(Clone, Copy)]
pub(crate) struct Machine<'a> {
    pub(crate) config: &'a Config,
    pub(crate) layout: Layout,
    pub(crate) time: Timeline,
}

/// What becomes of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Step {
    /// Nothing to change.
    Stay,
    /// A change within the epoch: a count, a slot.
    Within(Circuit),
    /// A transition.
    To(Circuit, Cause),
}

impl<'a> Machine<'a> {
    #[inline]
    pub(crate) const fn new(config: &'a Config, layout: Layout) -> Self {
        Self {
            config,
            layout,
            time: Timeline::new(layout, config),
        }
    }

    /// Into the next epoch.
    fn enter(self, from: Circuit, phase: Phase, trips: u32, cause: Cause) -> Step {
        let epoch = (from.epoch + 1) & self.layout.epoch.max();
        Step::To(
            Circuit {
                epoch,
                trips,
                phase,
            },
            cause,
        )
    }
}
