//! The parts of a log around its incidents, some of which a search does not know.

use std::collections::HashMap;

use crate::call::Call;
use crate::incident::Incident;

/// The number of the part around each of these incidents, which are in the order of their start. Those that overlap, of
/// several keys, are one outage, and share a part: what is known of one is known of the others. Where there are more
/// outages than numbers, they begin again, so that every third number is that of every third outage.
pub(crate) fn parts_of(incidents: &[Incident]) -> Vec<u16> {
    let (mut number, mut until_us) = (0, None);
    let mut part = |it: &Incident| {
        if until_us.is_none_or(|until| it.from_us > until) {
            number = number % u16::MAX + 1;
        }
        until_us = until_us.max(Some(it.until_us));
        number
    };
    incidents.iter().map(&mut part).collect()
}

/// Gives each call the number of its part: that of its key's first incident until half way to the next one, and so on; 0
/// for keys without any. Returns how many parts there are.
pub(crate) fn part(calls: &mut [Call], incidents: &[Incident]) -> usize {
    let mut keys: HashMap<u32, Vec<(u64, u16)>> = HashMap::new();
    let mut ends: HashMap<u32, u64> = HashMap::new();
    let numbers = parts_of(incidents);
    for (incident, number) in incidents.iter().zip(&numbers) {
        // Each with the end of its part, which the next one of its key brings forward.
        let parts = keys.entry(incident.key).or_default();
        if let Some((until, _)) = parts.last_mut() {
            let ended = ends[&incident.key];
            *until = ended + incident.from_us.saturating_sub(ended) / 2;
        }
        ends.insert(incident.key, incident.until_us);
        parts.push((u64::MAX, *number));
    }
    for parts in keys.values_mut() {
        parts.reverse();
    }
    for call in calls {
        let mut number = 0;
        if let Some(parts) = keys.get_mut(&call.key) {
            while parts
                .last()
                .is_some_and(|(until, _)| call.start_us > *until)
            {
                parts.pop();
            }
            number = parts.last().map_or(0, |(_, number)| *number);
        }
        *call = call.in_part(number);
    }
    usize::from(numbers.into_iter().max().unwrap_or(0)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Ending, Met};
    use std::time::Duration;

    #[test]
    fn parts_end_half_way_between_incidents_of_the_same_key() {
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
        let ok = Ending::new(Met::Success, Duration::ZERO);
        let call = |at, key| Call::new(at, ok).of_key(key);
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
        assert_eq!(part(&mut calls, &incidents), 3);
        assert_eq!(calls.map(|call| call.part()), [1, 1, 0, 1, 2, 2, 1]);
    }

    #[test]
    fn every_third_number_is_that_of_every_third_outage_however_many_there_are() {
        let incident = |number: u64| Incident {
            key: 0,
            from_us: 10 * number,
            until_us: 10 * number + 5,
            calls: 5,
            failed: 5,
        };
        let incidents: Vec<_> = (0..200_000).map(incident).collect();
        let parts = parts_of(&incidents);
        for (place, part) in parts.iter().enumerate() {
            assert!(*part > 0);
            assert_eq!(
                part.is_multiple_of(3),
                (place + 1).is_multiple_of(3),
                "{place}"
            );
        }
    }
}
