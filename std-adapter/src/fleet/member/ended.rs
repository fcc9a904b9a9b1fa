//! The last periods that have ended, as far as this instance was told.

/// How many are remembered: a period further back, if an engine falls back to it, is new to every instance.
const REMEMBERED: usize = 8;

/// Their marks, the latest first.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::fleet) struct Ended([Option<u64>; REMEMBERED]);

impl Ended {
    pub(in crate::fleet) fn is_empty(&self) -> bool {
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

#[cfg(test)]
impl Ended {
    pub(super) fn key(&self, key: &mut super::super::model::Key) {
        for mark in self.0 {
            key.mark(mark);
        }
    }
}
