// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine's handling of each request: a plain value, for simulations and as the reference for other engines.

pub(crate) mod record;

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Answer, Ask, InstanceId, Message, Name, Notice, PeriodId, Reading};
use record::{Record, is_forged};

/// The number of polls for which an instance counts as living.
const LIVING_POLLS: u64 = 3;

/// The books of a fleet: breakers, votes and instances. The time is always passed in, in milliseconds of the engine's
/// own clock.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub(crate) books: HashMap<Name, Book>,
    /// The time until which each instance counts as living.
    living: HashMap<InstanceId, u64>,
}

/// The record of one breaker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    pub(crate) record: Option<Record>,
    pub(crate) votes: Vec<Vote>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Vote {
    pub(crate) from: InstanceId,
    /// The time at which it tripped; possibly before the clock's zero.
    pub(crate) at: i64,
    window_ms: i64,
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
        let book = self.books.entry(name.clone()).or_default();
        book.record.take_if(|record| record.is_gone(now_ms));
        let running = |id| {
            book.record
                .filter(|record| record.is_open && record.id == id)
        };
        let changed = match ask {
            Ask::Bid { id, lease_ms } => {
                running(id).and_then(|record| record.leased(now_ms, from, lease_ms))
            }
            Ask::Finding { id, finding } => {
                running(id).and_then(|record| record.judged(now_ms, mark, from, finding))
            }
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
                book.vote(now_ms, mark, vote, quorum as usize)
            }
        };
        let is_changed = changed.is_some();
        if is_changed {
            book.record = changed;
            book.votes.clear();
        }
        let is_vote = matches!(ask, Ask::Vote { .. });
        let notice = book.record.map(|record| record.notice(now_ms));
        let answer = Answer {
            done: is_changed || is_vote && matches!(notice, Some(Notice::Open(_))),
            votes: if is_vote { book.votes.len() as u32 } else { 0 },
            notice,
        };
        (answer, notice.filter(|_| is_changed))
    }

    /// Reads everything that is known, which is also a sign of life.
    pub fn read(&mut self, now_ms: u64, from: InstanceId, every_ms: u32) -> Reading {
        let until = now_ms + LIVING_POLLS * u64::from(every_ms);
        self.living.insert(from, until);
        self.living.retain(|_, until| now_ms < *until);
        self.books.retain(|_, book| {
            book.record.take_if(|record| record.is_gone(now_ms));
            book.votes.retain(|vote| vote.counts(now_ms, i64::MAX));
            book.record.is_some() || !book.votes.is_empty()
        });
        let messages = self.books.iter().filter_map(|(name, book)| {
            let (name, notice) = (name.clone(), book.record?.notice(now_ms));
            Some(Message { name, notice })
        });
        Reading {
            living: self.living.len() as u32,
            messages: messages.collect(),
            more: false,
        }
    }
}

impl Book {
    /// Counts a vote until the window after its trip has passed. At the quorum a period begins, which is as long as at
    /// least so many of the voters would be open on their own.
    fn vote(&mut self, now_ms: u64, mark: u64, vote: Vote, quorum: usize) -> Option<Record> {
        if self.record.is_some_and(|record| record.is_open) {
            return None;
        }
        let votes = &mut self.votes;
        votes.retain(|before| before.counts(now_ms, vote.window_ms));
        // Of two votes by one instance, that of the later trip counts.
        let is_later = |before: &Vote| before.from == vote.from && before.at > vote.at;
        if vote.counts(now_ms, vote.window_ms) && !votes.iter().any(is_later) {
            votes.retain(|before| before.from != vote.from);
            votes.push(vote);
        }
        if votes.len() < quorum {
            return None;
        }
        votes.sort_unstable_by_key(|vote| Reverse(vote.open_ms));
        let open_ms = votes
            .get(quorum.saturating_sub(1))
            .map_or(1, |vote| vote.open_ms);
        // Higher than any epoch known to a voter or to this engine, and than its clock.
        let known = votes.iter().map(|vote| vote.known).max();
        let own = self.record.map(|record| record.id.epoch);
        let epoch = known.max(own).unwrap_or(0).max(now_ms) + 1;
        Some(Record::open(PeriodId { epoch, mark }, now_ms, open_ms, 1))
    }
}

impl Vote {
    /// Returns whether the vote is within its own window and this one. A vote later than now has lapsed: the clock was
    /// set back.
    pub(crate) fn counts(&self, now_ms: u64, window_ms: i64) -> bool {
        let age = now_ms.cast_signed().saturating_sub(self.at);
        (0..self.window_ms.min(window_ms)).contains(&age)
    }
}
