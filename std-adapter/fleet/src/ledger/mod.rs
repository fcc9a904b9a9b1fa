//! What an engine does with each request: a plain value, for simulations and as the reference for other engines.

pub(crate) mod record;

use std::collections::HashMap;

use super::{Answer, Ask, InstanceId, Message, Name, Notice, PeriodId, Reading, Verdict};
use record::{Doubt, Record};

/// How long a breaker is remembered after its period, or after it closed, in milliseconds: 10 minutes.
pub const KEEP_MS: u64 = 600_000;

/// By how many milliseconds an epoch may be ahead of the engine's clock, which may have been set back: a year. One that
/// is further ahead was forged, and is ignored, as it would leave no room for those that follow.
const LEAD_MS: u64 = 365 * 24 * 60 * 60 * 1_000;

/// For how many polls an instance counts as living.
const LIVING_POLLS: u64 = 3;

/// The books of a fleet: breakers, votes and instances. The time is always passed in, in milliseconds of the engine's
/// own clock.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub(crate) records: HashMap<Name, Record>,
    pub(crate) votes: HashMap<Name, Vec<Vote>>,
    /// Until when each instance counts as living.
    pub(crate) living: HashMap<InstanceId, u64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Vote {
    pub(crate) from: InstanceId,
    /// When it tripped; possibly before the clock's zero.
    pub(crate) at: i64,
    pub(crate) window_ms: i64,
    pub(crate) open_ms: u32,
    pub(crate) known: u64,
}

impl Ledger {
    /// Handles a request. `mark` is a random number for a period that may begin. Returns the answer, and what to
    /// publish to all.
    pub fn ask(
        &mut self,
        now_ms: u64,
        mark: u64,
        from: InstanceId,
        name: &Name,
        ask: Ask,
    ) -> (Answer, Option<Notice>) {
        self.expire(name, now_ms);
        let (done, votes) = match ask {
            Ask::Vote {
                quorum,
                window_ms,
                age_ms,
                open_ms,
                known,
            } => {
                let vote = Vote {
                    from,
                    at: now_ms.cast_signed() - i64::from(age_ms),
                    window_ms: window_ms.into(),
                    open_ms: open_ms.max(1),
                    known: if is_forged(known, now_ms) { 0 } else { known },
                };
                self.vote(name, now_ms, vote, quorum, mark)
            }
            Ask::Bid { id, lease_ms } => (self.bid(name, now_ms, from, id, lease_ms), 0),
            Ask::Verdict { id, verdict } => (self.judge(name, now_ms, from, id, verdict, mark), 0),
        };
        let record = self.records.get(name);
        let notice = record.map(|record| record.notice(now_ms));
        let is_vote = matches!(ask, Ask::Vote { .. });
        let answer = Answer {
            done: done || is_vote && matches!(notice, Some(Notice::Open(_))),
            votes,
            notice,
        };
        (answer, notice.filter(|_| done))
    }

    /// Reads everything that is known, which is also a sign of life.
    pub fn read(&mut self, now_ms: u64, from: InstanceId, every_ms: u32) -> Reading {
        let until = now_ms + LIVING_POLLS * u64::from(every_ms);
        self.living.insert(from, until);
        self.living.retain(|_, until| now_ms < *until);
        self.records.retain(|_, record| !is_gone(record, now_ms));
        self.votes
            .retain(|_, votes| votes.iter().any(|vote| vote.counts(now_ms, i64::MAX)));
        let messages = self.records.iter().map(|(name, record)| Message {
            name: name.clone(),
            notice: record.notice(now_ms),
        });
        Reading {
            living: u32::try_from(self.living.len()).unwrap_or(u32::MAX),
            messages: messages.collect(),
            more: false,
        }
    }

    fn expire(&mut self, name: &Name, now_ms: u64) {
        let record = self.records.get(name);
        if record.is_some_and(|record| is_gone(record, now_ms)) {
            self.records.remove(name);
        }
    }

