//! What the server keeps, as far as it was heard: a process that has heard every change need not read the records.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{Message, Name};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::text::{Change, Published, Record};

/// How long a reading waits for changes that were published and have not yet arrived.
const ON_THE_WAY: Duration = Duration::from_millis(50);

/// How many changes are remembered.
const REMEMBERED: usize = 1_024;

/// The records read so far. One that is read late may be newer than the first ones: the changes heard meanwhile bring
/// them into line.
pub(crate) struct Scan {
    /// The last change when it began.
    pub(crate) began: Change,
    /// Where to continue.
    pub(crate) cursor: u64,
    pub(crate) records: HashMap<Name, Record>,
}

/// Clones share one mirror.
#[derive(Clone)]
pub(crate) struct Mirror {
    state: watch::Sender<State>,
    /// What has been read of the records so far. Held while a part of them is being read.
    pub(crate) scan: Arc<tokio::sync::Mutex<Option<Scan>>>,
}

#[derive(Default)]
struct State {
    records: HashMap<Name, Record>,
    /// The changes that led to these records, the latest at the end. Each one directly follows the one before it, which
    /// it names. Empty if something was missed.
    chain: VecDeque<Change>,
    /// What was heard since something was missed, as the records may be on their way.
    since: VecDeque<Published>,
}

impl Mirror {
    pub(crate) fn new() -> Self {
        Self {
            state: watch::Sender::new(State::default()),
            scan: Arc::default(),
        }
    }

    pub(crate) fn hear(&self, published: Published) {
        self.state.send_modify(|state| state.hear(published));
    }

    /// The number of the last change that was heard; 0 if something was missed.
    pub(crate) fn heard(&self) -> u64 {
        self.state.borrow().number()
    }

    /// Whether everything up to this change has been heard, or will be within a moment.
    pub(crate) async fn has(&self, change: Change) -> bool {
        let mut state = self.state.subscribe();
        let heard = state.wait_for(|state| !state.is_behind(change));
        let _in_time = timeout(ON_THE_WAY, heard).await;
        self.state.borrow().chain.contains(&change)
    }

    /// The records will be read: what is heard from now on may be newer.
    pub(crate) fn forget(&self) {
        self.state.send_modify(|state| state.chain.clear());
    }

    /// All records were read, as they were after this change.
    pub(crate) fn replace(&self, change: Change, records: HashMap<Name, Record>) {
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
        self.state.send_replace(State::default());
    }

    /// All records that have not expired at this time on the server's clock.
    pub(crate) fn messages(&self, now: u64) -> Vec<Message> {
        self.state
            .send_modify(|state| state.records.retain(|_, record| !record.has_expired(now)));
        let state = self.state.borrow();
        let messages = state.records.iter().map(|(name, record)| Message {
            name: name.clone(),
            notice: record.notice(now),
        });
        messages.collect()
    }
}

impl State {
    fn number(&self) -> u64 {
        self.chain.back().map_or(0, |last| last.number)
    }

    /// Whether it may still hear of this change.
    fn is_behind(&self, change: Change) -> bool {
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
