//! Who probes: one instance for the whole fleet, where nothing disturbs it.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::client::Target;
use crate::concerns::Matter;
use crate::net::HOSTS;
use crate::plan::SECOND;
use crate::trace::holds;
use crate::world::World;

/// Whose probes of each dependency are under way: instances, and the number of the probe.
#[derive(Debug, Default)]
pub(crate) struct Probing {
    by: Mutex<[BTreeSet<(String, u64)>; HOSTS]>,
    probes: AtomicU64,
    /// How many were begun while nothing disturbed the fleet.
    checked: AtomicU64,
}

/// A probe under way.
pub(crate) struct Probe<'a> {
    of: &'a Probing,
    host: usize,
    by: (String, u64),
}

impl Probing {
    /// A probe begins after this open time.
    pub(crate) fn begin(&self, world: &World, name: &str, host: usize, open: Duration) -> Probe<'_> {
        let by = (name.to_owned(), self.probes.fetch_add(1, Relaxed));
        let mut probing = self.by.lock().unwrap();
        if is_promised(world, host, open) {
            self.checked.fetch_add(1, Relaxed);
            let others: Vec<_> = probing[host].iter().filter(|(other, _)| other != name).collect();
            holds!("one prober in a fleet", others.is_empty(), "{name} probes {} after {open:?}, and so do {others:?}", Target::Host(host).node());
        }
        probing[host].insert(by.clone());
        Probe { of: self, host, by }
    }

    pub(crate) fn checked(&self) -> u64 {
        self.checked.load(Relaxed)
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        self.of.by.lock().unwrap()[self.host].remove(&self.by);
    }
}

/// Whether there may be one prober only: all instances know of the period, which is long enough for calls to come in
/// time, and no message, engine, clock or instance has been disturbed for a while.
fn is_promised(world: &World, host: usize, open: Duration) -> bool {
    let calm = world.concerns.well_for(&[Matter::Fleet]);
    let is_calm = calm.is_some_and(|calm| calm > world.plan.shops_bound());
    let name = format!("hosts/{}", Target::Host(host).origin());
    let is_held = || {
        let mut shops = world.instances().filter_map(|(_, instance)| instance.shop.as_ref()?.fleet());
        shops.all(|(status, holds)| status.is_connected && holds.of(&name).is_some())
    };
    world.plan.noise == 0 && open >= 20 * SECOND && is_calm && is_held()
}
