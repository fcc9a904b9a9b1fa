// SPDX-License-Identifier: MIT OR Apache-2.0
//! The effect of each call on a job as a store may keep it, where no store in memory gets to.

use std::time::Duration;

use atomic_breaker_steps::{
    Change, JobId, JobRow, NewJob, Right, Status, StepError, Workflow, micros,
};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(60);
/// A second, in the units of a row.
const ONE: i64 = 1_000_000;

fn job() -> NewJob {
    let workflow = Workflow::new("kind").step("first", "a", async |n: u32| Ok::<_, StepError>(n));
    workflow.job("k", &7).unwrap()
}

fn claimed() -> (JobRow, Right) {
    let row = JobRow::new(&job(), Some(LEASE), 0).unwrap();
    let right = row.right(JobId::new(1)).unwrap();
    (row, right)
}

#[test]
fn a_status_is_found_by_its_name() {
    for status in Status::ALL {
        assert_eq!(Status::from_name(status.name()), Some(status));
        let mut faults = Vec::new();
        assert_eq!(JobRow::status(status.name(), &mut faults), status);
        assert!(faults.is_empty());
    }
    let mut faults = Vec::new();
    assert_eq!(Status::from_name("Done"), None);
    assert_eq!(JobRow::status("Done", &mut faults), Status::Parked);
    assert_eq!(faults, ["status \"Done\""]);
}

#[test]
fn a_count_that_no_job_has_is_a_fault() {
    let largest = i64::from(u32::MAX);
    for (count, nearest, is_fault) in [
        (0, 0, false),
        (7, 7, false),
        (largest, u32::MAX, false),
        (largest + 1, u32::MAX, true),
        (i64::MAX, u32::MAX, true),
        (-1, 0, true),
        (i64::MIN, 0, true),
    ] {
        let mut faults = Vec::new();
        assert_eq!(JobRow::count("failures", count, &mut faults), nearest);
        let fault = is_fault.then(|| format!("failures {count}"));
        assert_eq!(faults, Vec::from_iter(fault));
    }
}

#[test]
fn a_time_of_a_hundred_thousand_years_can_be_counted() {
    let longest = Duration::from_secs(100_000 * 365 * 24 * 60 * 60);
    assert_eq!(micros(longest).unwrap(), longest.as_micros() as i64);
    let error = micros(longest + Duration::from_nanos(1)).unwrap_err();
    assert!(error.to_string().contains("shorter"), "{error}");
}

#[test]
fn a_job_that_has_not_ended_says_when_it_may_be_claimed() {
    let mut row = JobRow::new(&job().delay(3 * SECOND), None, 0).unwrap();
    assert_eq!(row.due_in(0), Some(3 * SECOND));
    assert_eq!(row.due_in(2 * ONE), Some(SECOND));
    assert_eq!(row.due_in(9 * ONE), Some(Duration::ZERO));
    assert!(row.cancel(9 * ONE));
    assert_eq!(row.due_in(9 * ONE), None);
    let (row, _) = claimed();
    assert_eq!(row.due_in(0), Some(LEASE), "when its lease is over");
}

#[test]
fn a_job_that_is_cancelled_gets_a_greater_fence_up_to_the_last() {
    let (mut row, right) = claimed();
    assert!(row.cancel(ONE));
    assert_eq!(row.fence, right.fence + 1);
    for fence in [i64::MAX - 2, i64::MAX - 1, i64::MAX] {
        let (mut row, _) = claimed();
        row.fence = fence;
        assert!(row.cancel(ONE));
        assert_eq!(row.fence, i64::MAX - 1);
    }
}

#[test]
fn a_job_that_was_lost_twice_is_claimed_alone() {
    let (row, _) = claimed();
    let mut due = vec![(JobId::new(1), row)];
    for minutes in [1, 2] {
        let now = minutes * 60 * ONE;
        let again = JobRow::claim(&mut due, LEASE, now).remove(0);
        assert!(again.is_lost, "{again:?}");
    }
    let now = 180 * ONE;
    let right = due[0].1.right(JobId::new(1)).unwrap();
    let lost = Change::again(Duration::ZERO, "lost".to_owned());
    assert!(due[0].1.save(right, &lost, now).is_held);
    due.push((JobId::new(2), JobRow::new(&job(), None, now).unwrap()));
    let claimed = JobRow::claim(&mut due, LEASE, now);
    let ids: Vec<_> = claimed.iter().map(|one| one.right.id.get()).collect();
    assert_eq!(ids, [1]);
    assert!(!claimed[0].is_lost, "it waited");
}

#[test]
fn a_person_told_of_a_delay_and_of_the_end_was_told() {
    let (mut row, right) = claimed();
    let again = Change::again(Duration::ZERO, "refused".to_owned());
    assert!(row.save(right, &again.tell(true), ONE).tell && row.is_told);
    let mut due = vec![(right.id, &mut row)];
    let right = JobRow::claim(&mut due, LEASE, ONE)[0].right;
    let dead = Change::dead("refused".to_owned());
    assert!(row.save(right, &dead.tell(true), ONE).tell && row.is_told);
}

#[test]
fn only_the_change_saved_last_is_known_when_it_comes_again() {
    let next = |step: &str, keep| Change::next(step, "a", "8".to_owned(), keep);
    let (mut row, right) = claimed();
    assert!(row.save(right, &next("second", Some(LEASE)), ONE).is_held);
    let after = row.clone();
    for (of, change, is_held) in [
        (right, next("second", Some(LEASE)), true),
        (right, next("second", None), false),
        (right, next("third", Some(LEASE)), false),
        (right, Change::done("8".to_owned()), false),
        (
            right.after_step().after_step(),
            next("second", Some(LEASE)),
            false,
        ),
    ] {
        let saved = row.save(of, &change, 2 * ONE);
        assert_eq!((saved.is_held, saved.tell), (is_held, false), "{change:?}");
        assert_eq!(row, after, "nothing has changed");
    }
}
