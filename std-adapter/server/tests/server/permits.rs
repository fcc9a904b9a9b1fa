// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits of every kind say and do what the one inside them does; what a rejection, a draw and a share in percent say.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Breaker, Config, ConnectionId, Enforcement, EnforcementDraw, Failure, Guard,
    InFlightLimit, KeyGuard, ManualClock, OneBreaker, Outcome, Registry, Rejected, Rejection,
    Resource, Scope, State, Transition,
};

const SECOND: Duration = Duration::from_secs(1);
const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(10));

/// The end of a permit: the outcome, the connection that shares it, and the words.
type Ends = RefCell<Vec<(Outcome, Option<ConnectionId>, Option<String>)>>;

/// A permit of the user's own, which implements only what is required.
struct Plain<'a>(u8, &'a Ends);

impl AnyPermit for Plain<'_> {
    type Key = ();

    fn key(&self) -> &() {
        &()
    }

    fn end(
        self,
        outcome: Outcome,
        shared: Option<ConnectionId>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let why = why.map(|why| why());
        self.1.borrow_mut().push((outcome, shared, why));
        None
    }

    fn trips(&self) -> u8 {
        self.0
    }
}

/// One that implements all, with answers that do not follow from each other.
#[derive(Debug)]
struct Full {
    trips: u8,
    /// Is a probe, is admitted, renews, counts, is enforced.
    says: [bool; 5],
}

impl AnyPermit for Full {
    type Key = ();

    fn key(&self) -> &() {
        &()
    }

    fn end(
        self,
        _: Outcome,
        _: Option<ConnectionId>,
        _: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        None
    }

    fn trips(&self) -> u8 {
        self.trips
    }

    fn is_probe(&self) -> bool {
        self.says[0]
    }

    fn is_admitted(&self) -> bool {
        self.says[1]
    }

    fn is_enforced(&self) -> bool {
        self.says[4]
    }

    fn renew(&mut self) -> bool {
        self.says[2]
    }

    fn still_counts(&self) -> bool {
        self.says[3]
    }
}

fn failure() -> Outcome {
    Failure::new().into()
}

#[test]
fn a_permit_with_the_required_methods_only_is_admitted_is_not_renewed_and_probes_after_a_trip() {
    let ends = Ends::default();
    for trips in [0, 1, 7] {
        let mut permit = Plain(trips, &ends);
        assert_eq!(permit.is_probe(), trips > 0);
        assert!(
            permit.is_admitted()
                && permit.is_enforced()
                && permit.still_counts()
                && !permit.renew()
        );
        permit.report(failure());
        Plain(trips, &ends).report_because(Outcome::Success, || "why".to_owned());
        let connection = ConnectionId::named(trips);
        Plain(trips, &ends).report_shared(failure(), connection, || "lost".to_owned());
        let expected = [
            (failure(), None, None),
            (Outcome::Success, None, Some("why".to_owned())),
            (failure(), Some(connection), Some("lost".to_owned())),
        ];
        assert_eq!(ends.take(), expected);
    }
}

#[test]
fn a_counted_permit_answers_as_the_one_inside_it() {
    let limit = InFlightLimit::new((), 100);
    for bits in 0..32 {
        let says = [1, 2, 4, 8, 16].map(|bit| bits & bit != 0);
        let trips = 3 + bits;
        let inside = Full { trips, says };
        let shown = format!("InFlightPermit {{ permit: {inside:?}, .. }}");
        let mut permit = InFlightLimit::limit(&limit, inside, |_, _, _| unreachable!()).unwrap();
        assert_eq!(format!("{permit:?}"), shown);
        assert_eq!(
            (permit.trips(), permit.is_probe(), permit.is_admitted()),
            (trips, says[0], says[1])
        );
        assert_eq!((permit.renew(), permit.still_counts()), (says[2], says[3]));
        assert_eq!(permit.is_enforced(), says[4]);
    }
}

