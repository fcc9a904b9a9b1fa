// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about earlier calls: the first one's time, keys by number, names of requests.

use std::collections::{HashMap, HashSet};

/// More keys than any registry has; beyond, lines are skipped.
const KEYS: usize = 1 << 20;
/// The longest key and the longest name of a request, in bytes.
const KEY_BYTES: usize = 1_024;
/// Requests whose tries are recognised: the last so many.
const REQUESTS: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Requests {
    /// The time of the first call, to which others are relative.
    pub(super) origin: Option<i128>,
    one_key: bool,
    numbers: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
    /// The names of requests in two halves: when one is full, the older half is forgotten.
    recent: HashSet<Box<str>>,
    older: HashSet<Box<str>>,
}

impl Requests {
    pub(super) fn new(one_key: bool) -> Self {
        Self {
            origin: None,
            one_key,
            numbers: HashMap::new(),
            names: Vec::new(),
            recent: HashSet::new(),
            older: HashSet::new(),
        }
    }

    pub(super) fn key(&mut self, name: &str) -> Result<u32, String> {
        if self.one_key {
            return Ok(0);
        }
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        if name.len() > KEY_BYTES {
            return Err(format!("its key has more than {KEY_BYTES} bytes"));
        }
        if self.names.len() == KEYS {
            return Err(format!(
                "its key is new, after {KEYS} others: give all one key"
            ));
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }

    /// Returns whether this name of a request was seen before.
    pub(super) fn is_known(&mut self, request: &str) -> bool {
        if request.len() > KEY_BYTES {
            return false;
        }
        if self.recent.contains(request) {
            return true;
        }
        let is_known = self.older.contains(request);
        if self.recent.len() == REQUESTS / 2 {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(request.into());
        is_known
    }

    pub(super) fn into_keys(self) -> Vec<Box<str>> {
        self.names
    }
}
