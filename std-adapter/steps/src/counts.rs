//! How many jobs a store has.

use std::collections::BTreeMap;
use std::time::Duration;

use super::micros::since;
use super::{JobRow, Status};

/// How many jobs there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By lane and status; those with no jobs are left out.
    pub jobs: Vec<(String, Status, u64)>,
    /// By lane, how many of the waiting jobs are due now or are [held up](crate::Job::held_up), those whose lease is over
    /// included; lanes without any are left out.
    pub due: Vec<(String, u64)>,
    /// How long the job that has waited longest has been due; for one that is held up, since the first time; for one
    /// whose worker was lost, since its lease was over.
    pub oldest_due: Option<Duration>,
}

impl Counts {
    /// Adds up groups of jobs: lane, status, how many, how many of them are due, and how long the first of those has been.
    pub fn sum(
        groups: impl IntoIterator<Item = (String, Status, u64, u64, Option<Duration>)>,
    ) -> Self {
        let (mut jobs, mut due) = (BTreeMap::new(), BTreeMap::new());
        let mut oldest_due = None;
        for (lane, status, count, due_now, oldest) in groups {
            if due_now > 0 {
                *due.entry(lane.clone()).or_default() += due_now;
            }
            *jobs.entry((lane, status)).or_default() += count;
            oldest_due = oldest_due.max(oldest);
        }
        let jobs = jobs.into_iter();
        Self {
            jobs: jobs
                .map(|((lane, status), count)| (lane, status, count))
                .collect(),
            due: due.into_iter().collect(),
            oldest_due,
        }
    }

    /// Counts rows.
    pub fn of_rows<'a>(rows: impl IntoIterator<Item = &'a JobRow>, now: i64) -> Self {
        Self::sum(rows.into_iter().map(|row| {
            let since_due = (row.due <= now).then_some(row.due);
            let status = row.status_at(now);
            let due_since = row.held_since.or(since_due);
            let due_since = due_since.filter(|_| status == Status::Waiting);
            let oldest = due_since.map(|then| since(now, then));
            let due = oldest.is_some().into();
            (row.lane.clone(), status, 1, due, oldest)
        }))
    }

    /// How many have this status, in all lanes.
    pub fn of(&self, status: Status) -> u64 {
        let of = self.jobs.iter().filter(|(_, each, _)| *each == status);
        of.map(|(.., count)| count).sum()
    }
}
