// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fields that distinguish two states.

use std::hash::{DefaultHasher, Hasher};

/// Further back than any time that is compared.
const LONG_AGO_MS: u64 = 4_000;

/// A state, encoded so that two with the same future are equal: times are relative to now, marks by their first
/// appearance, epochs by their order and by how far they lead the engine's clock.
#[derive(Default)]
pub(super) struct Key {
    bytes: Vec<u8>,
    marks: Vec<u64>,
    epochs: Vec<u64>,
}

impl Key {
    pub(super) fn number(&mut self, number: u64) {
        self.bytes.extend(number.to_le_bytes());
    }

    /// A time until which a condition holds.
    pub(super) fn until(&mut self, time: u64, now_ms: u64) {
        self.number(time.saturating_sub(now_ms));
    }

    /// A time in the past.
    pub(super) fn ago(&mut self, time: Option<u64>, now_ms: u64) {
        let ago = time.map_or(LONG_AGO_MS, |time| now_ms.saturating_sub(time));
        self.number(ago.min(LONG_AGO_MS));
    }

    pub(super) fn mark(&mut self, mark: Option<u64>) {
        let Some(mark) = mark else {
            return self.bytes.push(u8::MAX);
        };
        let place = self.marks.iter().position(|&other| other == mark);
        let place = place.unwrap_or_else(|| {
            self.marks.push(mark);
            self.marks.len() - 1
        });
        self.bytes.push(place as u8);
    }

    pub(super) fn epoch(&mut self, epoch: u64) {
        self.epochs.push(epoch);
    }

    /// 128 bits of it, with the clock of the engine.
    pub(super) fn digest(mut self, engine_ms: u64) -> u128 {
        let mut sorted = self.epochs.clone();
        sorted.sort_unstable();
        sorted.dedup();
        for epoch in std::mem::take(&mut self.epochs) {
            self.number(sorted.partition_point(|&other| other < epoch) as u64);
            self.number(epoch.saturating_sub(engine_ms));
        }
        let half = |salt| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(salt);
            hasher.write(&self.bytes);
            u128::from(hasher.finish())
        };
        half(1) << 64 | half(2)
    }
}
