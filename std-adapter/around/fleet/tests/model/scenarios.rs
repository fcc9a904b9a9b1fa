// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events, their numbers, and the faults that the search must find.

use super::events::Event::{self, *};
use super::explore::Scenario;
use super::mutation::Mutation::{self, *};
use super::world::World;

/// If this is set, pairs of faults are combined as well, which takes minutes.
const LARGER: &str = "ATOMIC_BREAKER_FLEET_MODEL";

/// In ticks after the last fault: the longest open time, its grace, and the readings, bids and probes that follow.
const BOUND: u32 = 24;
/// One more open time, and its pause, where one of the failed probes was that of a sick instance.
const BOUND_SICK: u32 = BOUND + 24;

/// The bound for rare calls, with a sick instance.
const BOUND_SELDOM: u32 = BOUND + 20;
/// A grace of silence, and half a grace of an unused right, for each instance that has it before.
const SILENCE: u32 = 6;

/// The lease of a probe that hangs, and half a grace.
const BOUND_HUNG: u32 = BOUND + 6;

/// Three instances, two of which open it for all.
fn scenario(name: &'static str, events: &[(Event, u8)]) -> Scenario {
    let is_sick = events.iter().any(|(event, _)| matches!(event, Sick(_)));
    let hung = events.iter().filter(|(event, _)| matches!(event, Hangs(_)));
    let hung = hung.count() as u32;
    Scenario {
        name,
        world: World::new(3, 2),
        events: events.to_vec(),
        depth: 50,
        bound: if is_sick { BOUND_SICK } else { BOUND } + hung * (BOUND_HUNG - BOUND),
    }
}

/// Instances that are called only every 2 s, which is twice the grace.
fn seldom(name: &'static str, who: &[usize], events: &[(Event, u8)]) -> Scenario {
    let mut scenario = scenario(name, events);
    scenario.world.seldom = who.to_vec();
    // An instance that is not called while it has the right to probe does so later.
    scenario.world.may_probe_twice = true;
    scenario.bound = BOUND_SELDOM;
    scenario
}

/// Instances whose callers look before they call, and so are never rejected; the others are not called if `is_alone`.
fn looking(name: &'static str, who: &[usize], is_alone: bool, events: &[(Event, u8)]) -> Scenario {
    let mut scenario = scenario(name, events);
    let others = (0..3).filter(|other| is_alone && !who.contains(other));
    scenario.world.looks = who.to_vec();
    scenario.world.idle = others.collect();
    // As where calls are rare.
    scenario.world.may_probe_twice = true;
    scenario.bound += SILENCE;
    scenario
}

fn scenarios() -> Vec<Scenario> {
    vec![
        scenario("an outage", &[(Down, 1), (Up, 1)]),
        scenario("flushed", &[(Down, 1), (Flushed, 2)]),
        scenario("gone", &[(Down, 1), (Gone, 1), (Back, 1)]),
        scenario("older", &[(Down, 1), (Up, 1), (Kept, 1), (Older, 1)]),
        scenario("lost", &[(Down, 1), (Up, 1), (Lost(0), 1), (Lost(1), 1)]),
        scenario(
            "unanswered",
            &[(Down, 1), (Unanswered(0), 1), (Unanswered(1), 1)],
        ),
        scenario("doubled and late", &[(Down, 1), (Up, 1), (Again, 2)]),
        scenario("forged", &[(Down, 1), (Forged, 1)]),
        scenario("killed", &[(Down, 1), (Killed(0), 1), (Started(0), 1)]),
        scenario("paused", &[(Down, 1), (Paused(0), 1), (Resumed(0), 1)]),
        scenario("sick", &[(Down, 1), (Sick(0), 1)]),
        scenario("crashes", &[(Sick(0), 1), (Killed(0), 3), (Started(0), 3)]),
        scenario("hung", &[(Down, 1), (Hangs(0), 1), (Ends(0), 1)]),
        scenario("two hung", &[(Down, 1), (Hangs(0), 1), (Hangs(1), 1)]),
        scenario(
            "hung and gone",
            &[(Down, 1), (Hangs(0), 1), (Gone, 1), (Back, 1)],
        ),
        scenario(
            "hung and paused",
            &[(Down, 1), (Hangs(0), 1), (Paused(0), 1), (Resumed(0), 1)],
        ),
        scenario(
            "hung and unanswered",
            &[(Down, 1), (Hangs(0), 1), (Unanswered(0), 2)],
        ),
        scenario("two sick", &[(Sick(0), 1), (Sick(1), 1), (Well(0), 1)]),
        seldom("seldom", &[1, 2], &[(Down, 1), (Sick(0), 1)]),
        seldom("seldom and gone", &[0, 1, 2], &[(Down, 1), (Gone, 1)]),
        looking("looking", &[0, 1, 2], false, &[(Down, 1), (Up, 1)]),
        looking(
            "looking, sick",
            &[0, 1, 2],
            false,
            &[(Sick(0), 1), (Sick(1), 1), (Well(0), 1)],
        ),
        looking(
            "looking, gone",
            &[0, 1, 2],
            false,
            &[(Down, 1), (Gone, 1), (Back, 1)],
        ),
        looking(
            "looking, paused",
            &[0, 1, 2],
            false,
            &[(Down, 1), (Paused(1), 1), (Resumed(1), 1)],
        ),
        looking(
            "looking, hung",
            &[0, 1, 2],
            false,
            &[(Down, 1), (Hangs(0), 1), (Ends(0), 1)],
        ),
        looking(
            "looking, unanswered",
            &[0, 1, 2],
            false,
            &[(Down, 1), (Unanswered(0), 2), (Unanswered(1), 1)],
        ),
        looking(
            "one of three looks",
            &[0],
            false,
            &[(Down, 1), (Up, 1), (Sick(1), 1)],
        ),
        looking(
            "two look, one is idle",
            &[0, 1],
            true,
            &[(Down, 1), (Up, 1), (Killed(1), 1)],
        ),
        looking(
            "two look and are sick",
            &[0, 1],
            true,
            &[(Sick(0), 1), (Sick(1), 1), (Well(0), 1), (Well(1), 1)],
        ),
        scenario(
            "a clock set back",
            &[(Down, 1), (ClockSetBack, 1), (Flushed, 1)],
        ),
    ]
}

