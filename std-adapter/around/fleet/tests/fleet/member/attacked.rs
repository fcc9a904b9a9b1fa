// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that are lost, duplicated, late, out of order, or forged.

use atomic_breaker_fleet::contract::{Action, Local};
use atomic_breaker_fleet::{Ask, Finding, Notice, PeriodId};

use super::support::{Instance, id, leased, period};

/// A small generator, so that a failure can be repeated.
fn dice(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn doubled_and_reordered_messages_end_where_those_in_order_do() {
    let history = [
        Notice::Open(period(5, 1_000)),
        leased(period(5, 0), 500),
        Notice::Open(period(6, 2_000)),
        leased(period(6, 0), 500),
        Notice::Closed(PeriodId {
            epoch: 7,
            mark: id(6).mark,
        }),
    ];
    for seed in 1..2_000_u64 {
        let mut state = seed;
        let mut instance = Instance::new(seed);
        let mut messages: Vec<Notice> = history.into_iter().chain(history).collect();
        for last in (1..messages.len()).rev() {
            messages.swap(last, (dice(&mut state) % (last as u64 + 1)) as usize);
        }
        for message in messages {
            instance.hear(message);
            instance.run_to(dice(&mut state) % 300);
        }
        // The end of the last one was among them.
        assert_eq!(instance.member.period(), None, "seed {seed}");
        assert_eq!(instance.member.known_epoch(), 7);
        assert_eq!(instance.run_to(60_000), []);
    }
}

/// It has closed 51.
fn closed_at_51() -> Instance {
    let mut instance = Instance::in_period(1, period(50, 1_000));
    let end = PeriodId {
        epoch: 51,
        mark: id(50).mark,
    };
    assert_eq!(instance.hear(Notice::Closed(end)), [Action::Close]);
    instance.run_to(1);
    instance
}

#[test]
fn a_reading_is_current_whatever_its_epoch() {
    let mut instance = closed_at_51();
    // The engine was flushed, its clock was set back, and the later voters knew nothing.
    assert_eq!(instance.hear(Notice::Open(period(3, 1_000))), []);
    let actions = instance.read(Some(Notice::Open(period(3, 1_000))));
    assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
    // From now on its messages are heard.
    let actions = instance.hear(Notice::Open(period(4, 1_000)));
    assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
}

#[test]
fn a_period_that_ended_is_said_to_have_ended() {
    let mut instance = closed_at_51();
    let ended = Ask::Finding {
        id: id(50),
        finding: Finding::Healthy,
    };
    let older = Some(Notice::Open(period(50, 1_000)));
    assert_eq!(instance.read(older), [Action::Ask(ended)]);
    // This does not apply to an instance that is open itself: for that one any period will do.
    let mut instance = Instance::in_period(1, period(50, 1_000));
    instance.hear(Notice::Open(period(51, 1_000)));
    instance.run_to(1);
    let actions = instance.read(older);
    assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
}

#[test]
fn an_engine_that_has_fallen_back_knows_nothing_of_the_period() {
    let older = Notice::Closed(id(4));
    // It is read, or returned for a bid.
    for asks in [false, true] {
        let mut instance = Instance::in_period(1, period(50, 1_000));
        instance.run_to(1_000);
        if asks {
            let bid = instance.demand();
            instance.answer(bid, false, older);
        } else {
            instance.read(Some(older));
        }
        assert_eq!(instance.run_to(60_000), []);
        assert_eq!(instance.member.period(), None);
    }
    // Earlier messages are not a response.
    let mut instance = Instance::in_period(1, period(50, 1_000));
    assert_eq!(instance.hear(older), []);
    assert_eq!(instance.member.period(), Some(id(50)));
}

#[test]
fn an_instance_that_failed_does_not_wait_for_a_period_that_the_engine_has_lost() {
    let mut instance = Instance::probing(period(5, 0));
    instance.local(Local::ProbeFailed { open_ms: 2_000 });
    instance.hear(Notice::Open(period(6, 10_000)));
    instance.run_to(1);
    // The engine falls back to the previous period, in which any instance may probe.
    instance.read(Some(Notice::Open(period(5, 0))));
    instance.run_to(1_998);
    assert!(!instance.member.wants_rejections(instance.now));
    instance.run_to(1);
    assert!(instance.member.wants_rejections(instance.now));
}

#[test]
fn a_late_message_is_not_mistaken_for_an_engine_that_has_fallen_back() {
    let mut instance = Instance::in_period(1, period(50, 1_000));
    assert_eq!(instance.hear(Notice::Open(period(49, 1_000))), []);
}

#[test]
fn of_two_periods_the_later_epoch_applies() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    let actions = instance.hear(Notice::Open(period(8, 3_000)));
    assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
    assert_eq!(instance.hear(Notice::Open(period(6, 30_000))), []);
    assert_eq!(instance.hear(Notice::Closed(id(6))), []);
    assert_eq!(instance.member.period(), Some(id(8)));
}

#[test]
fn any_input_at_any_time_neither_wedges_nor_panics() {
    for seed in 1..3_000_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut instance = Instance::new(seed);
        let mut asked = Vec::new();
        for _ in 0..60 {
            let epoch = dice(&mut state) % 5;
            let remaining = (dice(&mut state) % 3_000) as u32;
            instance.now.is_connected = !dice(&mut state).is_multiple_of(4);
            instance.now.is_probing = dice(&mut state).is_multiple_of(2);
            let actions = match dice(&mut state) % 12 {
                0 => instance.local(Local::Tripped {
                    open_ms: remaining,
                    is_demanded: epoch == 0,
                }),
                1 => instance.local(Local::ProbeFailed { open_ms: remaining }),
                2 => instance.local(Local::Recovered),
                3 => instance.local(Local::ProbeLost),
                4 => instance.local(Local::Overruled),
                5 | 6 => instance.local(Local::Rejected),
                7 => instance.hear(Notice::Open(period(epoch, remaining))),
                8 => instance.hear(leased(period(epoch, 0), remaining)),
                9 => instance.hear(Notice::Closed(id(epoch))),
                10 => instance.read(None),
                _ => match asked.pop() {
                    Some(ask) if epoch == 0 => instance.no_answer(ask),
                    Some(ask) => instance.answer(
                        ask,
                        epoch.is_multiple_of(2),
                        Notice::Open(period(epoch, remaining)),
                    ),
                    None => Vec::new(),
                },
            };
            let mut all = actions;
            all.extend(instance.run_to(dice(&mut state) % 2_000));
            asked.extend(all.iter().filter_map(|action| match action {
                Action::Ask(ask) => Some(*ask),
                _ => None,
            }));
            for action in all {
                if let Action::Trip { for_ms } | Action::Extend { for_ms } = action {
                    assert!(for_ms <= 20_000, "seed {seed}: {for_ms} ms");
                }
            }
        }
        // The engine is gone: nothing is requested or delayed any more.
        instance.now.is_connected = false;
        instance.now.is_probing = false;
        assert_eq!(instance.run_to(600_000), [], "seed {seed}");
        assert_eq!(instance.member.period(), None, "seed {seed}");
    }
}

#[test]
fn the_end_of_a_period_is_remembered_by_instances_that_were_not_in_it() {
    let mut instance = Instance::new(1);
    let end = PeriodId {
        epoch: 51,
        mark: id(50).mark,
    };
    assert_eq!(instance.hear(Notice::Closed(end)), []);
    instance.run_to(1);
    let actions = instance.read(Some(Notice::Open(period(50, 1_000))));
    assert!(
        matches!(actions[..], [Action::Ask(Ask::Finding { .. })]),
        "{actions:?}"
    );
}
