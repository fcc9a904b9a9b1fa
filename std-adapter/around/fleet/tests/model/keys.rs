// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fields that distinguish two members or two ledgers: times relative to now, and epochs and marks by their order.
//! The expiry of records is left out: the model does not look that far ahead.

use super::key::Key;
use crate::ledger::Ledger;
use crate::ledger::record::Record;
use crate::member::Member;
use crate::member::memory::{HeardFromEngine, Own};
use crate::member::period::Phase;
use crate::message::Finding;

impl Member {
    pub(super) fn key(&self, now_ms: u64, key: &mut Key) {
        let Self {
            // These are the same in all states.
            fleet: _,
            rules: _,
            longest_ms: _,
            random: _,
            // These last for one step.
            now: _,
            actions: _,
            ref heard,
            ref own,
            period,
            unconfirmed,
        } = *self;
        heard.key(now_ms, key);
        own.key(now_ms, key);
        key.mark(period.map(|period| period.id.mark));
        if let Some(period) = period {
            key.epoch(period.id.epoch);
            key.number(u64::from(period.trips.min(4)));
            key.until(period.ends, now_ms);
            key.until(period.breaker_until, now_ms);
            key.number(period.grace);
            key.number(u64::from(period.awaits_call));
            key.until(period.silent_at(), now_ms);
            let (phase, times) = match period.phase {
                Phase::Waiting => (0, [0, 0]),
                Phase::Due(unasked) => (1, [unasked.unwrap_or(0), 0]),
                Phase::BidAt(at) => (2, [at, 0]),
                Phase::Bidding => (3, [0, 0]),
                Phase::Taken(until) => (4, [until, 0]),
                Phase::Probing {
                    until,
                    renew,
                    probe,
                    is_given_up,
                } => {
                    // Here a breaker closes after one success.
                    key.ago(Some(probe.since), now_ms);
                    key.number(probe.is_seen.into());
                    (5 + u64::from(is_given_up), [until, renew])
                }
                Phase::Alone => (7, [0, 0]),
            };
            key.number(phase);
            for time in times {
                key.until(time, now_ms);
            }
        }
        key.mark(unconfirmed.map(|(id, _)| id.mark));
        if let Some((_, Finding::Failed { open_ms, .. })) = unconfirmed {
            key.number(open_ms.into());
        }
    }
}

impl HeardFromEngine {
    fn key(&self, now_ms: u64, key: &mut Key) {
        let Self {
            highest_epoch,
            last_epoch,
            at,
            overruled,
            ended,
        } = *self;
        key.epoch(highest_epoch);
        key.epoch(last_epoch);
        key.ago(at, now_ms);
        key.mark(overruled);
        for mark in ended {
            key.mark(mark);
        }
    }
}

impl Own {
    fn key(&self, now_ms: u64, key: &mut Key) {
        let Self {
            tripped_at,
            open_until,
            no_probe_before,
            yields_until,
            has_failed,
        } = *self;
        key.until(open_until, now_ms);
        key.ago((open_until > now_ms).then_some(tripped_at), now_ms);
        key.until(no_probe_before, now_ms);
        key.until(yields_until, now_ms);
        key.number(u64::from(has_failed));
    }
}

impl Ledger {
    pub(super) fn key(&self, now_ms: u64, key: &mut Key) {
        // There is one breaker.
        let books = self.books.values();
        let record = books.clone().find_map(|book| book.record);
        key.number(record.is_some().into());
        if let Some(record) = record {
            record.key(now_ms, key);
        }
        let mut votes: Vec<_> = books.flat_map(|book| &book.votes).collect();
        votes.retain(|vote| vote.counts(now_ms, i64::MAX));
        votes.sort_unstable_by_key(|vote| vote.from);
        key.number(votes.len() as u64);
        for vote in votes {
            key.number(vote.from.get() as u64);
            key.number(now_ms - vote.at.cast_unsigned());
            key.number(vote.open_ms.into());
            key.epoch(vote.known);
        }
    }
}

impl Record {
    fn key(&self, now_ms: u64, key: &mut Key) {
        key.epoch(self.id.epoch);
        key.mark(Some(self.id.mark));
        key.number(u64::from(self.is_open));
        key.until(self.ends, now_ms);
        key.number(self.open_ms.into());
        key.number(u64::from(self.trips.min(4)));
        let lease = self
            .lease
            .and_then(|lease| Some((lease, lease.left(now_ms)?)));
        key.number(lease.map_or(0, |(lease, _)| lease.holder.get() as u64));
        key.number(lease.map_or(0, |(_, left)| left.into()));
        key.number(self.doubt.map_or(0, |doubt| doubt.of.get() as u64));
        key.number(self.doubt.map_or(0, |doubt| doubt.open_ms.into()));
    }
}
