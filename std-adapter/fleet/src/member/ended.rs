//! The last periods that have ended, as far as this instance was told.

/// How many are remembered: a period further back, if an engine falls back to it, is new to every instance.
const REMEMBERED: usize = 8;

/// Their marks, the latest first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ended(pub(crate) [Option<u64>; REMEMBERED]);

impl Ended {
    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [None; REMEMBERED]
    }

    pub(super) fn add(&mut self, mark: u64) {
        if !self.has(mark) {
            self.0.rotate_right(1);
            self.0[0] = Some(mark);
        }
    }

    pub(super) fn has(&self, mark: u64) -> bool {
        self.0.contains(&Some(mark))
    }
}
