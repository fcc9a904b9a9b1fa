//! The last periods that have ended, as far as this instance was told.

/// So many: an engine that falls back further is new to everybody.
const REMEMBERED: usize = 8;

/// By their marks, the last one first.
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