/// The first outage has ended and is remembered; in the second one the engine falls back to that, or to before it
/// ended.
fn fallen_back() -> Scenario {
    let mut scenario = scenario(
        "fallen back twice",
        &[(Down, 1), (Up, 1), (Kept, 1), (Older, 2)],
    );
    scenario.world.is_up = false;
    for _ in 0..4 {
        scenario.world.step();
    }
    scenario.world.is_up = true;
    for _ in 0..BOUND {
        scenario.world.step();
    }
    assert!(scenario.world.all_are_served());
    scenario.depth = 32;
    scenario
}

fn holds(scenario: &Scenario) {
    match scenario.explore() {
        Ok(found) => println!(
            "{}: {} states, served within {} ticks",
            scenario.name, found.states, found.longest
        ),
        Err(wrong) => panic!("{wrong}"),
    }
}

#[test]
fn whatever_fails_healthy_instances_are_served_again_and_never_tripped_wrongly() {
    for scenario in scenarios() {
        holds(&scenario);
    }
}

#[test]
fn an_engine_that_falls_back_keeps_no_caller_out() {
    holds(&fallen_back());
}

#[test]
fn any_two_faults_together_are_survived() {
    if std::env::var_os(LARGER).is_none() {
        return;
    }
    let faults: [&[(Event, u8)]; 10] = [
        &[(Flushed, 1)],
        &[(Gone, 1), (Back, 1)],
        &[(Kept, 1), (Older, 2)],
        &[(Lost(0), 1), (Lost(2), 1)],
        &[(Unanswered(0), 1), (Unanswered(2), 1)],
        &[(Again, 1)],
        &[(Forged, 1)],
        &[(Killed(0), 1), (Started(0), 1)],
        &[(Sick(0), 1)],
        &[(Hangs(0), 1), (Ends(0), 1)],
    ];
    for (at, first) in faults.iter().enumerate() {
        for second in &faults[at..] {
            let mut events = vec![(Down, 1)];
            events.extend(first.iter().chain(*second));
            // A period that may return must have ended.
            if events.iter().any(|(event, _)| *event == Older) {
                events.push((Up, 1));
            }
            let mut scenario = scenario("two faults", &events);
            scenario.bound = BOUND_SICK;
            scenario.depth = 36;
            println!("{first:?} {second:?}");
            holds(&scenario);
        }
    }
}

/// Faults of the protocol, the scenario that finds each, and part of its message.
const MUTATIONS: [(Mutation, &str, &str); 14] = [
    (AnswersAreMessages, "fallen back twice", "healthy instances"),
    (EndsAreForgotten, "older", "a period that had ended"),
    (SilenceIsNotNoticed, "seldom and gone", "healthy instances"),
    (NewIdAtEachStart, "crashes", "fewer than a quorum"),
    (VotesDoNotAge, "sick", "fewer than a quorum"),
    (OneVoteLess, "an outage", "fewer than a quorum"),
    (AllMayProbe, "two sick", "two instances have probed"),
    (RightsDoNotLapse, "killed", "healthy instances"),
    (OneWitnessIsTwo, "two sick", "healthy instances"),
    (SuccessIsNotTold, "seldom", "healthy instances"),
    (HungProbesKeepTheRight, "hung", "healthy instances"),
    (WhoFailedDoesNotRest, "seldom", "healthy instances"),
    (NobodyBidsUnasked, "looking", "healthy instances"),
    (
        OneTurnIsEnough,
        "two look, one is idle",
        "healthy instances",
    ),
];

#[test]
fn faults_of_the_protocol_are_found() {
    let mut all = scenarios();
    all.push(fallen_back());
    for (mutation, name, wrong) in MUTATIONS {
        let scenario = all.iter_mut().find(|scenario| scenario.name == name);
        let scenario = scenario.expect("a scenario of this name");
        scenario.world.mutation = Some(mutation);
        let found = scenario.explore();
        scenario.world.mutation = None;
        let found = found.expect_err(&format!("{mutation:?} is found"));
        assert!(found.contains(wrong), "{mutation:?}: {found}");
    }
}
