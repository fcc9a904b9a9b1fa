// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections that are lost, or refuse calls, with many calls under way.

mod staggered;

use std::sync::{Mutex, MutexGuard, PoisonError};

use atomic_breaker_server::{
    AnyPermit, Breaker, Config, ConnectionId, Failure, Guard, ManualClock, Outcome, Registry,
    Resource, State,
};

/// So many in a row that they can be counted.
const RULES: Config = Config::new().consecutive_failures(200);

/// One test at a time: connections that are lost are counted for the whole process, and a crowd of them pushes others out.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of the calls that are under way together: `None` if it is answered.
type Calls = [Option<ConnectionId>];

/// All kinds of breakers, for the same calls.
struct Stack {
    name: &'static str,
    /// Calls that are under way together, which end in this order.
    run: Box<dyn Fn(&Calls)>,
    failures: Box<dyn Fn() -> u16>,
    state: Box<dyn Fn() -> State>,
}

fn end<P: AnyPermit>(acquire: impl Fn() -> Option<P>, calls: &Calls) {
    let permits: Vec<_> = calls.iter().map(|_| acquire()).collect();
    for (permit, lost) in permits.into_iter().zip(calls) {
        let Some(permit) = permit else { continue };
        match *lost {
            None => permit.report(Outcome::Success),
            Some(connection) => {
                permit.report_shared(Failure::new().into(), connection, || "lost".to_owned())
            }
        };
    }
}

/// Never freed: a breaker in the place of another one would be taken for it.
fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn stacks(rules: Config) -> [Stack; 3] {
    let clock = leak(ManualClock::new());
    let alone = leak(Breaker::new(rules, clock));
    let resource = leak(Resource::new(Breaker::new(rules, clock)));
    let keys = leak(Registry::builder(rules).clock(clock).build().unwrap());
    let failures = move || keys.entry(&7).map_or(0, |entry| entry.snapshot.failures());
    [
        Stack {
            name: "alone",
            run: Box::new(move |calls| end(|| alone.acquire().ok(), calls)),
            failures: Box::new(move || alone.snapshot().failures()),
            state: Box::new(move || alone.state()),
        },
        Stack {
            name: "resource",
            run: Box::new(move |calls| end(|| resource.acquire().ok(), calls)),
            failures: Box::new(move || resource.breaker().snapshot().failures()),
            state: Box::new(move || resource.breaker().state()),
        },
        Stack {
            name: "key",
            run: Box::new(move |calls| end(|| keys.of(7).acquire().ok(), calls)),
            failures: Box::new(failures),
            state: Box::new(move || keys.state(&7)),
        },
    ]
}

/// Forty calls that are under way together, of which the last so many end with their connection: `of` says with which one.
fn forty(lost: usize, of: impl Fn(usize) -> ConnectionId) -> Vec<Option<ConnectionId>> {
    let calls = (0..40).map(|call| (call >= 40 - lost).then(|| of(call)));
    calls.collect()
}

#[test]
fn each_connection_that_is_lost_counts_once_however_many_calls_it_had() {
    let _alone = alone();
    for stack in stacks(RULES) {
        let connections = [(); 5].map(|()| ConnectionId::unique());
        (stack.run)(&forty(40, |call| connections[call % 5]));
        assert_eq!((stack.failures)(), 5, "{}", stack.name);
        (stack.run)(&forty(40, |_| connections[0]));
        assert_eq!((stack.failures)(), 6, "{}: one with its name", stack.name);
        let own = |_| ConnectionId::unique();
        (stack.run)(&forty(40, own));
        assert_eq!((stack.failures)(), 46, "{}", stack.name);
    }
}

#[test]
fn calls_that_are_lost_together_on_an_unknown_connection_count_once() {
    let _alone = alone();
    for stack in stacks(RULES) {
        for round in 1..=9 {
            (stack.run)(&forty(40, |_| ConnectionId::UNKNOWN));
            assert_eq!((stack.failures)(), round, "{}", stack.name);
        }
    }
}

#[test]
fn a_connection_of_two_breakers_that_is_lost_counts_once_in_each() {
    let _alone = alone();
    let connection = ConnectionId::unique();
    for stack in stacks(RULES).iter().chain(&stacks(RULES)) {
        (stack.run)(&forty(40, |_| connection));
        assert_eq!((stack.failures)(), 1, "{}", stack.name);
    }
}

