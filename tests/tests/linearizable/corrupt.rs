// SPDX-License-Identifier: MIT OR Apache-2.0
//! Right histories made wrong, each in a way in which a broken breaker would be.

use atomic_breaker::{State, Wait};
use tests::random::Random;
use tests::reference::Report;

use super::history::History;
use super::model::Model;
use super::operation::{Answer, Made, Operation, Record, Said};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Corruption {
    /// A caller that was rejected because another one probes is admitted as well.
    TwoProbes,
    /// Two operations of a kind have each other's answer.
    Swapped,
    /// A report whose permit has ended is answered as if it had not.
    StaleApplied,
    /// A rejected caller is admitted as it would be at the deadline.
    Early,
    /// A snapshot is older than a transition that was over before it was taken.
    OldSnapshot,
    /// A transition was neither returned nor shown to the observer.
    LostTransition,
    /// An observer was notified of a transition twice or never, or another one was.
    Twice,
    Unnoticed,
    Elsewhere,
    /// A transition skips an epoch.
    Skipped,
    /// A permit is reported before it was asked for.
    Reversed,
}

impl Corruption {
    pub(crate) const ALL: [Self; 11] = [
        Self::TwoProbes,
        Self::Swapped,
        Self::StaleApplied,
        Self::Early,
        Self::OldSnapshot,
        Self::LostTransition,
        Self::Twice,
        Self::Unnoticed,
        Self::Elsewhere,
        Self::Skipped,
        Self::Reversed,
    ];

    /// Returns whether no order can explain it, whatever overlaps: the answer fits no state, or real time and the epoch that
    /// it names contradict each other.
    pub(crate) fn is_always_wrong(self) -> bool {
        matches!(
            self,
            Self::OldSnapshot | Self::Twice | Self::Skipped | Self::Reversed
        )
    }

    /// The history made wrong, somewhere; `None` if it has no place for that.
    pub(crate) fn of(
        self,
        history: &History,
        order: &[usize],
        random: &mut Random,
    ) -> Option<History> {
        let mut wrong = history.clone();
        let mut places: Vec<_> = (0..history.records.len()).collect();
        let count = places.len();
        for place in 0..count {
            places.swap(place, random.below(count as u64) as usize);
        }
        let is_done = match self {
            Self::OldSnapshot => delay_snapshot(&mut wrong, &places),
            Self::Swapped => swap(&mut wrong, &places),
            Self::Elsewhere => move_event(&mut wrong, &places),
            Self::Reversed => reverse(&mut wrong, &places),
            _ => places.iter().any(|&place| {
                let answer = self.answer(history, order, place);
                let is_other = answer.is_some();
                if let (Some(answer), Some(recorded)) = (answer, wrong.records[place].here_mut()) {
                    *recorded = answer;
                }
                is_other
            }),
        };
        wrong.records.sort_by_key(|record| record.called);
        is_done.then_some(wrong)
    }

    /// The wrong answer of an operation, if it has one.
    fn answer(self, history: &History, order: &[usize], place: usize) -> Option<Answer> {
        let record = &history.records[place];
        let mut answer = record.here()?.clone();
        let first = answer.heard.transitions.first().copied();
        match (self, &answer.said, record.operation) {
            (Self::TwoProbes, Said::Rejected { state, .. }, _) if *state == State::HalfOpen => {
                answer.heard.rejected.clear();
                answer.said = Said::Admitted {
                    is_probe: true,
                    trips: trips_of_a_probe(history)?,
                };
            }
            (Self::StaleApplied, Said::Made(None), Operation::Report(id, report))
                if !matches!(report, Report::Success | Report::Nothing) =>
            {
                let applied = before(history, order, place).renewed(id)?;
                answer = applied.answered(record, &history.plan)?;
            }
            (Self::Early, Said::Rejected { wait, .. }, _) => {
                let Wait::For(wait) = *wait else { return None };
                let mut later = record.clone();
                later.inputs.now += wait.as_millis() as u64;
                answer = before(history, order, place).answered(&later, &history.plan)?;
                for made in &mut answer.heard.transitions {
                    made.at_ms = record.inputs.now as u32;
                }
            }
            (Self::LostTransition, _, _) if first.is_some() => {
                answer.heard.transitions.clear();
                if let Said::Made(made) = &mut answer.said {
                    *made = None;
                }
            }
            (Self::Twice, _, _) => answer.heard.transitions.push(first?),
            (Self::Unnoticed, _, _) if first.is_some() => answer.heard.transitions.clear(),
            (Self::Skipped, _, _) if first.is_some() => {
                let epochs = history.plan.grain().epochs();
                let skip = |made: &mut Made| made.epoch = (made.epoch + 1) % epochs;
                answer.heard.transitions.iter_mut().for_each(skip);
                if let Said::Made(Some(made)) = &mut answer.said {
                    skip(made);
                }
            }
            _ => return None,
        }
        (record.here() != Some(&answer)).then_some(answer)
    }
}

