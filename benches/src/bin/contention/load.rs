// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loads that the threads put on the one breaker.

use benches::cases;
use benches::contestant::{
    AtomicBreaker, Bare, BreakerCrate, CircuitBreakerCrate, CircuitbreakerRs, Coarse, Contestant,
    Failsafe, Nobreak, Recloser, TowerResilience, WithTally,
};
use benches::rounds::Case;
use benches::yardstick;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    Closed,
    SomeFail,
    HalfFail,
    Open,
}

impl Load {
    pub(crate) const ALL: [Self; 4] = [Self::Closed, Self::SomeFail, Self::HalfFail, Self::Open];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Closed => "Closed, all succeed",
            Self::SomeFail => "Closed, 1 of 100 fails",
            Self::HalfFail => "Closed, every second fails",
            Self::Open => "Open, all are rejected",
        }
    }

    /// All contestants under this load; the closed calls also have the yardsticks beside them.
    pub(crate) fn cases(self) -> Vec<Case> {
        match self {
            Self::Closed => {
                let mut cases = vec![cases::closed::<Bare>()];
                cases.extend(self.contestants());
                cases.extend(yardstick::SHARED.map(|make| make()));
                cases
            }
            // Black boxes cost something by themselves.
            Self::SomeFail | Self::HalfFail => {
                let mut cases = vec![self.case::<Bare>()];
                cases.extend(self.contestants());
                cases
            }
            Self::Open => {
                let mut cases = vec![self.case::<AtomicBreaker>(), self.case::<Coarse>()];
                cases.extend(self.peers());
                cases.extend(yardstick::CLOCKS.iter().map(|make| make()));
                cases
            }
        }
    }

    fn contestants(self) -> Vec<Case> {
        let mut contestants = vec![self.case::<AtomicBreaker>(), self.case::<WithTally>()];
        contestants.extend(self.peers());
        contestants
    }

    fn peers(self) -> [Case; 7] {
        [
            self.case::<Failsafe>(),
            self.case::<Recloser>(),
            self.case::<TowerResilience>(),
            self.case::<CircuitbreakerRs>(),
            self.case::<CircuitBreakerCrate>(),
            self.case::<BreakerCrate>(),
            self.case::<Nobreak>(),
        ]
    }

    fn case<C: Contestant>(self) -> Case {
        match self {
            Self::Closed => cases::closed::<C>(),
            Self::SomeFail => cases::mixed::<C, 100>(),
            Self::HalfFail => cases::mixed::<C, 2>(),
            Self::Open => cases::rejected::<C>(),
        }
    }
}