#[test]
fn a_bare_permit_is_any_permit_and_of_shared_failures_the_first_counts_and_each_probe() {
    let clock = ManualClock::new();
    let server = Breaker::new(RULES.consecutive_failures(3), &clock);
    let [one, other, shared] = [(); 3].map(|()| server.acquire().unwrap());
    assert!(!AnyPermit::is_probe(&one) && AnyPermit::is_admitted(&one));
    assert_eq!(AnyPermit::trips(&one), 0);
    AnyPermit::report(one, failure());
    AnyPermit::report(other, failure());
    assert_eq!(server.snapshot().failures(), 2, "each for itself");
    AnyPermit::report_shared(shared, failure(), ConnectionId::UNKNOWN, String::new);
    assert_eq!(server.snapshot().failures(), 2, "others failed since");
    let first = server.acquire().unwrap();
    let made = AnyPermit::report_shared(first, failure(), ConnectionId::UNKNOWN, String::new);
    assert_eq!(made.map(|made| made.to), Some(State::Open));

    server.reset();
    let mut current = server.acquire().unwrap();
    assert!(AnyPermit::renew(&mut current) && AnyPermit::still_counts(&current));
    server.trip();
    server.reset();
    assert!(!AnyPermit::renew(&mut current) && !AnyPermit::still_counts(&current));
    drop(current);

    for _ in 0..2 {
        server.trip();
        server.probe_now();
    }
    let probe = server.acquire().unwrap();
    assert!(AnyPermit::is_probe(&probe));
    assert_eq!(AnyPermit::trips(&probe), 2);
    let made = AnyPermit::report_shared(probe, failure(), ConnectionId::UNKNOWN, String::new);
    assert_eq!(made.map(|made| made.to), Some(State::Open));
}

#[test]
fn whom_an_end_concerns_says_how_it_counts() {
    use Scope::{Call, Caller, Limit, Quota, Unprocessed};
    let lost = ConnectionId::unique();
    let heavy = |weight| Outcome::from(Failure::with_weight(weight));
    let (ignored, success) = (Outcome::Ignored, Outcome::Success);
    for (scope, trips, outcome, end, shared) in [
        (Call, 0, heavy(2), Some(heavy(2)), None),
        (Limit, 0, heavy(2), Some(heavy(2)), None),
        (
            Scope::Connection(lost),
            0,
            heavy(2),
            Some(heavy(2)),
            Some(lost),
        ),
        (Scope::Connection(lost), 1, success, Some(success), None),
        (Unprocessed(lost), 0, heavy(2), Some(heavy(2)), Some(lost)),
        // By itself it says nothing.
        (Unprocessed(lost), 0, heavy(0), Some(heavy(1)), Some(lost)),
        (Caller, 0, heavy(2), None, None),
        (Caller, 0, ignored, Some(ignored), None),
        (Quota, 0, ignored, Some(ignored), None),
        (Quota, 1, ignored, Some(success), None),
        (Quota, 1, heavy(2), Some(heavy(2)), None),
    ] {
        let ends = Ends::default();
        Plain(trips, &ends).report_scoped(outcome, scope, || "lost".to_owned());
        let ended = ends.take().pop().map(|(end, shared, _)| (end, shared));
        assert_eq!(ended, end.map(|end| (end, shared)), "{scope:?}");
    }
}

/// The connection that they shared is lost: the report of a call from before the trip changes nothing, and must not stand for
/// that of the probe.
#[test]
fn the_shared_failure_of_a_probe_counts_even_if_a_call_from_before_has_reported_it() {
    let clock = ManualClock::new();
    let server = Resource::new(Breaker::new(RULES.consecutive_failures(1), &clock));
    let before = server.acquire().unwrap();
    server.acquire().unwrap().report(failure());
    clock.advance(10 * SECOND);
    let probe = server.acquire().unwrap();
    assert!(probe.is_probe());
    before.report_shared(failure(), ConnectionId::UNKNOWN, String::new);
    probe.report_shared(failure(), ConnectionId::UNKNOWN, String::new);
    assert_eq!(server.breaker().state(), State::Open);

    let keys = Registry::builder(RULES.consecutive_failures(1))
        .clock(&clock)
        .build()
        .unwrap();
    let before = keys.of(7).acquire().unwrap();
    keys.of(7).acquire().unwrap().report(failure());
    clock.advance(10 * SECOND);
    let probe = keys.of(7).acquire().unwrap();
    assert!(probe.is_probe());
    before.report_shared(failure(), ConnectionId::UNKNOWN, String::new);
    probe.report_shared(failure(), ConnectionId::UNKNOWN, String::new);
    assert_eq!(keys.state(&7), State::Open);
}