/// The state in which an operation took effect.
fn before(history: &History, order: &[usize], place: usize) -> Model {
    let mut model = Model::new(&history.plan);
    for earlier in order.iter().take_while(|earlier| **earlier != place) {
        model.accepts(&history.records[*earlier], &history.plan);
    }
    model
}

fn trips_of_a_probe(history: &History) -> Option<u8> {
    let mut answers = history.records.iter().filter_map(Record::here);
    answers.find_map(|answer| match answer.said {
        Said::Admitted {
            is_probe: true,
            trips,
        } => Some(trips),
        _ => None,
    })
}

/// Makes room between any two stamps.
fn spread(history: &mut History) {
    for record in &mut history.records {
        record.called *= 4;
        record.returned *= 4;
    }
    for change in &mut history.changes {
        change.called *= 4;
        change.returned *= 4;
    }
}

fn delay_snapshot(wrong: &mut History, places: &[usize]) -> bool {
    spread(wrong);
    let records = &wrong.records;
    let is_snapshot = |place: &&usize| records[**place].operation == Operation::Snapshot;
    let found = places.iter().filter(is_snapshot).find_map(|&snapshot| {
        let returned = records[snapshot].returned;
        let is_later = |it: &&Record| it.is_transition() && it.called > returned;
        let later = records.iter().find(is_later)?;
        Some((snapshot, later.returned))
    });
    if let Some((snapshot, over)) = found {
        (
            wrong.records[snapshot].called,
            wrong.records[snapshot].returned,
        ) = (over + 1, over + 2);
    }
    found.is_some()
}

fn swap(wrong: &mut History, places: &[usize]) -> bool {
    let records = &wrong.records;
    let kind = |place: usize| std::mem::discriminant(&records[place].operation);
    let pair = places.iter().enumerate().find_map(|(nth, &one)| {
        let other = places[..nth].iter().find(|&&other| {
            kind(one) == kind(other) && records[one].answer != records[other].answer
        })?;
        Some((one, *other))
    });
    if let Some((one, other)) = pair {
        let answer = wrong.records[one].answer.clone();
        wrong.records[one].answer = wrong.records[other].answer.clone();
        wrong.records[other].answer = answer;
    }
    pair.is_some()
}

fn move_event(wrong: &mut History, places: &[usize]) -> bool {
    let from = places
        .iter()
        .find(|place| wrong.records[**place].is_transition());
    let to = places
        .iter()
        .find(|place| !wrong.records[**place].is_transition());
    let (Some(&from), Some(&to)) = (from, to) else {
        return false;
    };
    let heard = wrong.records[from].here_mut().map(|it| &mut it.heard);
    let moved = heard.map(|heard| std::mem::take(&mut heard.transitions));
    if let (Some(answer), Some(moved)) = (wrong.records[to].here_mut(), moved) {
        answer.heard.transitions = moved;
    }
    true
}

fn reverse(wrong: &mut History, places: &[usize]) -> bool {
    let ends = |place: &usize| {
        let record = &wrong.records[*place];
        let is_end = matches!(record.operation, Operation::Report(..) | Operation::Drop(_));
        record.operation.permit().filter(|_| is_end)
    };
    let found = places.iter().find_map(|place| Some((*place, ends(place)?)));
    let Some((end, id)) = found else { return false };
    let acquired = wrong
        .records
        .iter()
        .position(|record| record.operation == Operation::Acquire(id));
    let Some(acquired) = acquired else {
        return false;
    };
    let stamps = |record: &Record| (record.called, record.returned);
    let (one, other) = (
        stamps(&wrong.records[end]),
        stamps(&wrong.records[acquired]),
    );
    (wrong.records[end].called, wrong.records[end].returned) = other;
    (
        wrong.records[acquired].called,
        wrong.records[acquired].returned,
    ) = one;
    true
}
