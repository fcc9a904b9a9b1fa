//! A log that is larger than memory.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fmt;
use std::io::BufRead;

use super::calls::Calls;
use super::error::{ReadError, Skipped};
use crate::call::Call;

/// A log that is read call by call, in the order of their start.
pub struct Stream<R> {
    calls: Calls<R>,
    window: BinaryHeap<Reverse<ByStart>>,
    first_us: Option<u64>,
    released_us: u64,
    late: u64,
}

impl<R> fmt::Debug for Stream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("late", &self.late)
            .finish_non_exhaustive()
    }
}

struct ByStart(Call);

impl PartialEq for ByStart {
    fn eq(&self, other: &Self) -> bool {
        self.0.start_us == other.0.start_us
    }
}

impl Eq for ByStart {}

impl PartialOrd for ByStart {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByStart {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.start_us.cmp(&other.0.start_us)
    }
}

impl<R: BufRead> Stream<R> {
    pub(super) fn new(calls: Calls<R>) -> Self {
        Self {
            calls,
            window: BinaryHeap::new(),
            first_us: None,
            released_us: 0,
            late: 0,
        }
    }

    /// How many calls a line may come late, as servers write a line when a call ends: 65,536.
    pub const WINDOW: usize = 1 << 16;

    /// What was skipped, once all calls are read; or why reading ended.
    pub fn end(self) -> Result<Skipped, ReadError> {
        let late = self.late;
        let (_, mut skipped) = self.calls.end()?;
        if late > 0 {
            skipped.count += late;
            let why = format!("{late} lines came too late, after {} others", Self::WINDOW);
            skipped.first.push((skipped.lines, why));
        }
        Ok(skipped)
    }
}

impl<R: BufRead> Iterator for Stream<R> {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        loop {
            while self.window.len() < Self::WINDOW {
                let Some(call) = self.calls.next() else { break };
                self.window.push(Reverse(ByStart(call)));
            }
            let Reverse(ByStart(call)) = self.window.pop()?;
            if call.start_us < self.released_us {
                self.late += 1;
                continue;
            }
            self.released_us = call.start_us;
            let first = *self.first_us.get_or_insert(call.start_us);
            return Some(call.at(call.start_us - first));
        }
    }
}
