// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers and messages that cross, or come when the instance follows another period: which of them count.

use atomic_breaker_fleet::contract::{Action, Input, Local};
use atomic_breaker_fleet::{Answer, Ask, Finding, Notice, PeriodId};

use super::support::{Instance, OPEN_MS, id, leased, period};

/// It is unknown which of the two was first, and a message that is missed costs more than a reading.
#[test]
fn a_message_in_the_millisecond_of_a_question_is_newer_than_its_reply() {
    let mut instance = Instance::new(3);
    let asked_ms = instance.now.now_ms;
    instance.hear(Notice::Open(period(5, 1_000)));
    let notice = None;
    assert_eq!(instance.step(Input::Read { asked_ms, notice }), []);
    assert_eq!(instance.member.period(), Some(id(5)));
    instance.run_to(1);
    instance.read(None);
    assert_eq!(instance.member.period(), None);
}

/// Two engines have begun a period each, without knowing of the other.
#[test]
fn of_two_periods_with_one_epoch_the_first_applies_until_a_reading() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    let mut twin = period(5, 3_000);
    twin.id.mark += 1;
    assert_eq!(instance.hear(Notice::Open(twin)), []);
    assert_eq!(instance.hear(Notice::Closed(twin.id)), []);
    assert_eq!(instance.member.period(), Some(id(5)));
    instance.run_to(1);
    let actions = instance.read(Some(Notice::Open(twin)));
    assert!(matches!(actions[..], [Action::Trip { .. }]), "{actions:?}");
}

#[test]
fn the_answer_to_a_bid_for_an_earlier_period_gives_no_right_to_this_one() {
    let mut instance = Instance::in_period(1, period(5, 0));
    let (first, asked_ms) = (instance.demand(), instance.now.now_ms);
    instance.run_to(1);
    instance.hear(Notice::Open(period(6, 0)));
    instance.demand();
    let late = Input::Answer {
        ask: first,
        asked_ms,
        answer: Some(Answer {
            done: true,
            votes: 0,
            notice: Some(leased(period(5, 0), 500)),
        }),
    };
    assert_eq!(instance.step(late), []);
    assert_eq!(instance.member.period(), Some(id(6)));
}

#[test]
fn the_answer_to_an_earlier_finding_does_not_confirm_this_one() {
    let mut instance = Instance::probing(period(5, 0));
    let failed = instance.local(Local::ProbeFailed { open_ms: OPEN_MS });
    let [Action::Ask(failed)] = failed[..] else {
        panic!("{failed:?}");
    };
    instance.run_to(u64::from(OPEN_MS));
    instance.hear(Notice::Open(period(6, 0)));
    instance.run_to(500);
    let bid = instance.demand();
    let won = instance.answer(bid, true, leased(period(6, 0), 500));
    assert_eq!(won, [Action::Probe]);
    let healthy = Ask::Finding {
        id: id(6),
        finding: Finding::Healthy,
    };
    assert_eq!(instance.local(Local::Recovered), [Action::Ask(healthy)]);
    let still_open = Notice::Open(period(6, 0));
    instance.answer(failed, true, still_open);
    // The engine has not said that it heard this one.
    assert_eq!(instance.read(Some(still_open)), [Action::Ask(healthy)]);
}

#[test]
fn a_period_that_the_engine_has_lost_ends_here_at_its_own_time() {
    let mut instance = Instance::in_period(1, period(5, 1_000));
    instance.run_to(100);
    instance.read(None);
    assert!(!instance.member.is_idle(instance.now.now_ms));
    // It goes on alone, and what it finds counts if the engine is back at that period.
    let actions = instance.local(Local::Recovered);
    let reported = Action::Ask(Ask::Finding {
        id: id(5),
        finding: Finding::Healthy,
    });
    assert_eq!(actions, [reported]);
    let mut instance = Instance::in_period(1, period(5, 1_000));
    instance.run_to(100);
    instance.read(None);
    instance.run_to(2_000);
    instance.read(None);
    assert!(instance.member.is_idle(instance.now.now_ms));
}

/// Messages overtake one another: it hears of the end of 5 only when 7 has begun and ended.
#[test]
fn an_end_that_is_heard_late_is_remembered_like_any_other() {
    let mut instance = Instance::new(1);
    let end = |of, epoch| {
        let mark = id(of).mark;
        Notice::Closed(PeriodId { epoch, mark })
    };
    instance.hear(end(7, 8));
    assert_eq!(instance.hear(end(5, 6)), []);
    instance.run_to(1);
    let healthy = Ask::Finding {
        id: id(5),
        finding: Finding::Healthy,
    };
    let actions = instance.read(Some(Notice::Open(period(5, 1_000))));
    assert_eq!(actions, [Action::Ask(healthy)]);
}
