//! Random numbers that a seed reproduces: `SplitMix64`.

#[derive(Clone, Copy, Debug)]
pub(in crate::fleet) struct Random {
    state: u64,
    step: u64,
}

impl Random {
    pub(in crate::fleet) const fn new(seed: u64) -> Self {
        Self {
            state: seed,
            step: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Draws the same number every time, so that draws are not part of a state.
    #[cfg(test)]
    pub(in crate::fleet) const fn fixed(seed: u64) -> Self {
        Self {
            step: 0,
            ..Self::new(seed)
        }
    }

    pub(in crate::fleet) fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(self.step);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to `most`, both included.
    pub(in crate::fleet) fn up_to(&mut self, most: u64) -> u64 {
        ((u128::from(self.draw()) * (u128::from(most) + 1)) >> 64) as u64
    }
}
