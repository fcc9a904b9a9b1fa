// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of jobs with whatever in them, as another program may have left them, and what each call of a store does to them.

use std::time::Duration;

use atomic_breaker_steps::{Change, JobId, JobRow, Right, Save, Status};

use crate::draw::Draw;
use crate::text;

const ID: JobId = JobId::new(7);
/// 2026, in microseconds since 1970.
const NOW: i64 = 1_767_225_600_000_000;
const STATUSES: [&str; 7] = [
    "waiting",
    "running",
    "done",
    "dead",
    "parked",
    "cancelled",
    "nonsense",
];

/// Near the ends of what a column holds, near the time, or small.
fn column(draw: &mut Draw<'_>) -> Option<i64> {
    let near = i64::from(draw.byte()? % 5) - 2;
    Some(match draw.byte()? % 6 {
        0 => i64::MIN.saturating_add(near),
        1 => i64::MAX.saturating_add(near),
        2 => NOW + near,
        3 => NOW + near * 1_000_000_000,
        4 => i64::from_le_bytes(draw.bytes()?),
        _ => near,
    })
}

/// A column that may be empty.
fn maybe(draw: &mut Draw<'_>) -> Option<i64> {
    column(draw).filter(|time| time % 2 == 0)
}

/// As the packages for databases read one.
fn row(draw: &mut Draw<'_>) -> Option<JobRow> {
    let mut faults = Vec::new();
    let flags = draw.byte()?;
    let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(JobRow {
        kind: "order".to_owned(),
        key: word(draw.piece()?),
        step: "invoice".to_owned(),
        lane: "billing".to_owned(),
        state: word(draw.piece()?),
        status: JobRow::status(STATUSES[draw.small(STATUSES.len())?], &mut faults),
        failures: JobRow::count("failures", column(draw)?, &mut faults),
        fence: column(draw)?,
        due: column(draw)?,
        first_due: column(draw)?,
        ended: maybe(draw),
        is_suspect: flags & 1 != 0,
        is_alone: flags & 2 != 0,
        is_told: flags & 4 != 0,
        is_unparked: flags & 8 != 0,
        held_up: JobRow::count("held_up", column(draw)?, &mut faults),
        held_since: maybe(draw),
        unknown_since: maybe(draw),
        history: Vec::new(),
        faults,
    })
}

fn time(draw: &mut Draw<'_>) -> Option<Duration> {
    Some(match draw.byte()? % 8 {
        0 => Duration::MAX,
        1 => Duration::ZERO,
        _ => Duration::from_millis(draw.time()?),
    })
}

fn change(draw: &mut Draw<'_>) -> Option<Change> {
    let error = || "no answer".to_owned();
    let change = match draw.byte()? % 9 {
        0 => Change::next("send", "mail", "{}".to_owned(), Some(time(draw)?)),
        1 => Change::next("send", "mail", "{}".to_owned(), None),
        2 => Change::done("{}".to_owned()),
        3 => Change::back(time(draw)?),
        4 => Change::again(time(draw)?, error()),
        5 => Change::held_up(time(draw)?, true, error()),
        6 => Change::held_up(time(draw)?, false, error()),
        7 => Change::dead(error()),
        _ => Change::parked(error()),
    };
    Some(change.tell(draw.byte()? % 2 == 0))
}

/// A right that was never given changes nothing.
fn is_not_held(row: &mut JobRow, wrong: Right, now: i64) {
    let before = row.clone();
    assert!(!row.renew(wrong, Duration::from_secs(1), now));
    assert!(!row.save(wrong, &Change::done(String::new()), now).is_held);
    assert_eq!(*row, before);
}

fn claimed(row: &mut JobRow, lease: Duration, now: i64) -> Right {
    let (old, status) = (row.right(ID), row.status);
    let was_wrong = !row.faults.is_empty() || status.is_final();
    let mut due = vec![(ID, &mut *row)];
    let mut claimed = JobRow::claim(&mut due, lease, now);
    assert_eq!(
        claimed.len(),
        1,
        "one that is due is claimed, whatever is in it"
    );
    let claimed = claimed.remove(0);
    assert_eq!(row.right(ID), Some(claimed.right));
    assert!(!was_wrong || claimed.fault.is_some(), "{row:?}");
    let ends = now.saturating_add(i64::try_from(lease.as_micros()).unwrap_or(i64::MAX));
    assert!(
        row.due > now || lease.is_zero(),
        "{lease:?} is over at once: {row:?}"
    );
    assert!(
        row.due == ends || lease > Duration::from_secs(3_000_000_000_000),
        "{lease:?}: {row:?}"
    );
    if let Some(old) = old {
        assert_ne!(old, claimed.right);
        is_not_held(row, old, now);
    }
    claimed.right
}

