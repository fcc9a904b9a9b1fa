// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which instances call.

pub(crate) struct Load {
    state: u64,
    /// The cumulative share of all calls, up to and including each instance.
    up_to: Vec<f64>,
}

impl Load {
    /// Evenly, or following Zipf's law: the n-th instance calls 1/n as often as the first.
    pub(crate) fn new(instances: u32, zipf: bool) -> Self {
        let mut sum = 0.0;
        let mut up_to = Vec::new();
        for rank in 1..=instances {
            sum += if zipf { 1.0 / f64::from(rank) } else { 1.0 };
            up_to.push(sum);
        }
        for share in &mut up_to {
            *share /= sum;
        }
        Self {
            state: 0x2545_F491_4F6C_DD1D,
            up_to,
        }
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    pub(crate) fn next(&mut self) -> usize {
        let random = f64::from(self.draw() as u32) / f64::from(u32::MAX);
        let place = self.up_to.partition_point(|share| *share < random);
        place.min(self.up_to.len() - 1)
    }
}