    /// Counts a vote until the window after its trip has passed. At the quorum a period begins, which is as long as at
    /// least so many of the voters would be open on their own.
    fn vote(
        &mut self,
        name: &Name,
        now_ms: u64,
        vote: Vote,
        quorum: u32,
        mark: u64,
    ) -> (bool, u32) {
        if self.records.get(name).is_some_and(|record| record.is_open) {
            return (false, 0);
        }
        let votes = self.votes.entry(name.clone()).or_default();
        votes.retain(|before| before.counts(now_ms, vote.window_ms));
        // Of two votes by one instance, that of the later trip counts.
        let is_later = |before: &Vote| before.from == vote.from && before.at > vote.at;
        if vote.counts(now_ms, vote.window_ms) && !votes.iter().any(is_later) {
            votes.retain(|before| before.from != vote.from);
            votes.push(vote);
        }
        let count = u32::try_from(votes.len()).unwrap_or(u32::MAX);
        if count < quorum {
            return (false, count);
        }
        let known = votes.iter().map(|vote| vote.known).max().unwrap_or(0);
        votes.sort_unstable_by_key(|vote| u32::MAX - vote.open_ms);
        let place = usize::try_from(quorum.max(1)).unwrap_or(usize::MAX) - 1;
        let open_ms = votes.get(place).map_or(1, |vote| vote.open_ms);
        let epoch = self.next_epoch(name, known, now_ms);
        let id = PeriodId { epoch, mark };
        self.begin(name, Record::open(id, now_ms, open_ms, 1));
        (true, 0)
    }

    /// Higher than any epoch known to the caller or to this engine, and than the engine's clock.
    fn next_epoch(&self, name: &Name, known: u64, now_ms: u64) -> u64 {
        let own = self.records.get(name).map_or(0, |record| record.id.epoch);
        own.max(known).max(now_ms) + 1
    }

    fn begin(&mut self, name: &Name, record: Record) {
        self.votes.remove(name);
        self.records.insert(name.clone(), record);
    }

    fn bid(
        &mut self,
        name: &Name,
        now_ms: u64,
        from: InstanceId,
        id: PeriodId,
        lease_ms: u32,
    ) -> bool {
        let Some(record) = self.records.get_mut(name).filter(|record| record.is(id)) else {
            return false;
        };
        if record.is_held_by_another(from, now_ms) {
            return false;
        }
        record.lease(from, now_ms, lease_ms);
        true
    }

    /// Ends the period, or begins the next.
    fn judge(
        &mut self,
        name: &Name,
        now_ms: u64,
        from: InstanceId,
        id: PeriodId,
        verdict: Verdict,
        mark: u64,
    ) -> bool {
        let Some(record) = self.records.get(name).filter(|record| record.is(id)) else {
            return false;
        };
        // A success counts even if the right to probe has lapsed.
        if verdict != Verdict::Healthy && record.is_held_by_another(from, now_ms) {
            return false;
        }
        let epoch = self.next_epoch(name, id.epoch, now_ms);
        let (end, next) = (PeriodId { epoch, ..id }, PeriodId { epoch, mark });
        let next = match (verdict, record.doubt) {
            (Verdict::Healthy, _) => Record::closed(end, now_ms),
            (Verdict::Failed { .. }, Some(doubt)) if doubt.of == from => {
                let mut same = *record;
                same.end_lease();
                same
            }
            (Verdict::Failed { open_ms, .. }, Some(doubt)) => {
                let open_ms = open_ms.min(doubt.open_ms).max(1);
                Record::open(next, now_ms, open_ms, record.trips.saturating_add(1))
            }
            (Verdict::Failed { open_ms, pause_ms }, None) => {
                record.doubted(next, now_ms, pause_ms, Doubt { of: from, open_ms })
            }
        };
        self.begin(name, next);
        true
    }
}

impl Vote {
    /// Whether it is within its own window and this one. A vote later than now has lapsed: the clock was set back.
    pub(crate) fn counts(&self, now_ms: u64, window_ms: i64) -> bool {
        let age = now_ms.cast_signed().saturating_sub(self.at);
        (0..self.window_ms.min(window_ms)).contains(&age)
    }
}

const fn is_forged(epoch: u64, now_ms: u64) -> bool {
    epoch > now_ms.saturating_add(LEAD_MS)
}

const fn is_gone(record: &Record, now_ms: u64) -> bool {
    now_ms >= record.expires || is_forged(record.id.epoch, now_ms)
}
