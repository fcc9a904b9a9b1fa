// SPDX-License-Identifier: MIT OR Apache-2.0
//! The instance that probes, and the end of its right to probe.

use atomic_breaker::{Breaker, Config, ManualClock};
use atomic_breaker_fleet::contract::{Action, Context, Local};
use atomic_breaker_fleet::{Ask, Finding, Notice};

use super::support::{GRACE_MS, Instance, OPEN_MS, id, leased, period};

#[test]
fn one_rejected_call_is_one_bid() {
    let mut instance = Instance::in_period(1, period(5, 4_000));
    instance.run_to(4_000);
    instance.demand();
    for _ in 0..100 {
        assert_eq!(instance.local(Local::Rejected), []);
    }
    assert!(!instance.member.wants_rejections(instance.now));
}

#[test]
fn the_winner_probes_and_reports_its_result() {
    let mut instance = Instance::probing(period(5, 0));
    let healthy = Ask::Finding {
        id: id(5),
        finding: Finding::Healthy,
    };
    assert_eq!(instance.local(Local::Recovered), [Action::Ask(healthy)]);
    assert_eq!(instance.answer(healthy, true, Notice::Closed(id(6))), []);
    assert_eq!(instance.read(Some(Notice::Closed(id(6)))), []);
}

#[test]
fn a_failed_probe_lets_the_open_time_of_the_fleet_grow_whichever_instance_probes() {
    for (trips, grown) in [(1, 20_000), (2, 40_000), (3, 60_000), (200, 60_000)] {
        let mut third = period(5, 0);
        third.trips = trips;
        let mut instance = Instance::probing(third);
        let failed = Finding::Failed {
            open_ms: grown,
            pause_ms: GRACE_MS as u32,
        };
        let finding = Ask::Finding {
            id: id(5),
            finding: failed,
        };
        // The word of this instance has seen one trip.
        let actions = instance.local(Local::ProbeFailed { open_ms: 20_000 });
        assert_eq!(actions, [Action::Ask(finding)]);
    }
}

#[test]
fn an_instance_that_failed_leaves_the_next_probe_to_others_for_its_own_open_time() {
    let mut instance = Instance::probing(period(5, 0));
    let actions = instance.local(Local::ProbeFailed { open_ms: OPEN_MS });
    let [Action::Ask(finding @ Ask::Finding { .. })] = actions[..] else {
        panic!("{actions:?}");
    };
    instance.answer(finding, true, Notice::Open(period(6, 1_000)));
    instance.run_to(u64::from(OPEN_MS) - 1);
    assert!(!instance.member.wants_rejections(instance.now));
    instance.run_to(1);
    assert!(instance.member.wants_rejections(instance.now));
    // It lasts no longer than the fleet is open.
    let mut instance = Instance::probing(period(5, 0));
    instance.local(Local::ProbeFailed { open_ms: OPEN_MS });
    instance.hear(Notice::Open(period(6, 1_000)));
    assert_eq!(instance.hear(Notice::Closed(id(7))), [Action::Close]);
}

#[test]
fn a_loser_waits_for_the_winner_and_no_longer() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    instance.run_to(1_000);
    let bid = instance.demand();
    let actions = instance.answer(bid, false, leased(period(5, 0), 400));
    assert!(
        matches!(actions[..], [] | [Action::Extend { .. }]),
        "{actions:?}"
    );
    assert!(!instance.member.wants_rejections(instance.now));
    instance.run_to(400);
    assert!(instance.member.wants_rejections(instance.now));
    instance.demand();
}

#[test]
fn an_instance_that_hears_of_a_prober_does_not_bid() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    instance.run_to(1_000);
    instance.local(Local::Rejected);
    instance.hear(leased(period(5, 0), 500));
    let actions = instance.run_to(499);
    let bids = actions
        .iter()
        .any(|action| matches!(action, Action::Ask(_)));
    assert!(!bids, "{actions:?}");
}

