// SPDX-License-Identifier: MIT OR Apache-2.0
//! The folds of a log around its incidents, some of which are held out: the search does not know them.

use std::collections::HashMap;

use super::call::LoggedCall;
use super::incident::Incident;

/// The hold-out fold of each of these incidents, which are in the order of their start. Incidents of several keys that overlap
/// are one outage, and share a fold: what is known of one is known of the others. Where there are more outages than numbers,
/// they begin again, so that every third number is that of every third outage.
pub(crate) fn folds_of(incidents: &[Incident]) -> Vec<u16> {
    let (mut number, mut until_us) = (0, None);
    let fold = |it: &Incident| {
        if until_us.is_none_or(|until| it.from_us > until) {
            number = number % u16::MAX + 1;
        }
        until_us = until_us.max(Some(it.until_us));
        number
    };
    incidents.iter().map(fold).collect()
}

/// Gives each call the number of its fold: that of its key's first incident until half way to the next one, and so on; 0
/// for keys without any. Returns how many folds there are.
pub(super) fn mark_folds(calls: &mut [LoggedCall], incidents: &[Incident]) -> usize {
    let numbers = folds_of(incidents);
    // Of each key its incidents, with the end of each fold and its number, the first fold last.
    let mut keys: HashMap<u32, Vec<(&Incident, u64, u16)>> = HashMap::new();
    for (incident, number) in incidents.iter().zip(&numbers).rev() {
        let folds = keys.entry(incident.key).or_default();
        let until = folds.last().map_or(u64::MAX, |(next, ..)| {
            let next_us = next.from_us.max(incident.until_us);
            incident.until_us.midpoint(next_us)
        });
        folds.push((incident, until, *number));
    }
    for call in calls {
        let folds = keys.entry(call.key).or_default();
        while folds
            .pop_if(|(_, until, _)| call.start_us > *until)
            .is_some()
        {}
        let number = folds.last().map_or(0, |(.., number)| *number);
        *call = call.in_fold(number);
    }
    usize::from(numbers.into_iter().max().unwrap_or(0)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::engine::Completion;
    use atomic_breaker::Outcome;
    use std::time::Duration;

    #[test]
    fn folds_end_half_way_between_incidents_of_the_same_key() {
        let incident = |key, from_us, until_us| Incident {
            key,
            from_us,
            until_us,
            calls: 0,
            failed: 0,
        };
        let incidents = [
            incident(0, 100, 200),
            incident(1, 150, 160),
            incident(0, 300, 400),
        ];
        let ok = Completion::new(Outcome::Success, Duration::ZERO);
        let call = |at, key| LoggedCall::new(at, ok).key(key);
        let mut calls = [
            call(0, 0),
            call(0, 1),
            call(0, 2),
            call(250, 0),
            call(251, 0),
            call(900, 0),
            call(900, 1),
        ];
        // The first two overlap: one outage.
        assert_eq!(mark_folds(&mut calls, &incidents), 3);
        assert_eq!(calls.map(|call| call.fold()), [1, 1, 0, 1, 2, 2, 1]);
    }

    #[test]
    fn every_third_number_is_that_of_every_third_outage() {
        let incident = |number: u64| Incident {
            key: 0,
            from_us: 10 * number,
            until_us: 10 * number + 5,
            calls: 5,
            failed: 5,
        };
        let incidents: Vec<_> = (0..200_000).map(incident).collect();
        let folds = folds_of(&incidents);
        for (place, fold) in folds.iter().enumerate() {
            assert!(*fold > 0);
            assert_eq!(
                fold.is_multiple_of(3),
                (place + 1).is_multiple_of(3),
                "{place}"
            );
        }
    }
}
