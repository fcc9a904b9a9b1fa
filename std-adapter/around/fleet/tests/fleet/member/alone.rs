// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine is gone, slow, or has forgotten: all instances go on alone.

use atomic_breaker_fleet::contract::{Action, Input, Local};
use atomic_breaker_fleet::{Ask, Finding, Notice};

use super::support::{GRACE_MS, Instance, OPEN_MS, for_ms, id, leased, period};

#[test]
fn without_an_answer_nothing_is_extended() {
    for silence_from in [0, 500, 999, 1_000, 1_200, 5_000] {
        let mut instance = Instance::in_period(3, period(5, 1_000));
        instance.run_to(silence_from);
        instance.now.is_connected = false;
        assert_eq!(
            instance.run_to(60_000),
            [],
            "silent after {silence_from} ms"
        );
        assert_eq!(instance.member.period(), None);
    }
}

#[test]
fn at_most_a_grace_is_left_whenever_the_engine_falls_silent() {
    for silence_from in 0..5_000 {
        let mut instance = Instance::new(3);
        let mut deadline = instance.now.now_ms;
        let mut actions = instance.hear(Notice::Open(period(5, 1_000)));
        for _ in 0..=silence_from {
            match actions[..] {
                [] => {}
                // It takes no turn: another instance was faster.
                [Action::Ask(bid)] => {
                    instance.answer(bid, false, Notice::Open(period(5, 0)));
                }
                _ => deadline = instance.now.now_ms + for_ms(&actions),
            }
            actions = instance.run_to(1);
        }
        let over = instance.now.now_ms.max(1_000_000 + 1_000);
        assert!(deadline <= over + GRACE_MS, "{silence_from}");
        assert!(deadline > instance.now.now_ms, "{silence_from}");
    }
}

#[test]
fn a_bid_without_an_answer_lets_the_own_open_time_end() {
    let mut instance = Instance::in_period(3, period(5, 1_000));
    instance.run_to(1_000);
    let bid = instance.demand();
    assert_eq!(instance.no_answer(bid), []);
    assert_eq!(instance.run_to(60_000), []);
}

#[test]
fn results_found_alone_are_reported_when_the_engine_is_back() {
    let mut instance = Instance::in_period(3, period(5, 1_000));
    instance.now.is_connected = false;
    instance.run_to(3_000);
    assert_eq!(instance.local(Local::Recovered), []);
    instance.now.is_connected = true;
    let healthy = Ask::Finding {
        id: id(5),
        finding: Finding::Healthy,
    };
    let actions = instance.read(Some(Notice::Open(period(5, 0))));
    assert_eq!(actions, [Action::Ask(healthy)]);
}

#[test]
fn a_probe_that_fails_alone_is_a_vote_when_the_engine_is_back() {
    let mut instance = Instance::in_period(3, period(5, 1_000));
    instance.now.is_connected = false;
    instance.run_to(3_000);
    assert_eq!(instance.local(Local::ProbeFailed { open_ms: OPEN_MS }), []);
    instance.now.is_connected = true;
    let actions = instance.read(None);
    let [Action::Ask(Ask::Vote { known: 5, .. })] = actions[..] else {
        panic!("{actions:?}");
    };
}

#[test]
fn an_engine_that_is_back_in_time_is_heard_again() {
    let mut instance = Instance::in_period(3, period(5, 1_000));
    instance.now.is_connected = false;
    instance.run_to(1_200);
    instance.now.is_connected = true;
    instance.read(Some(Notice::Open(period(5, 0))));
    instance.run_to(1);
    assert!(instance.member.wants_rejections(instance.now));
}

#[test]
fn a_flush_in_each_phase_neither_opens_nor_wedges() {
    let waiting = Instance::in_period(3, period(5, 1_000));
    let mut due = Instance::in_period(3, period(5, 1_000));
    due.run_to(1_100);
    let mut taken = Instance::in_period(3, period(5, 1_000));
    taken.run_to(1_000);
    taken.hear(leased(period(5, 0), 500));
    let mut bidding = Instance::in_period(3, period(5, 1_000));
    bidding.run_to(1_000);
    bidding.demand();
    let idle_prober = Instance::probing(period(5, 0));
    let mut prober = Instance::probing(period(5, 0));
    prober.now.is_probing = true;
    let closed = Instance::new(3);
    for mut instance in [waiting, due, taken, bidding, idle_prober, prober, closed] {
        instance.run_to(1);
        assert_eq!(instance.read(None), []);
        assert_eq!(instance.run_to(60_000), [], "{:?}", instance.member);
        assert_eq!(instance.member.period(), None);
        // The next trip is heard.
        let actions = instance.hear(Notice::Open(period(9, 1_000)));
        assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
    }
}

#[test]
fn messages_heard_after_a_request_are_newer_than_its_response() {
    let mut instance = Instance::new(3);
    let asked_ms = instance.now.now_ms;
    instance.run_to(5);
    instance.hear(Notice::Open(period(5, 1_000)));
    let late = Input::Read {
        asked_ms,
        notice: None,
    };
    assert_eq!(instance.step(late), []);
    assert_eq!(instance.member.period(), Some(id(5)));
}

#[test]
fn an_instance_that_stood_still_for_an_hour_follows_what_the_engine_says_now() {
    let hour = 60 * 60 * 1_000;
    let mut sleeper = Instance::probing(period(5, 0));
    sleeper.now.now_ms += hour;
    sleeper.now.is_connected = false;
    sleeper.run_to(0);
    // Its probe fails now; the fleet has moved on long since.
    sleeper.local(Local::ProbeFailed { open_ms: OPEN_MS });
    sleeper.now.is_connected = true;
    let actions = sleeper.read(Some(Notice::Closed(id(40))));
    assert!(
        !actions
            .iter()
            .any(|action| matches!(action, Action::Ask(Ask::Finding { .. })))
    );
    assert_eq!(sleeper.member.known_epoch(), 40);
}

/// Long enough that it need not be done again soon, and never all at once.
#[test]
fn each_extension_is_by_three_quarters_of_a_grace_to_a_grace() {
    let mut all = Vec::new();
    for seed in 0..100 {
        let mut instance = Instance::in_period(seed, period(5, 0));
        let mut deadline = None;
        for _ in 0..20 {
            instance.now.now_ms = instance.member.due_ms().expect("due");
            let actions = instance.step(Input::Time);
            if let [Action::Ask(bid)] = actions[..] {
                // Another instance was faster.
                instance.answer(bid, false, Notice::Open(period(5, 0)));
                continue;
            }
            let ms = for_ms(&actions);
            // When half a grace is left.
            let left = deadline.map(|deadline| deadline - instance.now.now_ms);
            assert!(left.is_none_or(|left| left == GRACE_MS / 2), "{left:?}");
            deadline = Some(instance.now.now_ms + ms);
            all.push(ms);
        }
    }
    let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
    assert!((750..760).contains(least), "{least}");
    assert!((990..=GRACE_MS).contains(most), "{most}");
}

/// It stood still until then: its breaker admits a probe by itself from that moment on.
#[test]
fn nothing_is_extended_from_the_moment_at_which_the_breaker_admits_a_probe() {
    for (early, is_extended) in [(1, true), (0, false)] {
        let mut instance = Instance::new(3);
        let ms = for_ms(&instance.hear(Notice::Open(period(5, 1_000))));
        instance.now.now_ms += ms - early;
        assert_eq!(instance.step(Input::Time).len(), usize::from(is_extended));
        assert_eq!(instance.member.period().is_some(), is_extended);
    }
}
