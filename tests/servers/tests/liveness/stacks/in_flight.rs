// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker that trips on calls that pile up.

use std::sync::Arc;

use atomic_breaker_server::InFlightLimit;
use atomic_breaker_tower::{BreakerLayer, TimeLimitLayer};
use tower::{Layer, ServiceExt};

use super::layers::{Guarded, Kind, Layered, seen, service, timed};
use crate::dice::Dice;
use crate::explore::explore;
use crate::host::LIMIT;
use crate::stack::{Answer, Caller};

/// More calls than are under way at once while the resource is healthy (one every 20 ms, each shorter than 900 ms), and
/// fewer than pile up when it hangs.
struct InFlight(Arc<InFlightLimit<Arc<Guarded>>>);

impl Kind for InFlight {
    fn new(resource: &Arc<Guarded>, dice: &mut Dice) -> Self {
        let most = dice.within(48..64);
        Self(Arc::new(
            InFlightLimit::new(Arc::clone(resource), most).tripping(),
        ))
    }

    async fn call(of: &Layered<Self>, caller: Caller) -> Answer {
        let service = TimeLimitLayer::new(LIMIT).layer(service(&of.host, caller));
        let layer = BreakerLayer::new(Arc::clone(&of.kind.0)).classify(timed);
        seen(&layer.layer(service).oneshot(()).await)
    }
}

#[test]
fn a_limit_of_calls_in_flight() {
    explore::<Layered<InFlight>>("stacks::in_flight::a_limit_of_calls_in_flight", 30);
}
