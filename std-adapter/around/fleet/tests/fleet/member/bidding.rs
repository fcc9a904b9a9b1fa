// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time at which an instance asks for the right to probe, and the time for which a probe keeps it.

use atomic_breaker_fleet::contract::{Action, Input, Local, Member};
use atomic_breaker_fleet::{Ask, Finding, FleetConfig, Notice};

use super::support::{GRACE_MS, Instance, OPEN_MS, leased, period, rules};

#[test]
fn bids_of_instances_that_reject_at_once_are_spread_over_an_eighth_of_a_grace() {
    let mut all = Vec::new();
    for seed in 0..1_000 {
        let mut instance = Instance::in_period(seed, period(5, 0));
        assert_eq!(instance.local(Local::Rejected), []);
        // It steps in each millisecond, which hastens nothing.
        let pause = (0..=GRACE_MS).find(|&ms| {
            instance.now.now_ms += u64::from(ms > 0);
            let actions = instance.step(Input::Time);
            matches!(actions[..], [Action::Ask(Ask::Bid { .. })])
        });
        all.push(pause.expect("a bid"));
    }
    let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
    assert!(*least <= 2, "{least} ms");
    assert!((120..=GRACE_MS / 8).contains(most), "{most} ms");
}

#[test]
fn without_the_engine_or_in_shadow_mode_no_rejected_call_counts() {
    let mut instance = Instance::in_period(1, period(5, 0));
    assert!(instance.member.wants_rejections(instance.now));
    instance.now.is_connected = false;
    assert!(!instance.member.wants_rejections(instance.now));
    let mut instance = Instance::new(1);
    instance.member = Member::new(&FleetConfig::new(3).shadow(true), &rules(), 1);
    instance.hear(Notice::Open(period(5, 0)));
    assert!(!instance.member.wants_rejections(instance.now));
    assert_eq!(instance.local(Local::Rejected), []);
}

#[test]
fn an_engine_that_is_gone_by_the_time_of_the_bid_is_not_asked() {
    let mut instance = Instance::in_period(1, period(5, 0));
    instance.local(Local::Rejected);
    instance.now.is_connected = false;
    assert_eq!(instance.run_to(GRACE_MS / 8), []);
    assert_eq!(instance.member.period(), None);
}

#[test]
fn a_newcomer_waits_for_the_probe_of_another() {
    let mut instance = Instance::new(1);
    instance.read(Some(leased(period(5, 0), 400)));
    instance.run_to(399);
    instance.step(Input::Time);
    assert!(!instance.member.wants_rejections(instance.now));
    instance.run_to(1);
    assert!(instance.member.wants_rejections(instance.now));
}

/// Lets it probe, or not, for so long, in steps of 50 ms; every bid is won. Returns when its right ends.
fn probe(instance: &mut Instance, is_probing: bool, ms: u64) -> u64 {
    let mut until = 0;
    instance.now.is_probing = is_probing;
    for _ in 0..ms / 50 {
        for action in instance.run_to(50) {
            let Action::Ask(ask @ Ask::Bid { lease_ms, .. }) = action else {
                panic!("{action:?}");
            };
            until = until.max(instance.now.now_ms + u64::from(lease_ms));
            instance.answer(ask, true, leased(period(5, 0), lease_ms));
        }
    }
    until
}

#[test]
fn the_lease_of_a_probe_begins_with_its_call_and_not_with_the_right() {
    let mut instance = Instance::probing(period(5, 0));
    probe(&mut instance, false, 400);
    let began = instance.now.now_ms;
    let ms = probe(&mut instance, true, 60_000) - began;
    assert!((29_940..=30_100).contains(&ms), "{ms} ms");
}

#[test]
fn a_probe_that_ends_without_a_report_does_not_begin_the_lease_anew() {
    let mut instance = Instance::probing(period(5, 0));
    let began = instance.now.now_ms;
    probe(&mut instance, true, 10_000);
    probe(&mut instance, false, 200);
    let ms = probe(&mut instance, true, 60_000) - began;
    assert!((29_940..=30_100).contains(&ms), "{ms} ms");
}

#[test]
fn a_prober_asks_three_times_before_its_right_ends_unheard() {
    let mut instance = Instance::probing(period(5, 0));
    instance.now.is_probing = true;
    let bids = instance.run_to(499);
    assert_eq!(bids.len(), 3, "{bids:?}");
}

#[test]
fn no_bid_of_a_prober_asks_for_less_than_it_has() {
    let mut instance = Instance::probing(period(5, 0));
    instance.now.is_probing = true;
    let mut until = instance.now.now_ms + 500;
    for _ in 0..31_000 {
        for action in instance.run_to(1) {
            let Action::Ask(ask @ Ask::Bid { lease_ms, .. }) = action else {
                panic!("{action:?}");
            };
            let next = instance.now.now_ms + u64::from(lease_ms);
            assert!(next > until, "{next} after {until}");
            until = next;
            instance.answer(ask, true, leased(period(5, 0), lease_ms));
        }
    }
    assert_eq!(instance.member.period(), None);
}

/// Its callers come seldom: the first one left early, the next one comes when the right has lapsed.
#[test]
fn a_probe_after_the_right_has_lapsed_has_its_whole_lease() {
    let mut instance = Instance::probing(period(5, 0));
    probe(&mut instance, true, 400);
    instance.now.is_probing = false;
    assert_eq!(instance.run_to(20_000), []);
    let began = instance.now.now_ms;
    let ms = probe(&mut instance, true, 60_000) - began;
    assert!((29_800..=31_000).contains(&ms), "{ms} ms");
}

#[test]
fn a_right_ends_at_its_time_if_the_engine_is_gone_and_not_before() {
    for (ms, counts_for_all) in [(499, true), (500, false)] {
        let mut instance = Instance::probing(period(5, 0));
        instance.now.is_connected = false;
        assert_eq!(instance.run_to(ms), []);
        assert_eq!(instance.member.period().is_some(), counts_for_all);
        instance.now.is_connected = true;
        let actions = instance.local(Local::ProbeFailed { open_ms: OPEN_MS });
        let is_finding = matches!(
            actions[..],
            [Action::Ask(Ask::Finding {
                finding: Finding::Failed { .. },
                ..
            })]
        );
        assert_eq!(is_finding, counts_for_all, "{actions:?}");
    }
}

/// So that the lease of its probe begins soon after the probe, and no timer wakes it all the time.
#[test]
fn a_winner_without_calls_looks_for_one_about_ten_times_in_its_right() {
    let mut instance = Instance::probing(period(5, 0));
    let until = instance.now.now_ms + 500;
    let mut looks = 0;
    while instance.now.now_ms < until {
        instance.now.now_ms = instance.member.due_ms().expect("a look");
        assert_eq!(instance.step(Input::Time), []);
        looks += 1;
    }
    assert_eq!(instance.now.now_ms, until);
    assert!((8..=13).contains(&looks), "{looks}");
}

#[test]
fn an_instance_whose_probe_was_lost_leaves_the_next_one_to_others_for_two_graces() {
    let mut instance = Instance::probing(period(5, 0));
    instance.now.is_probing = true;
    instance.local(Local::ProbeLost);
    instance.run_to(600);
    instance.now.is_probing = false;
    instance.hear(Notice::Open(period(6, 0)));
    // Its right ended 100 ms ago.
    instance.run_to(2 * GRACE_MS - 101);
    assert!(!instance.member.wants_rejections(instance.now));
    instance.run_to(1);
    assert!(instance.member.wants_rejections(instance.now));
}