#[test]
fn a_long_probe_keeps_its_right() {
    let mut instance = Instance::probing(period(5, 0));
    instance.now.is_probing = true;
    let mut bids = 0;
    for _ in 0..100 {
        for action in instance.run_to(50) {
            let Action::Ask(ask @ Ask::Bid { .. }) = action else {
                panic!("{action:?}");
            };
            bids += 1;
            instance.answer(ask, true, leased(period(5, 0), 500));
        }
    }
    assert!(
        (20..50).contains(&bids),
        "{bids} in 5 s, with a lease of 500 ms"
    );
}

/// The end of the right of an instance whose probe hangs from now on; every bid is won.
fn right_of_a_hung_probe(instance: &mut Instance) -> u64 {
    let began = instance.now.now_ms;
    instance.now.is_probing = true;
    let mut until = began + 500;
    for _ in 0..1_200 {
        for action in instance.run_to(50) {
            let Action::Ask(ask @ Ask::Bid { lease_ms, .. }) = action else {
                panic!("{action:?}");
            };
            until = until.max(instance.now.now_ms + u64::from(lease_ms));
            instance.answer(ask, true, leased(period(5, 0), lease_ms));
        }
    }
    until - began
}

#[test]
fn the_right_of_a_hung_probe_ends_with_its_lease() {
    let mut instance = Instance::probing(period(5, 0));
    let ms = right_of_a_hung_probe(&mut instance);
    // 30 s unless set, from the earliest time at which the probe may have begun.
    assert!((29_800..=30_050).contains(&ms), "{ms} ms");
    assert_eq!(instance.member.period(), None);
    // It lets others go first, and what it finds at last still counts.
    let healthy = instance.local(Local::Recovered);
    assert!(
        matches!(healthy[..], [Action::Ask(Ask::Finding { .. })]),
        "{healthy:?}"
    );
}

#[test]
fn a_success_of_several_keeps_the_right_for_another_lease() {
    let mut instance = Instance::probing(period(5, 0));
    let first = right_of_a_success_after(&mut instance, 20_000);
    assert!((49_800..=50_200).contains(&first), "{first} ms");
}

/// The end of the right if one of several probes succeeds after so long, and the next one hangs.
fn right_of_a_success_after(instance: &mut Instance, ms: u64) -> u64 {
    let began = instance.now.now_ms;
    instance.now.is_probing = true;
    for _ in 0..ms / 50 {
        for action in instance.run_to(50) {
            if let Action::Ask(ask) = action {
                instance.answer(ask, true, leased(period(5, 0), 500));
            }
        }
    }
    instance.now.successes = 1;
    instance.now.now_ms - began + right_of_a_hung_probe(instance)
}

#[test]
fn an_instance_that_was_paused_while_it_probed_asks_for_no_more() {
    let mut instance = Instance::probing(period(5, 0));
    instance.now.is_probing = true;
    instance.run_to(100);
    instance.now.now_ms += 3_600_000;
    assert_eq!(instance.run_to(1_000), []);
    assert_eq!(instance.member.period(), None);
}

#[test]
fn a_lost_probe_gives_its_right_up() {
    let mut instance = Instance::probing(period(5, 0));
    instance.now.is_probing = true;
    instance.local(Local::ProbeLost);
    assert_eq!(instance.run_to(5_000), []);
    assert_eq!(instance.member.period(), None);
}

#[test]
fn a_winner_that_is_called_only_after_its_right_has_ended_probes_for_all() {
    let mut instance = Instance::probing(period(5, 0));
    assert_eq!(instance.run_to(5_000), []);
    let failed = instance.local(Local::ProbeFailed { open_ms: 20_000 });
    assert!(
        matches!(failed[..], [Action::Ask(Ask::Finding { .. })]),
        "{failed:?}"
    );
}

#[test]
fn a_winner_without_calls_goes_on_alone_after_a_while() {
    let mut instance = Instance::probing(period(5, 0));
    assert_eq!(instance.run_to(40_000), []);
    assert_eq!(instance.member.period(), None);
}

