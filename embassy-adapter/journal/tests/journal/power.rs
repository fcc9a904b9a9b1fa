// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power that fails, and what it leaves of what was being written or erased.

use super::random::Random;

/// Time is counted in moments, of which each operation takes some.
#[derive(Default)]
pub(crate) struct Power {
    /// Moments until it fails.
    left: Option<u64>,
    pub(crate) is_off: bool,
    /// Moments so far.
    pub(crate) spent: u64,
}

impl Power {
    pub(crate) fn cut_after(&mut self, moments: u64) {
        self.left = Some(moments);
    }

    pub(crate) fn up(&mut self) {
        (self.left, self.is_off) = (None, false);
    }

    /// The number of these moments for which the power lasts: all, unless it fails.
    pub(crate) fn spend(&mut self, moments: u64) -> u64 {
        let lasts = self.left.map_or(moments, |left| left.min(moments));
        self.is_off |= lasts < moments;
        self.left = self.left.map(|left| left - lasts);
        self.spent += lasts;
        lasts
    }
}

/// "The contents of the written words are undefined." Some of the bits of one byte are written, or the whole word is noise.
pub(crate) fn tear_write(
    word: &mut [u8],
    (at, byte): (usize, u8),
    clears_only: bool,
    random: &mut Random,
) {
    if clears_only || random.one_in(2) {
        word[at] &= byte | random.byte();
    } else {
        word.fill_with(|| random.byte());
    }
}

/// "If power is lost during erase, contents of the page are undefined."
pub(crate) fn tear_erase(page: &mut [u8], done: usize, random: &mut Random) {
    let (kind, len) = (random.below(5), page.len());
    for (at, byte) in page.iter_mut().enumerate() {
        match kind {
            0 if at < done => *byte = 0xFF,
            1 if at >= len - done => *byte = 0xFF,
            2 => *byte |= random.byte(),
            3 => *byte = random.byte(),
            4 if at % 64 < 4 => *byte = 0xFF,
            _ => {}
        }
    }
}
