//! How many tries of each host are in flight.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use http::Request;

use super::budget::BudgetOfHost;
use crate::http::Origin;

/// How many tries of each host are in flight: a count while there are any, in a table of a fixed size.
///
/// ```text
/// 63                32 31                 0
/// ┌───────────────────┬───────────────────┐
/// │ half of a hash 32 │ tries in flight 32│   free while there are none
/// └───────────────────┴───────────────────┘
/// ```
///
/// The other half of the hash chooses a row of eight words. A host that comes to a full row is not counted. Two hosts
/// count as one if their hashes are the same, of a hasher that is drawn anew for each table.
pub(super) struct InFlight {
    rows: Box<[Row]>,
    hasher: RandomState,
    most: u32,
}

/// On a cache line of its own.
#[repr(align(64))]
struct Row([AtomicU64; 8]);

const COUNT: u64 = u32::MAX as u64;

impl InFlight {
    /// For about so many hosts with tries in flight at a time.
    pub(super) fn new(hosts: usize, most: u32) -> Self {
        let rows = 0..hosts.div_ceil(4).max(1);
        Self {
            rows: rows
                .map(|_| Row([const { AtomicU64::new(0) }; 8]))
                .collect(),
            hasher: RandomState::new(),
            most,
        }
    }

    fn place(&self, host: &Origin) -> (&[AtomicU64; 8], u64) {
        let hash = self.hasher.hash_one(host);
        let row = (hash & COUNT) as usize % self.rows.len();
        (&self.rows[row].0, hash & !COUNT)
    }

    /// Counts a try, until what is returned is dropped.
    fn begin(&'static self, host: &Origin) -> Option<Counted> {
        let (row, tag) = self.place(host);
        loop {
            let (mut free, mut mine) = (None, None);
            for word in row {
                let seen = word.load(Ordering::Relaxed);
                if seen & COUNT == 0 {
                    free = free.or(Some((word, seen, tag | 1)));
                } else if seen & !COUNT == tag {
                    mine = Some((word, seen, seen + 1));
                }
            }
            // Counters that nothing else depends on: here and below. An exchange fails by the success of another.
            let (word, seen, next) = mine.or(free)?;
            let exchanged =
                word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed);
            if exchanged.is_ok() {
                return Some(Counted {
                    word,
                    is_too_many: sum(row, tag) > u64::from(self.most),
                });
            }
        }
    }

    /// How many tries of a host are in flight.
    pub(super) fn of(&self, host: &Origin) -> u64 {
        let (row, tag) = self.place(host);
        sum(row, tag)
    }
}

/// All words of a host: two that begin at the same moment may have taken one each.
fn sum(row: &[AtomicU64; 8], tag: u64) -> u64 {
    let words = row.iter().map(|word| word.load(Ordering::Relaxed));
    words
        .filter(|word| word & !COUNT == tag)
        .map(|word| word & COUNT)
        .sum()
}

/// Counts the tries of requests `Q` by their host.
pub(super) struct Limit<Q> {
    in_flight: &'static InFlight,
    hosts: BudgetOfHost,
    host_of: fn(&BudgetOfHost, &Q) -> Option<Origin>,
}

impl<B> Limit<Request<B>> {
    pub(super) const fn new(in_flight: &'static InFlight, hosts: BudgetOfHost) -> Self {
        Self {
            in_flight,
            hosts,
            host_of: BudgetOfHost::host_of::<B>,
        }
    }
}

impl<Q> Limit<Q> {
    pub(super) const fn most(&self) -> u32 {
        self.in_flight.most
    }

    /// Counts a try, until what is returned is dropped. Of a request without a host, which is rejected, there is none.
    pub(super) fn begin(&self, request: &Q) -> Option<Counted> {
        let host = (self.host_of)(&self.hosts, request)?;
        self.in_flight.begin(&host)
    }
}

impl<Q> Clone for Limit<Q> {
    fn clone(&self) -> Self {
        Self {
            hosts: self.hosts.clone(),
            ..*self
        }
    }
}

/// A try that is counted while it is in flight.
pub(super) struct Counted {
    word: &'static AtomicU64,
    pub(super) is_too_many: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.word.fetch_sub(1, Ordering::Relaxed);
    }
}
