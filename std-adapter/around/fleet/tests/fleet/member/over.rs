// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of an outage, by itself or by an operator: nothing that holds the next probe back.

use atomic_breaker_fleet::contract::{Action, Local};
use atomic_breaker_fleet::{Ask, Notice};

use super::support::{Instance, OPEN_MS, id, period};

/// Returns whether a rejected call of it counts when the next period has just ended.
fn bids_with_the_others(instance: &mut Instance, next: u64) -> bool {
    let actions = instance.hear(Notice::Open(period(next, 1_000)));
    assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
    instance.run_to(1_000);
    instance.member.wants_rejections(instance.now)
}

#[test]
fn an_instance_whose_probe_failed_bids_with_the_others_in_the_next_outage() {
    let mut instance = Instance::probing(period(5, 0));
    instance.local(Local::ProbeFailed { open_ms: OPEN_MS });
    assert!(!bids_with_the_others(&mut instance, 6));
    assert_eq!(instance.hear(Notice::Closed(id(7))), [Action::Close]);
    assert!(bids_with_the_others(&mut instance, 8));
}

#[test]
fn a_success_or_an_operator_ends_every_wait() {
    for ends in [Local::Recovered, Local::Overruled] {
        let mut instance = Instance::new(1);
        let demanded = Local::Tripped {
            open_ms: 60_000,
            is_demanded: true,
        };
        let [Action::Ask(Ask::Vote { .. })] = instance.local(demanded)[..] else {
            panic!("a vote");
        };
        assert_eq!(instance.local(ends), []);
        assert!(instance.member.is_idle(instance.now.now_ms));
        instance.run_to(1);
        // The vote is not cast again.
        assert_eq!(instance.read(None), []);
        assert!(bids_with_the_others(&mut instance, 5), "{ends:?}");
    }
}

#[test]
fn a_member_in_a_period_or_with_a_finding_to_repeat_is_not_idle() {
    let in_period = Instance::in_period(1, period(5, 1_000));
    assert!(!in_period.member.is_idle(in_period.now.now_ms));
    let mut unheard = Instance::probing(period(5, 0));
    unheard.now.is_connected = false;
    unheard.local(Local::Recovered);
    assert_eq!(unheard.member.period(), None);
    assert!(!unheard.member.is_idle(unheard.now.now_ms));
}
