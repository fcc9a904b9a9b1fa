// SPDX-License-Identifier: MIT OR Apache-2.0
//! A copy of the server's records, as far as they were received: a process that has received every change need not read
//! them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atomic_breaker_fleet::{Message, Name};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::text::{ChangeId, Published, ServerRecord};

/// The time for which a reading waits for changes that were published and have not yet arrived.
const ON_THE_WAY: Duration = Duration::from_millis(50);

/// The number of changes that are remembered.
const REMEMBERED: usize = 1_024;

/// The records read so far. One that is read late may be newer than the first ones: the changes received meanwhile
/// bring them into line.
struct Scan {
    /// The last change when it began.
    began: ChangeId,
    /// The place at which to continue.
    cursor: u64,
    records: HashMap<Name, ServerRecord>,
}

/// Clones share one mirror.
#[derive(Clone)]
pub(crate) struct Mirror {
    state: watch::Sender<Mirrored>,
    scan: Arc<Mutex<Option<Scan>>>,
}

#[derive(Default)]
struct Mirrored {
    records: HashMap<Name, ServerRecord>,
    /// The changes that led to these records, the latest at the end. Each one directly follows the one before it, which
    /// it names. Empty if something was missed.
    chain: VecDeque<ChangeId>,
    /// The changes that were received since something was missed, as the records may be on their way.
    since: VecDeque<Published>,
    /// The last reading found no records.
    has_none: bool,
}

impl Mirror {
    pub(crate) fn new() -> Self {
        Self {
            state: watch::Sender::new(Mirrored::default()),
            scan: Arc::default(),
        }
    }

    pub(crate) fn hear(&self, published: Published) {
        self.state.send_modify(|state| state.hear(published));
    }

    /// The number of the last change that was received; 0 if something was missed.
    pub(crate) fn heard(&self) -> u64 {
        self.state.borrow().number()
    }

    /// Returns whether the records must be read, as far as is known here.
    pub(crate) fn lacks_records(&self) -> bool {
        let state = self.state.borrow();
        state.chain.is_empty() && !(state.has_none && state.since.is_empty())
    }

    /// Returns whether everything up to this change has been received, or will be within a moment.
    pub(crate) async fn has(&self, change: ChangeId) -> bool {
        let mut state = self.state.subscribe();
        let heard = state.wait_for(|state| !state.is_behind(change));
        let _in_time = timeout(ON_THE_WAY, heard).await;
        self.state.borrow().chain.contains(&change)
    }

    fn scan(&self) -> MutexGuard<'_, Option<Scan>> {
        // No code under the lock panics.
        self.scan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place where the next part of the records begins. If that is the first, what is received from now on may be
    /// newer.
    pub(crate) fn cursor(&self) -> u64 {
        if let Some(scan) = &*self.scan() {
            return scan.cursor;
        }
        self.state.send_modify(|state| {
            state.chain.clear();
            state.has_none = false;
        });
        0
    }

    /// Changes may have been missed: what was read so far does not count.
    pub(crate) fn start_anew(&self) {
        *self.scan() = None;
    }

    /// A part of the records was read, from one cursor to the next, after this change at the earliest. Returns whether
    /// all have been read now.
    pub(crate) fn add(
        &self,
        change: ChangeId,
        cursor: u64,
        next: u64,
        records: impl Iterator<Item = (Name, ServerRecord)>,
    ) -> bool {
        let mut reading = self.scan();
        if reading.as_ref().map_or(0, |scan| scan.cursor) != cursor {
            // Another reading was faster, or it began anew.
            return false;
        }
        let scan = reading.get_or_insert_with(|| Scan {
            began: change,
            cursor,
            records: HashMap::new(),
        });
        scan.cursor = next;
        scan.records.extend(records);
        if next != 0 {
            return false;
        }
        let whole = reading.take();
        drop(reading);
        if let Some(scan) = whole {
            self.replace(scan.began, scan.records);
        }
        true
    }

    /// All records were read, as they were after this change.
    fn replace(&self, change: ChangeId, records: HashMap<Name, ServerRecord>) {
        self.state.send_modify(|state| {
            // Unless another reading has brought them already, and more was heard since.
            if !state.chain.contains(&change) {
                state.records = records;
                state.chain = VecDeque::from([change]);
            }
            for published in std::mem::take(&mut state.since) {
                if state.is_next(&published) {
                    state.apply(published);
                }
            }
        });
    }

    /// The server has no records.
    pub(crate) fn clear(&self) {
        self.start_anew();
        self.state.send_replace(Mirrored {
            has_none: true,
            ..Mirrored::default()
        });
    }

    /// All records that count at this time on the server's clock.
    pub(crate) fn messages(&self, now: u64) -> Vec<Message> {
        self.state
            .send_modify(|state| state.records.retain(|_, record| record.counts(now)));
        let state = self.state.borrow();
        let messages = state.records.iter().map(|(name, record)| Message {
            name: name.clone(),
            notice: record.notice(now),
        });
        messages.collect()
    }
}

impl Mirrored {
    fn number(&self) -> u64 {
        self.chain.back().map_or(0, |last| last.number)
    }

    /// Returns whether it may still receive this change.
    fn is_behind(&self, change: ChangeId) -> bool {
        !self.chain.is_empty() && self.number() < change.number
    }

    fn is_next(&self, published: &Published) -> bool {
        let last = self.chain.back().copied();
        last.is_some() && last == published.before
    }

    fn apply(&mut self, published: Published) {
        keep(&mut self.chain, published.change);
        self.records.insert(published.name, published.record);
    }

    /// Several subscriptions each report the same changes. A change with an old number that is not the same comes from
    /// a server that took over: the next reading finds that.
    fn hear(&mut self, published: Published) {
        if self.is_next(&published) {
            self.apply(published);
        } else if self.chain.is_empty() || published.change.number > self.number() {
            self.chain.clear();
            keep(&mut self.since, published);
        }
    }
}

fn keep<T>(queue: &mut VecDeque<T>, last: T) {
    if queue.len() == REMEMBERED {
        queue.pop_front();
    }
    queue.push_back(last);
}
