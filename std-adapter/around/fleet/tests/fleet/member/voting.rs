// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trips, votes, and the start and end of a period.

use atomic_breaker_fleet::contract::{Action, Input, Local};
use atomic_breaker_fleet::{Ask, Notice};

use super::support::{GRACE_MS, Instance, OPEN_MS, for_ms, id, period};

fn tripped() -> Local {
    Local::Tripped {
        open_ms: OPEN_MS,
        is_demanded: false,
    }
}

#[test]
fn a_trip_by_outcomes_is_a_vote() {
    let mut instance = Instance::new(1);
    let vote = Ask::Vote {
        quorum: 3,
        window_ms: 10_000,
        age_ms: 0,
        open_ms: OPEN_MS,
        known: 0,
    };
    assert_eq!(instance.local(tripped()), [Action::Ask(vote)]);
}

#[test]
fn a_trip_by_hand_is_none() {
    let mut instance = Instance::new(1);
    assert_eq!(instance.local(Local::TrippedByHand { open_ms: 1 }), []);
}

#[test]
fn it_opens_for_what_remains_and_half_a_grace_to_a_grace() {
    let mut all = Vec::new();
    for seed in 0..1_000 {
        let mut instance = Instance::new(seed);
        let actions = instance.hear(Notice::Open(period(1, 4_000)));
        assert!(matches!(actions[..], [Action::Trip { .. }]));
        all.push(for_ms(&actions));
    }
    let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
    assert!((4_500..4_520).contains(least), "{least}");
    assert!((4_980..=5_000).contains(most), "{most}");
}

#[test]
fn the_remaining_time_is_clamped_to_the_longest_of_the_rules() {
    let mut instance = Instance::new(1);
    let mut endless = period(1, u32::MAX);
    endless.open_ms = u32::MAX;
    // 5 minutes, the longest `Retry-After` that is accepted, and their grace.
    let opens = for_ms(&instance.hear(Notice::Open(endless)));
    assert!((315_000..=330_000).contains(&opens), "{opens}");
}

#[test]
fn the_end_of_a_period_closes_and_a_late_message_of_it_does_not_open_again() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    assert_eq!(instance.hear(Notice::Closed(id(6))), [Action::Close]);
    assert_eq!(instance.hear(Notice::Open(period(5, 1_000))), []);
    assert_eq!(instance.hear(Notice::Closed(id(6))), []);
    assert_eq!(instance.member.known_epoch(), 6);
}

#[test]
fn a_failed_probe_of_another_opens_again_by_its_time() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    instance.run_to(1_100);
    let again = for_ms(&instance.hear(Notice::Open(period(6, 9_000))));
    assert!((9_500..=10_000).contains(&again), "{again}");
}

#[test]
fn a_newcomer_learns_current_periods_by_reading() {
    let mut instance = Instance::new(1);
    let opens = for_ms(&instance.read(Some(Notice::Open(period(5, 1_000)))));
    assert!((1_500..=2_000).contains(&opens), "{opens}");
    assert_eq!(instance.read(Some(Notice::Open(period(5, 900)))), []);
}

#[test]
fn a_vote_that_was_lost_is_cast_again_as_long_as_it_is_open_here() {
    let mut instance = Instance::new(1);
    instance.now.is_connected = false;
    assert_eq!(instance.local(tripped()), []);
    instance.now.is_connected = true;
    instance.run_to(4_000);
    let actions = instance.read(None);
    let [
        Action::Ask(Ask::Vote {
            open_ms: 6_000,
            age_ms: 4_000,
            ..
        }),
    ] = actions[..]
    else {
        panic!("{actions:?}");
    };
    instance.run_to(6_000);
    assert_eq!(instance.read(None), []);
}

#[test]
fn a_vote_is_not_repeated_when_its_window_has_passed() {
    let mut instance = Instance::new(1);
    let long = Local::Tripped {
        open_ms: 60_000,
        is_demanded: false,
    };
    assert_eq!(instance.local(long).len(), 1);
    instance.run_to(9_999);
    assert_eq!(instance.read(None).len(), 1);
    instance.run_to(1);
    assert_eq!(instance.read(None), []);
}

#[test]
fn a_trip_reported_after_the_fleet_opened_changes_nothing() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    assert_eq!(instance.local(tripped()), []);
    assert_eq!(instance.member.period(), Some(id(5)));
}

#[test]
fn a_pause_that_the_server_asked_for_is_not_ended_by_the_fleet() {
    let mut instance = Instance::new(1);
    let asked_for = Local::Tripped {
        open_ms: 60_000,
        is_demanded: true,
    };
    instance.local(asked_for);
    instance.hear(Notice::Open(period(5, 1_000)));
    instance.run_to(1_500);
    assert!(!instance.member.wants_rejections(instance.now));
    assert_eq!(instance.hear(Notice::Closed(id(6))), []);
}

#[test]
fn an_operator_who_resets_it_is_not_overruled_within_the_period() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    assert_eq!(instance.local(Local::Overruled), []);
    assert_eq!(instance.run_to(5 * GRACE_MS), []);
    assert_eq!(instance.hear(Notice::Open(period(5, 500))), []);
    assert!(matches!(
        instance.hear(Notice::Open(period(6, 500)))[..],
        [Action::Trip { .. }]
    ));
}

#[test]
fn a_member_that_waits_for_nothing_is_idle() {
    let mut instance = Instance::new(1);
    assert!(instance.member.is_idle(instance.now.now_ms));
    instance.local(tripped());
    assert!(!instance.member.is_idle(instance.now.now_ms));
    instance.run_to(OPEN_MS.into());
    assert!(instance.member.is_idle(instance.now.now_ms));
    assert_eq!(instance.step(Input::Time), []);
}
