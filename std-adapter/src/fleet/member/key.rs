//! What tells two members apart, for the model: times relative to now, and epochs and marks by their order.

use super::super::message::Verdict;
use super::super::model::Key;
use super::Member;
use super::phase::Phase;
use super::random::Random;

impl Member {
    /// Makes it draw the same number every time.
    pub(in crate::fleet) fn fix_random(&mut self, seed: u64) {
        self.random = Random::fixed(seed);
    }

    pub(in crate::fleet) fn key(&self, now_ms: u64, key: &mut Key) {
        let Self {
            // The same in all states.
            fleet: _,
            rules: _,
            longest_ms: _,
            random: _,
            known,
            heard,
            learned,
            tripped_at,
            own_until,
            not_before,
            rests_until,
            has_failed,
            overruled,
            ended,
            period,
            verdict,
        } = *self;
        key.epoch(known);
        key.epoch(heard);
        key.ago(learned, now_ms);
        key.until(own_until, now_ms);
        key.ago((own_until > now_ms).then_some(tripped_at), now_ms);
        key.until(not_before, now_ms);
        key.until(rests_until, now_ms);
        key.number(u64::from(has_failed));
        key.mark(overruled);
        ended.key(key);
        key.mark(period.map(|period| period.id.mark));
        if let Some(period) = period {
            key.epoch(period.id.epoch);
            key.number(u64::from(period.trips.min(4)));
            key.until(period.ends, now_ms);
            key.until(period.word_until, now_ms);
            key.number(period.grace);
            let (phase, times) = match period.phase {
                Phase::Waiting => (0, [0, 0]),
                Phase::Due => (1, [0, 0]),
                Phase::BidAt(at) => (2, [at, 0]),
                Phase::Bidding => (3, [0, 0]),
                Phase::Taken(until) => (4, [until, 0]),
                Phase::Probing {
                    until,
                    renew,
                    is_given_up,
                } => (5 + u64::from(is_given_up), [until, renew]),
                Phase::Alone => (7, [0, 0]),
            };
            key.number(phase);
            for time in times {
                key.until(time, now_ms);
            }
        }
        key.mark(verdict.map(|(id, _)| id.mark));
        if let Some((_, Verdict::Failed { open_ms, .. })) = verdict {
            key.number(open_ms.into());
        }
    }
}
