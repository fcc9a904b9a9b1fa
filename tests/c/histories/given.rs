// SPDX-License-Identifier: MIT OR Apache-2.0
//! The input of C: rules as it sets them, and tokens as bytes.

use std::mem::MaybeUninit;

use atomic_breaker::word::Word;
use atomic_breaker_c::types::{CRules, CSettings, CToken, Raw};
use tests::reference::{Growth, Rules, Trip};

use super::through::Side;

/// Without a setting, a failure may demand at most 5 minutes.
const MAX_RETRY_AFTER: u64 = 300_000;

/// The rules as C sets them.
pub(crate) fn settings(rules: &Rules) -> CSettings {
    let (failures, window_ms, lasting_ms) = match rules.trip {
        Trip::InARow(failures) => (failures, 0, 0),
        Trip::Lasting(failures, time) => (failures, 0, time as u32),
        Trip::Within(failures, window) => (failures, window as u32, 0),
        Trip::ByRatio => unreachable!("needs memory"),
    };
    let (growth_percent, growth_step_ms, max_open_ms) = match rules.growth {
        Some(Growth::Times(factor, max)) => (100 * factor as u32, 0, max as u32),
        Some(Growth::Percent(percent, max)) => (percent as u32, 0, max as u32),
        Some(Growth::Plus(step, max)) => (0, step as u32, max as u32),
        None => (0, 0, 0),
    };
    CSettings {
        failures,
        window_ms,
        lasting_ms,
        open_ms: rules.open_for as u32,
        growth_percent,
        growth_step_ms,
        max_open_ms,
        jitter_percent: rules.jitter.0 as u32,
        seed: rules.jitter.1,
        max_retry_after_ms: rules.max_retry_after.unwrap_or(MAX_RETRY_AFTER) as u32,
        probes: rules.probes as u32,
        // Which says the same.
        close_after: if rules.close_after as usize == rules.probes
            && rules.jitter.1.is_multiple_of(2)
        {
            0
        } else {
            rules.close_after
        },
        probe_lease_ms: rules.lease as u32,
        cancel_limit_ms: rules.cancel_limit as u32,
        slow_call_ms: rules.slow.unwrap_or(0) as u32,
        return_first_percent: rules.returning.map_or(0, |back| back.first_percent as u32),
        return_over_ms: rules.returning.map_or(0, |back| back.over as u32),
    }
}

/// Rules that C has checked.
pub(crate) fn checked<B: Side>(settings: &CSettings) -> Result<Box<CRules<B>>, String> {
    let mut rules = Box::new(MaybeUninit::<CRules<B>>::uninit());
    match B::init(rules.as_mut_ptr(), settings) {
        None => Ok(unsafe { rules.assume_init() }),
        Some(message) => Err(format!("{message}: {settings:?}")),
    }
}

pub(crate) type Token<W> = CToken<<<W as Word>::Bits as Raw>::Number>;

pub(crate) fn bytes<N: Copy>(token: CToken<N>) -> Vec<u8> {
    let at = (&raw const token).cast::<u8>();
    // A token of 64 bits ends with bytes that say nothing.
    (0..size_of::<N>() + 4)
        .map(|byte| unsafe { *at.add(byte) })
        .collect()
}

pub(crate) fn token<N: Copy + Default>(bytes: &[u8]) -> CToken<N> {
    let mut token = CToken::default();
    let at = (&raw mut token).cast::<u8>();
    for (byte, value) in bytes.iter().enumerate() {
        unsafe { *at.add(byte) = *value };
    }
    token
}
