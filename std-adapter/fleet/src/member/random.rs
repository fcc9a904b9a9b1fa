//! Random numbers that a seed reproduces: `SplitMix64`.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Random {
    pub(crate) state: u64,
    pub(crate) step: u64,
}

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            state: seed,
            step: 0x9E37_79B9_7F4A_7C15,
        }
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(self.step);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to `most`, both included.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        ((u128::from(self.draw()) * (u128::from(most) + 1)) >> 64) as u64
    }
}