#[test]
fn a_permit_of_a_guard_is_renewed_while_its_report_would_count() {
    let clock = ManualClock::new();
    let server = Resource::new(Breaker::new(RULES, &clock));
    let mut permit = server.acquire().unwrap();
    assert!(permit.renew());
    let shown = "GuardPermit { is_probe: false, is_admitted: true, .. }";
    assert_eq!(format!("{permit:?}"), shown);
    server.breaker().trip();
    assert!(!permit.renew(), "of an earlier epoch");
    server.enforcement().set_percent(0).unwrap();
    let mut passes = server.acquire().unwrap();
    assert!(!passes.renew(), "not admitted");
    assert!(!passes.is_enforced() && !permit.is_enforced());
    let shown = "GuardPermit { is_probe: false, is_admitted: false, .. }";
    assert_eq!(format!("{passes:?}"), shown);

    let keys = Registry::new(RULES).unwrap();
    let mut of_key = keys.of("a.example").acquire().unwrap();
    assert!(of_key.renew());
    assert!(of_key.is_enforced());
    keys.enforcement().set_percent(0).unwrap();
    assert!(!of_key.is_enforced());
}

#[test]
fn a_permit_that_is_cancelled_counts_nothing_even_if_a_drop_would() {
    let clock = ManualClock::new();
    let server = Resource::new(Breaker::new(RULES, &clock));
    let permit = || server.acquire().unwrap().failing_when_dropped();
    permit().cancel();
    assert_eq!(server.breaker().snapshot().failures(), 0);
    drop(permit());
    assert_eq!(server.breaker().snapshot().failures(), 1);
}

#[test]
fn a_rejection_is_found_in_an_error_unless_it_is_a_mistake_by_the_caller() {
    let rejected = Rejected::new(State::Open, SECOND);
    let rejection = Rejection::from(rejected);
    assert_eq!(Rejection::in_chain(&rejection), Some(rejection.clone()));
    assert_eq!(Rejection::in_chain(&rejected), Some(rejection.clone()));
    let wrapped = io::Error::other(io::Error::other(rejection.clone()));
    assert_eq!(Rejection::in_chain(&wrapped), Some(rejection));
    let without_key = Rejection::without_key("set a host");
    assert_eq!(Rejection::in_chain(&without_key), None);
    assert_eq!(Rejection::in_chain(&io::Error::other("rejected")), None);
}

#[test]
fn all_tries_of_a_request_have_one_draw_and_others_have_their_own() {
    let clock = ManualClock::new();
    let server = Resource::new(Breaker::new(RULES, &clock));
    server.breaker().force_open();
    server.enforcement().set_percent(50).unwrap();
    let is_let_in = || server.acquire().is_ok();
    let requests = (0..100).filter(|_| {
        let mut draw = EnforcementDraw::default();
        let first = draw.hold(is_let_in);
        assert!((0..20).all(|_| draw.hold(is_let_in) == first));
        first
    });
    let passed = requests.count();
    assert!((20..80).contains(&passed), "{passed}");
    let passed = (0..100).filter(|_| is_let_in()).count();
    assert!((20..80).contains(&passed), "{passed} without a draw");
}

#[test]
fn the_share_that_is_enforced_is_what_was_set() {
    let enforcement = Enforcement::new();
    assert_eq!(enforcement.percent(), 100);
    for percent in 0..=100 {
        enforcement.set_percent(percent).unwrap();
        assert_eq!(enforcement.percent(), percent);
    }
    let error = enforcement.set_percent(101).unwrap_err();
    let says = "101 percent is more than all: set 0 to 100";
    assert_eq!(error.to_string(), says);
    assert_eq!(enforcement.percent(), 100, "unchanged");
}

#[test]
fn a_gate_learns_the_lease_of_its_rules() {
    let rules = RULES.probe_lease(7 * SECOND);
    let clock = ManualClock::new();
    let bare = Breaker::new(rules, &clock);
    assert_eq!(OneBreaker::lease(&&bare), 7 * SECOND);
    let guarded = Resource::new(bare);
    assert_eq!(OneBreaker::lease(&&guarded), 7 * SECOND);
    let hosts = Registry::new(RULES).unwrap();
    hosts.set_config_of(&"a.example", rules).unwrap();
    let lease_of = |name| OneBreaker::lease(&KeyGuard::new(&hosts, name));
    assert_eq!(lease_of("a.example"), 7 * SECOND);
    assert_eq!(lease_of("b.example"), 30 * SECOND);
}
