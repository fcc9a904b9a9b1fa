// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sources that are shown: registries and single breakers of any type, and fleets.

mod registry;
mod single;
#[cfg(all(feature = "mapped", unix, target_has_atomic = "64"))]
mod slab;

pub(super) use registry::OfRegistry;
pub(super) use single::OfSingle;
#[cfg(all(feature = "mapped", unix, target_has_atomic = "64"))]
pub(super) use slab::OfSlab;

use std::sync::Arc;

use atomic_breaker_server::{Config, Control, Enforcement, LastFailure, Snapshot};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::response::Problem;
use super::timeline::unix_ms;

/// A registry or a breaker, and the name under which it is shown.
pub(super) struct ShownSource {
    pub(super) name: Arc<str>,
    pub(super) source: Box<dyn Source>,
}

pub(super) type OnBreaker<'a> = &'a mut dyn FnMut(&dyn Control);

/// A registry or a breaker that is shown.
pub(super) trait Source: Send + Sync {
    /// Returns whether it is a registry.
    fn has_keys(&self) -> bool;

    /// The information about the source as a whole.
    fn head(&self) -> Value;

    /// Visits one breaker after another, with the name of its key in a registry.
    fn visit(&self, visit: &mut dyn FnMut(Option<&str>, SeenBreaker));

    /// Commands one breaker, if it exists.
    fn command(&self, key: Option<&str>, command: OnBreaker<'_>) -> Result<(), Problem>;

    /// The rules of a key, or the common ones.
    fn rules(&self, key: Option<&str>) -> Result<Config, Problem>;

    /// Sets rules; if `dry`, only checks whether they could be set. Returns the previous rules, and whether that is a change: a
    /// key may get the common ones as its own.
    fn set_rules(
        &self,
        key: Option<&str>,
        rules: Config,
        dry: bool,
    ) -> Result<(Config, bool), Problem>;

    /// Removes a key's own rules; if `dry`, changes nothing. Returns the rules that apply then, and whether any were
    /// removed.
    fn clear_rules(&self, key: Option<&str>, dry: bool) -> Result<(Config, bool), Problem>;

    /// Shadow mode, if there is one.
    fn enforcement(&self) -> Option<&Enforcement>;

    /// Tells the observer of a single breaker that callers are waiting: none is rejected, as they are sent elsewhere.
    fn note_waiting(&self) {}
}

/// A breaker and its state.
#[derive(Debug, Serialize)]
pub(super) struct SeenBreaker {
    #[serde(flatten)]
    pub(super) snapshot: Snapshot,
    #[serde(serialize_with = "text_and_time")]
    pub(super) last_failure: Option<Arc<LastFailure>>,
    pub(super) has_own_rules: bool,
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn text_and_time<S: Serializer>(
    failure: &Option<Arc<LastFailure>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let failure = failure.as_ref();
    let shown = failure.map(|it| json!({ "text": it.text, "at": unix_ms(it.at) }));
    shown.serialize(to)
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` passes it")]
fn not_set(error: impl ToString) -> Problem {
    Problem::unprocessable(error.to_string())
}

/// The one key of this name, among those that have a slot.
fn only<K: PartialEq>(
    wanted: Option<&str>,
    keys: impl Iterator<Item = (String, K)>,
) -> Result<K, Problem> {
    let missing = || Problem::bad_request("a key is missing: name one of the registry's");
    let wanted = wanted.ok_or_else(missing)?;
    let mut found = keys.filter(|(name, _)| name == wanted);
    let (_, first) = found.next().ok_or_else(absent)?;
    if found.any(|(_, other)| other != first) {
        return Err(Problem::conflict(
            "several keys have this name, so none was changed: give them different Display texts",
        ));
    }
    Ok(first)
}

fn absent() -> Problem {
    Problem::not_found(
        "this key has no slot: it has never failed, or has given its slot to another one while it was closed. Its calls pass, and \
         there is nothing to change",
    )
}

/// A fleet that this process has joined.
#[cfg(feature = "fleet")]
pub(super) struct ShownFleet {
    pub(super) name: Arc<str>,
    pub(super) status: tokio::sync::watch::Receiver<atomic_breaker_fleet::FleetStatus>,
    pub(super) holds: atomic_breaker_fleet::FleetHolds,
}

/// The reports of the fleets on a breaker that one of them holds open.
#[cfg(feature = "fleet")]
pub(super) fn hold(fleets: &[ShownFleet], of: &str, key: Option<&str>) -> Option<Value> {
    use atomic_breaker_fleet::FleetStage;

    let full = key.map(|key| format!("{of}/{key}"));
    let full = full.as_deref().unwrap_or(of);
    let found = fleets
        .iter()
        .find_map(|fleet| Some((fleet, fleet.holds.of(full)?)));
    let (fleet, hold) = found?;
    let stage = match hold.stage {
        FleetStage::Waiting => "waiting",
        FleetStage::Due => "due",
        FleetStage::ProbedHere => "probed-here",
        FleetStage::ProbedElsewhere => "probed-elsewhere",
        _ => "alone",
    };
    Some(json!({
        "name": fleet.name,
        "stage": stage,
        "probe_in_ms": hold.probe_in.as_millis() as u64,
        "is_tripped_here": hold.is_tripped_here,
    }))
}

/// The standing of this process in a fleet.
#[cfg(feature = "fleet")]
pub(super) fn fleet(fleet: &ShownFleet) -> Value {
    let status = fleet.status.borrow().clone();
    // An error means that the sender, which would change it, is gone: this process has left.
    let is_joined = fleet.status.has_changed().is_ok();
    json!({
        "name": fleet.name,
        "is_joined": is_joined,
        "is_connected": is_joined && status.is_connected,
        "living": status.living,
        "is_below_quorum": status.is_below_quorum,
        "breakers": status.breakers,
        "open": status.open,
        "unanswered": status.unanswered,
        "last_error": status.last_error.map(|error| super::text::bounded(&error, 512)),
        "overflows": status.overflows,
        "left_alone": status.left_alone,
        "withheld": status.withheld,
    })
}