#[test]
fn a_finding_that_was_not_heard_is_repeated_until_it_is_known() {
    let mut instance = Instance::probing(period(5, 0));
    instance.now.is_connected = false;
    assert_eq!(instance.local(Local::Recovered), []);
    instance.now.is_connected = true;
    let healthy = Ask::Finding {
        id: id(5),
        finding: Finding::Healthy,
    };
    let still_open = Some(Notice::Open(period(5, 0)));
    assert_eq!(instance.read(still_open), [Action::Ask(healthy)]);
    assert_eq!(instance.read(still_open), [Action::Ask(healthy)]);
    instance.answer(healthy, true, Notice::Closed(id(6)));
    assert_eq!(instance.read(Some(Notice::Closed(id(6)))), []);
}

#[test]
fn a_finding_that_came_too_late_is_forgotten() {
    let mut instance = Instance::probing(period(5, 0));
    instance.now.is_connected = false;
    instance.local(Local::Recovered);
    instance.now.is_connected = true;
    let actions = instance.read(Some(Notice::Open(period(9, 3_000))));
    assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
    assert_eq!(instance.read(Some(Notice::Open(period(9, 2_000)))), []);
}

#[test]
fn a_lease_that_comes_too_late_is_left_to_lapse() {
    let mut instance = Instance::in_period(1, period(5, 0));
    let bid = instance.demand();
    assert_eq!(instance.no_answer(bid), []);
    instance.now.is_connected = true;
    assert!(
        !instance
            .answer(bid, true, leased(period(5, 0), 100))
            .contains(&Action::Probe)
    );
}

/// It has probed for longer than its breaker would have waited by itself, so that this time was long over when the probe
/// failed.
#[test]
fn an_instance_whose_probe_has_failed_waits_for_the_next_prober() {
    let period = period(5, 1_000);
    let mut instance = Instance::probing(period);
    instance.now.is_probing = true;
    for _ in 0..30 {
        for action in instance.run_to(100) {
            if let Action::Ask(bid @ Ask::Bid { .. }) = action {
                instance.answer(bid, true, leased(period, 500));
            }
        }
    }
    instance.now.is_probing = false;
    instance.local(Local::ProbeFailed { open_ms: OPEN_MS });
    let mut deadline = instance.now.now_ms + u64::from(OPEN_MS);
    for _ in 0..200 {
        let mut actions = instance.hear(leased(period, 500));
        actions.extend(instance.run_to(100));
        for action in actions {
            let Action::Extend { for_ms } = action else {
                panic!("{action:?}");
            };
            deadline = deadline.max(instance.now.now_ms + for_ms);
        }
        assert!(instance.now.now_ms < deadline, "another one is probing");
    }
}

/// However often another instance's right is heard of within a millisecond: the breaker's word is not written in vain.
#[test]
fn an_extension_ends_later_than_the_one_before_it() {
    let mut instance = Instance::in_period(1, period(5, 0));
    let mut last = 0;
    for _ in 0..5_000 {
        for action in instance.hear(leased(period(5, 0), 500)) {
            let Action::Extend { for_ms } = action else {
                panic!("{action:?}");
            };
            assert!(for_ms > last, "{for_ms} after {last}");
            last = for_ms;
        }
    }
    assert_eq!(last, 500 + GRACE_MS);
}

#[test]
fn a_breaker_is_probing_from_its_first_probe_to_the_end_of_the_round() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new().probes(2), &clock);
    let is_probing = || Context::new(0, true, &breaker.snapshot()).is_probing;
    breaker.trip();
    assert!(!is_probing(), "open");
    breaker.probe_now();
    let probe = breaker.acquire().unwrap();
    assert!(is_probing(), "one in flight");
    probe.cancel();
    assert!(!is_probing(), "half-open, and none is in flight");
    breaker.acquire().unwrap().success();
    assert!(is_probing(), "one of two has succeeded");
    breaker.acquire().unwrap().success();
    assert!(!is_probing(), "closed");
}