fn saved(row: &mut JobRow, save: &Save, now: i64) {
    let saved = row.save(save.right, &save.change, now);
    assert!(saved.is_held);
    assert_eq!(row.status, save.change.status);
    assert_eq!(row.ended.is_some(), save.change.due_in.is_none());
    assert!(!saved.tell || row.is_told);
    if row.status != Status::Running {
        is_not_held(row, save.right, now);
    }
}

/// One call of a store.
fn step(row: &mut JobRow, draw: &mut Draw<'_>, now: i64) -> Option<()> {
    let before = row.clone();
    match draw.byte()? % 8 {
        0 => drop(claimed(row, time(draw)?, now)),
        1 => {
            let right = claimed(row, time(draw)?, now);
            let change = change(draw)?;
            saved(row, &Save { right, change }, now);
        }
        2 => {
            let fence = column(draw)?;
            if row.right(ID).is_none_or(|right| right.fence != fence) {
                is_not_held(row, Right { id: ID, fence }, now);
            }
        }
        3 => {
            let right = row.right(ID);
            let lease = time(draw)?;
            assert!(right.is_none_or(|right| row.renew(right, lease, now)));
        }
        4 => {
            if row.retry_now(now) {
                let is_due = (Status::Waiting, now, None);
                assert_eq!((row.status, row.due, row.ended), is_due);
                let may = [Status::Waiting, Status::Dead, Status::Parked];
                assert!(may.contains(&before.status), "{before:?}");
            } else {
                assert_eq!(*row, before);
            }
        }
        5 => {
            if row.cancel(now) {
                assert!(row.status == Status::Cancelled && row.ended == Some(now));
                if let Some(right) = before.right(ID) {
                    is_not_held(row, right, now);
                }
            } else {
                assert_eq!(*row, before);
            }
        }
        6 => {
            if row.unpark("order", &["invoice"], time(draw)?, now) {
                assert!(before.status == Status::Parked && row.due == now);
            } else {
                assert_eq!(*row, before);
            }
        }
        _ => {
            let is_over = row.is_over(time(draw)?, now);
            assert!(!is_over || row.ended.is_some());
            let job = row.job(ID, now);
            assert!(job.status != Status::Running || job.due_in_ms >= 0);
            let _ = row.due_in(now);
        }
    }
    Some(())
}

/// Whatever is in it: it can be tried at once, is claimed, and ends.
fn ends(row: &mut JobRow, now: i64) {
    match row.status {
        Status::Done | Status::Cancelled => return,
        Status::Running => {}
        _ => assert!(row.retry_now(now)),
    }
    let right = claimed(row, Duration::from_secs(1), now);
    let change = Change::done("{}".to_owned());
    saved(row, &Save { right, change }, now);
    assert!(row.is_over(Duration::ZERO, now));
}

/// The first byte says whether the row is columns or JSON, as a store of files has it.
pub(crate) fn of_a_store(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    if first % 4 == 0 {
        let Some(row) = text(bytes).and_then(|text| serde_json::from_str::<JobRow>(text).ok())
        else {
            return;
        };
        let written = serde_json::to_string(&row).expect("as text");
        assert_eq!(serde_json::from_str::<JobRow>(&written).unwrap(), row);
        return ends(&mut row.clone(), NOW);
    }
    let mut draw = Draw(bytes);
    let Some(mut row) = row(&mut draw) else {
        return;
    };
    let mut now = NOW;
    for _ in 0..64 {
        let Some(ahead) = draw.time() else { break };
        let ahead = ahead.cast_signed();
        // A clock that is set back, now and then.
        now += if ahead % 16 == 7 { -ahead } else { ahead };
        if step(&mut row, &mut draw, now).is_none() {
            break;
        }
    }
    ends(&mut row, now);
}
