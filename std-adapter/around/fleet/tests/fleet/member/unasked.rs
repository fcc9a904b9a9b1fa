// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turns of an instance that no call has asked for one: its callers may look before they call.

use std::time::Duration;

use atomic_breaker_fleet::contract::{Action, Local};
use atomic_breaker_fleet::{Ask, Finding, Notice};

use super::support::{GRACE_MS, Instance, OPEN_MS, id, leased, period, rules};

#[test]
fn an_instance_bids_after_the_end_only_and_without_a_call_after_half_a_grace() {
    let mut instance = Instance::in_period(1, period(5, 4_000));
    assert_eq!(instance.run_to(3_999), []);
    assert!(!instance.member.wants_rejections(instance.now));
    assert_eq!(instance.local(Local::Rejected), []);
    instance.run_to(1);
    assert!(instance.member.wants_rejections(instance.now));
    let actions = instance.run_to(GRACE_MS / 2 - 1);
    let extended = |action: &Action| matches!(action, Action::Extend { .. });
    assert!(actions.iter().all(extended), "{actions:?}");
    let actions = instance.run_to(GRACE_MS / 2 + 1);
    let bids = actions.iter().filter(|action| !extended(action));
    let bid = Action::Ask(Ask::Bid {
        id: id(5),
        lease_ms: GRACE_MS as u32 / 2,
    });
    assert_eq!(bids.collect::<Vec<_>>(), [&bid]);
}

/// No caller comes: its breaker waits half-open for its next caller, however often others take the
/// right.
#[test]
fn an_instance_takes_the_right_unasked_once_until_it_is_called() {
    let mut instance = Instance::in_period(1, period(5, 0));
    let actions = instance.run_to(GRACE_MS + 1);
    let bid = actions.iter().find_map(|action| match action {
        Action::Ask(ask) => Some(*ask),
        _ => None,
    });
    let won = instance.answer(bid.expect("a bid"), true, leased(period(5, 0), 500));
    assert_eq!(won, [Action::Probe]);
    for _ in 0..40 {
        instance.hear(leased(period(5, 0), 500));
        assert_eq!(instance.run_to(GRACE_MS), []);
    }
    assert_eq!(instance.member.period(), None);
    instance.read(Some(Notice::Open(period(5, 0))));
    let bids = instance.run_to(10 * GRACE_MS);
    let extends = |action: &Action| matches!(action, Action::Extend { .. });
    assert!(bids.iter().all(extends), "{bids:?}");
    // A call came, and failed: it may have another turn.
    instance.local(Local::ProbeFailed { open_ms: OPEN_MS });
    instance.read(Some(Notice::Open(period(5, 0))));
    let bids = instance.run_to(u64::from(OPEN_MS) + 2 * GRACE_MS);
    // So many graces after the end, that needs no right.
    assert!(bids.contains(&Action::Probe), "{bids:?}");
}

/// Its breaker was half-open for its next caller until an operator opened it.
#[test]
fn an_instance_that_an_operator_trips_takes_the_right_unasked_again() {
    let mut instance = Instance::in_period(1, period(5, 0));
    let bid = instance.demand();
    instance.answer(bid, true, leased(period(5, 0), 500));
    instance.run_to(40 * GRACE_MS);
    instance.read(Some(Notice::Open(period(5, 0))));
    instance.local(Local::TrippedByHand { open_ms: OPEN_MS });
    let actions = instance.run_to(u64::from(OPEN_MS) + 2 * GRACE_MS);
    assert!(actions.contains(&Action::Probe), "{actions:?}");
}

/// Others have the right, one after the other, and their callers do not come.
#[test]
fn after_sixteen_graces_an_instance_waits_for_its_turn_no_longer() {
    let mut instance = Instance::in_period(1, period(5, 0));
    let mut probes_at = None;
    for ms in (0..40 * GRACE_MS).step_by(100) {
        for action in instance.run_to(100) {
            match action {
                Action::Ask(ask) => drop(instance.answer(ask, false, leased(period(5, 0), 500))),
                Action::Probe => probes_at = Some(ms),
                _ => {}
            }
        }
    }
    let probes_at = probes_at.expect("its callers are served");
    let bound = 16 * GRACE_MS..18 * GRACE_MS;
    assert!(bound.contains(&probes_at), "{probes_at} ms");
}

/// Its breaker is half-open, and its next call is a probe, whatever it hears of the period until then.
#[test]
fn a_success_counts_although_the_period_was_read_after_the_right_was_taken() {
    for news in [Notice::Open(period(5, 0)), leased(period(5, 0), 500)] {
        let mut instance = Instance::in_period(1, period(5, 0));
        let probes = (0..400).any(|_| {
            instance.run_to(100).into_iter().any(|action| match action {
                Action::Ask(ask) => {
                    let other = instance.answer(ask, false, leased(period(5, 0), 500));
                    other.contains(&Action::Probe)
                }
                action => action == Action::Probe,
            })
        });
        assert!(probes, "{:?}", instance.member);
        instance.read(Some(news));
        let healthy = Ask::Finding {
            id: id(5),
            finding: Finding::Healthy,
        };
        assert_eq!(instance.local(Local::Recovered), [Action::Ask(healthy)]);
    }
}

/// Its probe hangs, so it gives the right up, and another instance has it; then the probe succeeds after all.
#[test]
fn a_success_counts_although_the_period_was_read_while_its_probe_hung() {
    let mut instance = Instance::in_period(1, period(5, 0));
    let brief = rules().probe_lease(Duration::from_millis(20));
    instance.member.set_config(&brief);
    // Its breaker stays open for longer, as another instance has the right.
    instance.hear(leased(period(5, 0), 500));
    instance.run_to(500);
    let bid = instance.demand();
    assert_eq!(
        instance.answer(bid, true, leased(period(5, 0), 500)),
        [Action::Probe]
    );
    instance.now.is_probing = true;
    for _ in 0..60 {
        for action in instance.run_to(10) {
            if let Action::Ask(ask) = action {
                instance.answer(ask, false, leased(period(5, 0), 500));
            }
        }
    }
    instance.read(Some(leased(period(5, 0), 500)));
    let healthy = Ask::Finding {
        id: id(5),
        finding: Finding::Healthy,
    };
    assert_eq!(instance.local(Local::Recovered), [Action::Ask(healthy)]);
}
