//! Calls that were recorded, in the order of their start.

use std::collections::HashMap;

use crate::call::{Call, Ending};

/// A log in memory: 24 bytes a call, and its keys.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(crate) calls: Vec<Call>,
    keys: Vec<Box<str>>,
}

impl Log {
    /// Calls in any order, and the names of their keys, by number; there may be none. Calls begin at the first one's
    /// start.
    ///
    /// A call that a breaker rejected when the log was written gets the ending of the call of its key that began closest
    /// to it; if all calls of its key were rejected, it stays as it is.
    #[must_use]
    pub fn new(mut calls: Vec<Call>, keys: Vec<Box<str>>) -> Self {
        calls.sort_by_key(|call| call.start_us);
        let first = calls.first().map_or(0, |call| call.start_us);
        for call in &mut calls {
            call.start_us -= first;
        }
        fill_in(&mut calls);
        Self { calls, keys }
    }

    /// Its calls, in the order of their start.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The names of its keys, by number.
    pub fn keys(&self) -> &[Box<str>] {
        &self.keys
    }
}

/// Gives each rejected call the ending of its neighbour in time.
fn fill_in(calls: &mut [Call]) {
    if !calls.iter().any(Call::was_rejected) {
        return;
    }
    // First what was before, then, from the end, what comes after and is closer.
    let mut known: HashMap<u32, (u64, Ending)> = HashMap::new();
    let mut before: Vec<u64> = vec![u64::MAX; calls.len()];
    for (call, distance) in calls.iter_mut().zip(&mut before) {
        if !call.was_rejected() {
            known.insert(call.key, (call.start_us, call.ending()));
        } else if let Some((at, ending)) = known.get(&call.key) {
            *distance = call.start_us - at;
            *call = call.ending_with(*ending);
        }
    }
    known.clear();
    for (call, distance) in calls.iter_mut().zip(&before).rev() {
        if !call.was_rejected() {
            known.insert(call.key, (call.start_us, call.ending()));
        } else if let Some((at, ending)) = known.get(&call.key)
            && at - call.start_us < *distance
        {
            *call = call.ending_with(*ending);
        }
    }
}
