// SPDX-License-Identifier: MIT OR Apache-2.0
//! The durations of answers while the resource is up, and the time limit that follows.

use std::collections::HashMap;
use std::time::Duration;

use atomic_breaker::Outcome;
use serde::Serialize;

use super::CallLog;
use super::incident::Incident;

/// The least number of answers that show how long one in a thousand of them takes.
const LEAST: usize = 1_000;

/// The durations of a log's answers outside of its incidents: of one key, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AnswerTimes {
    /// The number of answers, at least 1,000.
    pub answers: usize,
    /// Half of the answers took no longer, in microseconds.
    pub median_us: u32,
    /// 999 of 1,000 answers took no longer, in microseconds.
    pub of_1000_us: u32,
}

impl AnswerTimes {
    /// The times of these durations in microseconds; `None` if there are fewer than 1,000.
    fn new(mut times: Vec<u32>) -> Option<Self> {
        times.sort_unstable();
        let answers = times.len();
        (answers >= LEAST).then(|| Self {
            answers,
            median_us: times[answers / 2],
            of_1000_us: times[answers - 1 - answers / 1_000],
        })
    }

    /// The time limit of a call that cuts off about one healthy answer in a thousand, and fewer where answers are steady: the
    /// next of 1, 2, 5, 10, .. milliseconds after the time of 999 of 1,000 answers and the median together.
    ///
    /// The percentile is that of M. Brooker, "Timeouts, retries, and backoff with jitter", Amazon Builders' Library (2019),
    /// which asks for padding where it is close to the median.
    pub fn time_limit(&self) -> Duration {
        let least_us = u64::from(self.of_1000_us) + u64::from(self.median_us);
        round(Duration::from_micros(least_us))
    }
}

/// The next time of 1, 2 or 5 and zeros, in milliseconds.
fn round(time: Duration) -> Duration {
    let steps = std::iter::successors(Some(1_u64), |step| Some(step * 10));
    let mut times = steps.flat_map(|step| [1, 2, 5].map(|it| Duration::from_millis(it * step)));
    times.find(|it| *it >= time).unwrap_or(time)
}

impl CallLog {
    /// Returns the durations of answers outside of these incidents, for all keys together; and for each key with at
    /// least 1,000 answers, by its number, the slowest first. `None` if there are fewer than 1,000 answers.
    ///
    /// Calls that failed or say nothing of the resource are no answers, and neither are those that a breaker rejected.
    pub fn answer_times(
        &self,
        incidents: &[Incident],
    ) -> (Option<AnswerTimes>, Vec<(u32, AnswerTimes)>) {
        let mut down: HashMap<u32, Vec<&Incident>> = HashMap::new();
        for incident in incidents {
            down.entry(incident.key).or_default().push(incident);
        }
        let mut keys: HashMap<u32, Vec<u32>> = HashMap::new();
        for call in self.calls() {
            let completion = call.completion();
            // Incidents of one key do not overlap.
            let is_down = down.get(&call.key).is_some_and(|down| {
                let before = down.partition_point(|it| it.from_us <= call.start_us);
                before > 0 && call.start_us <= down[before - 1].until_us
            });
            if completion.outcome == Outcome::Success && !call.was_rejected() && !is_down {
                keys.entry(call.key)
                    .or_default()
                    .push(completion.duration_us);
            }
        }
        let all = AnswerTimes::new(keys.values().flatten().copied().collect());
        let keys = keys.into_iter();
        let mut keys: Vec<_> = keys
            .filter_map(|(key, times)| Some((key, AnswerTimes::new(times)?)))
            .collect();
        keys.sort_unstable_by_key(|(key, it)| (u32::MAX - it.of_1000_us, *key));
        (all, keys)
    }
}
