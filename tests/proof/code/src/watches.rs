// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that only look.

use atomic_breaker::word::Bits as _;
use atomic_breaker::{Config, Rules};

use crate::{Bits, Word, guard};

/// A snapshot as numbers; `u32::MAX` is `None`.
#[repr(C)]
pub struct Shown([u32; 15]);

#[unsafe(no_mangle)]
pub extern "C" fn p_snapshot(word: &Word, rules: &Rules<Bits>, shown: &mut Shown) -> u32 {
    let snapshot = guard(word, rules).snapshot();
    let rejection = snapshot.rejection();
    shown.0 = [
        snapshot.state() as u32,
        snapshot.entered() as u32,
        snapshot.epoch().into(),
        snapshot.failures().into(),
        snapshot.trips().into(),
        snapshot.probes_in_flight().into(),
        snapshot.successes().into(),
        snapshot.lost_rounds().into(),
        snapshot.returning_percent().map_or(u32::MAX, u32::from),
        snapshot.opened_at_ms().unwrap_or(u32::MAX),
        snapshot.is_demanded().into(),
        rejection.map_or(u32::MAX, |rejected| rejected.state() as u32),
        snapshot.is_due().into(),
        rejection
            .and_then(|rejected| rejected.retry_in_ms())
            .unwrap_or(u32::MAX),
        snapshot
            .open_for()
            .map_or(u32::MAX, |time| time.as_millis() as u32),
    ];
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn p_state(word: &Word, rules: &Rules<Bits>) -> u32 {
    guard(word, rules).state() as u32
}

#[unsafe(no_mangle)]
pub extern "C" fn p_is_valid(bits: Bits) -> u32 {
    bits.check().is_ok().into()
}

/// Returns whether rules are accepted.
#[unsafe(no_mangle)]
pub extern "C" fn p_accepts(config: &Config) -> u32 {
    Rules::<Bits>::try_new(*config).is_ok().into()
}
