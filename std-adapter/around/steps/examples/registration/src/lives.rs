// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lives of jobs, put together from all diaries.

use std::collections::{BTreeMap, HashSet};

use super::events::Event;

/// The steps, in the order in which they are done.
pub(crate) const STEPS: [&str; 5] = [
    "check_the_address",
    "create_the_account",
    "charge_the_card",
    "send_the_mail",
    "tell_the_CRM",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// A step, by its place in [`STEPS`].
    Step(usize),
    /// It failed, and its next try is not due yet.
    Pauses,
    /// It is due, and its lane does not take it.
    Waits,
    /// Its worker was killed.
    Lost,
}

/// An activity of a job, with its start and end.
#[derive(Default)]
pub(crate) struct Life {
    pub(crate) spans: Vec<(u64, u64, Doing)>,
    /// The time and the kind of its end.
    pub(crate) end: Option<(u64, String)>,
}

/// The counts.
#[derive(Default)]
pub(crate) struct Lives {
    pub(crate) by_job: BTreeMap<u64, Life>,
    pub(crate) tries: u64,
    pub(crate) failed: u64,
    pub(crate) cut_off: u64,
    pub(crate) saved: u64,
    pub(crate) saved_twice: u64,
    pub(crate) end_us: u64,
}

struct Now {
    since_us: u64,
    doing: Doing,
    process: u32,
    due_us: u64,
}

impl Lives {
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut lives = Self::default();
        let mut now: BTreeMap<u64, Now> = BTreeMap::new();
        let mut saves = HashSet::new();
        for event in events {
            lives.end_us = event.at_us;
            let words: Vec<_> = event.words.iter().map(String::as_str).collect();
            let lost: Box<dyn Fn(&Now) -> bool> = match &words[..] {
                ["began"] => Box::new(|_| true),
                ["killed", process] => {
                    let process = process.parse().unwrap_or(0);
                    Box::new(move |now| now.process == process)
                }
                [what, id, rest @ ..] => {
                    if let Ok(id) = id.parse() {
                        lives.count(what, id, rest, &mut saves);
                        lives.turn(event, what, id, rest.first().copied(), &mut now);
                    }
                    continue;
                }
                _ => continue,
            };
            for (id, job) in now.iter_mut().filter(|(_, job)| lost(job)) {
                if matches!(job.doing, Doing::Step(_)) {
                    lives.cut_off += 1;
                    lives.by_job.entry(*id).or_default().close(job, event.at_us);
                    *job = Now {
                        since_us: event.at_us,
                        doing: Doing::Lost,
                        process: 0,
                        due_us: 0,
                    };
                }
            }
        }
        for (id, job) in &now {
            lives
                .by_job
                .entry(*id)
                .or_default()
                .close(job, lives.end_us);
        }
        lives
    }

    fn count(&mut self, what: &str, id: u64, rest: &[&str], saves: &mut HashSet<(u64, String)>) {
        self.tries += u64::from(matches!(what, "claimed" | "goes-on"));
        self.failed += u64::from(matches!(what, "again" | "dead"));
        if matches!(what, "goes-on" | "next" | "done") {
            let before = rest.first().copied().unwrap_or(what);
            self.saved += 1;
            self.saved_twice += u64::from(!saves.insert((id, before.to_owned())));
        }
    }

    fn turn(
        &mut self,
        event: &Event,
        what: &str,
        id: u64,
        word: Option<&str>,
        now: &mut BTreeMap<u64, Now>,
    ) {
        let at_us = event.at_us;
        let step = STEPS.iter().position(|step| Some(*step) == word);
        let due_us = at_us + 1_000 * word.and_then(|word| word.parse().ok()).unwrap_or(0);
        let doing = match what {
            "waits" | "next" => Some(Doing::Waits),
            "claimed" | "goes-on" => step.map(Doing::Step),
            // Taken up by a worker that learned that another one was killed.
            "found" => Some(Doing::Lost),
            "again" | "back" | "held-up" => Some(Doing::Pauses),
            "done" | "dead" | "parked" | "cancelled" => None,
            _ => return,
        };
        let life = self.by_job.entry(id).or_default();
        if let Some(before) = now.remove(&id) {
            life.close(&before, at_us);
        }
        match doing {
            Some(doing) => {
                let process = event.process;
                now.insert(
                    id,
                    Now {
                        since_us: at_us,
                        doing,
                        process,
                        due_us,
                    },
                );
            }
            None => life.end = Some((at_us, what.to_owned())),
        }
    }
}

impl Life {
    fn close(&mut self, now: &Now, until_us: u64) {
        let due_us = now.due_us.clamp(now.since_us, until_us.max(now.since_us));
        if now.doing == Doing::Pauses {
            self.spans.push((now.since_us, due_us, Doing::Pauses));
            self.spans.push((due_us, until_us, Doing::Waits));
        } else {
            self.spans.push((now.since_us, until_us, now.doing));
        }
    }
}