/// The connections that a host loses one after another, or the one that refuses most calls.
fn connections() -> [fn(&ConnectionId) -> ConnectionId; 3] {
    [
        |_| ConnectionId::UNKNOWN,
        |&same| same,
        |_| ConnectionId::unique(),
    ]
}

#[test]
fn a_resource_that_loses_most_calls_trips_although_it_answers_some_between() {
    let _alone = alone();
    let rules = Config::new().consecutive_failures(5);
    for lost in [38, 36, 30] {
        for next in connections() {
            for stack in stacks(rules) {
                let mut connection = ConnectionId::unique();
                let mut rounds = 0;
                while (stack.state)() == State::Closed && rounds < 100 {
                    connection = next(&connection);
                    (stack.run)(&forty(lost, |_| connection));
                    rounds += 1;
                }
                assert_eq!((stack.state)(), State::Open, "{}, {lost}", stack.name);
            }
        }
    }
}

#[test]
fn a_resource_that_answers_most_calls_never_trips_by_those_that_it_loses() {
    let _alone = alone();
    let rules = Config::new().consecutive_failures(3);
    for lost in [19, 10, 2] {
        for next in connections() {
            for stack in stacks(rules) {
                let mut connection = ConnectionId::unique();
                for _ in 0..100 {
                    connection = next(&connection);
                    (stack.run)(&forty(lost, |_| connection));
                }
                assert_eq!((stack.state)(), State::Closed, "{}, {lost}", stack.name);
            }
        }
    }
}

/// As in a deployment, whose instances take leave one after the other.
#[test]
fn two_connections_that_are_lost_one_after_the_other_are_two_failures() {
    let _alone = alone();
    for next in connections() {
        for stack in stacks(RULES) {
            let same = ConnectionId::unique();
            (stack.run)(&[None; 40]);
            let first = next(&same);
            (stack.run)(&vec![Some(first); 100]);
            (stack.run)(&[None; 3]);
            let second = next(&same);
            (stack.run)(&vec![Some(second); 100]);
            assert_eq!((stack.failures)(), 1, "{}", stack.name);
            // It has recovered, and what was lost before is history.
            (stack.run)(&[None; 100]);
            let third = next(&same);
            (stack.run)(&vec![Some(third); 100]);
            assert_eq!((stack.failures)(), 1, "{}", stack.name);
        }
    }
}

/// A call from before the trip reports first that its connection is lost, and changes nothing.
#[test]
fn a_call_that_no_longer_counts_does_not_take_the_failure_of_its_connection() {
    fn lose(permit: impl AnyPermit, connection: ConnectionId) {
        permit.report_shared(Failure::new().into(), connection, || "lost".to_owned());
    }
    let _alone = alone();
    let clock = ManualClock::new();
    let alone = Breaker::new(RULES, &clock);
    let resource = Resource::new(Breaker::new(RULES, &clock));
    let keys = Registry::builder(RULES).clock(&clock).build().unwrap();
    for connection in [ConnectionId::UNKNOWN, ConnectionId::unique()] {
        let old = (
            alone.acquire().unwrap(),
            resource.acquire().unwrap(),
            keys.of(7).acquire().unwrap(),
        );
        alone.trip();
        alone.reset();
        resource.breaker().trip();
        resource.breaker().reset();
        for _ in 0..2 {
            keys.command(&7, |key| key.trip()).unwrap();
            keys.command(&7, |key| key.reset()).unwrap();
        }
        let new = (
            alone.acquire().unwrap(),
            resource.acquire().unwrap(),
            keys.of(7).acquire().unwrap(),
        );
        // A breaker that stands alone only knows that something has happened since a call began.
        let failures = u16::from(connection != ConnectionId::UNKNOWN);
        if failures > 0 {
            alone.acquire().unwrap().failure();
        }
        lose(old.0, connection);
        lose(old.1, connection);
        lose(old.2, connection);
        lose(new.0, connection);
        lose(new.1, connection);
        lose(new.2, connection);
        let failures = failures + 1;
        assert_eq!(alone.snapshot().failures(), failures, "{connection:?}");
        assert_eq!(
            resource.breaker().snapshot().failures(),
            1,
            "{connection:?}"
        );
        let key = keys.entry(&7).unwrap();
        assert_eq!(key.snapshot.failures(), 1, "{connection:?}");
    }
}
