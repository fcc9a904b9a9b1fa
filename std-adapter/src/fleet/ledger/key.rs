//! What tells two ledgers apart, for the model. The expiry of records is left out: the model does not look that far
//! ahead.

use super::super::model::Key;
use super::Ledger;

impl Ledger {
    pub(in crate::fleet) fn key(&self, now_ms: u64, key: &mut Key) {
        // There is one breaker.
        key.number(self.records.len() as u64);
        for record in self.records.values() {
            record.key(now_ms, key);
        }
        let mut votes: Vec<_> = self.votes.values().flatten().collect();
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
