//! Random numbers that a seed repeats: `SplitMix64`.

#[derive(Clone, Copy, Debug)]
pub(in crate::fleet) struct Random(pub(in crate::fleet) u64);

impl Random {
    pub(in crate::fleet) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to `most`, both included.
    pub(in crate::fleet) fn up_to(&mut self, most: u64) -> u64 {
        ((u128::from(self.draw()) * (u128::from(most) + 1)) >> 64) as u64
    }
}
