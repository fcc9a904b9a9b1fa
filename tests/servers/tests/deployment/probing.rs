// SPDX-License-Identifier: MIT OR Apache-2.0
//! The prober: one instance for the whole fleet, where nothing disturbs it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::client::Target;
use crate::concerns::Matter;
use crate::net::HOSTS;
use crate::plan::{Plan, SECOND};
use crate::trace::holds;
use crate::world::World;

/// The probes of each dependency that are under way, by a number of the probe; those that began in time.
#[derive(Debug, Default)]
pub(crate) struct Probing {
    by: Mutex<[BTreeMap<u64, String>; HOSTS]>,
    probes: AtomicU64,
    /// The number of probes that were begun while nothing disturbed the fleet.
    checked: AtomicU64,
}

/// A probe under way.
pub(crate) struct Probe<'a> {
    of: &'a Probing,
    host: usize,
    number: u64,
}

impl Probing {
    /// A probe begins, after this open time, which has been over for so long.
    pub(crate) fn begin(
        &self,
        world: &World,
        name: &str,
        host: usize,
        (open, over): (Duration, Duration),
    ) -> Probe<'_> {
        let number = self.probes.fetch_add(1, Relaxed);
        let mut probing = self.by.lock().unwrap();
        // The right of an instance that is not called for half a grace lapses, and its next call is a probe all the same. The
        // grace is that of the fleet's open time, which is no shorter than that of each instance.
        let origin = Target::Host(host).origin();
        let opened = world.instances();
        let opened = opened.map(|(_, instance)| instance.client.shown().opened(&origin).0);
        let shortest = opened.filter(|time| !time.is_zero()).min();
        if over < Plan::grace_of(shortest.unwrap_or(open)) / 2 {
            if is_promised(world, host, open) {
                self.checked.fetch_add(1, Relaxed);
                let others: Vec<_> = probing[host]
                    .values()
                    .filter(|other| *other != name)
                    .collect();
                holds!(
                    "one prober in a fleet",
                    others.is_empty(),
                    "{name} probes {} after {open:?}, and so do {others:?}",
                    Target::Host(host).node()
                );
            }
            probing[host].insert(number, name.to_owned());
        }
        Probe {
            of: self,
            host,
            number,
        }
    }

    pub(crate) fn checked(&self) -> u64 {
        self.checked.load(Relaxed)
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        self.of.by.lock().unwrap()[self.host].remove(&self.number);
    }
}

/// Returns whether there may be one prober only: all instances know of the period, which is long enough for calls to
/// come in time, and no message, engine, clock or instance has been disturbed for a while.
fn is_promised(world: &World, host: usize, open: Duration) -> bool {
    let calm = world.concerns.well_for(&[Matter::Fleet]);
    let is_calm = calm.is_some_and(|calm| calm > world.plan.shops_bound());
    let name = format!("hosts/{}", Target::Host(host).origin());
    let is_held = || {
        let mut shops = world
            .instances()
            .filter_map(|(_, instance)| instance.shop.as_ref()?.fleet());
        shops.all(|(status, holds)| status.is_connected && holds.of(&name).is_some())
    };
    open >= 4 * SECOND && is_calm && is_held()
}
