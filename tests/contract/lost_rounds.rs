//! Rounds of probes that do not report within their lease, and the lease that grows with each of them.

use std::collections::VecDeque;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Cause, Config, ManualClock, Permit, State, Wait};

use super::support::{AnyWord, Diary, Tested, breaker, ms, observed, on_both_words, rules};

const TENTH: Duration = Duration::from_millis(100);

/// The default of [`Config::probe_lease`].
const DEFAULT_LEASE: Duration = Duration::from_secs(30);

fn half_open<W: AnyWord>(config: Config, clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(config.open_for(ms(0)), clock);
    breaker.trip();
    breaker
}

/// Makes ten calls a second from the trip on, each of which succeeds after `took`. Returns how many rounds
/// were lost before the breaker closed, and when it closed; `None` if it did not within a day.
fn lost_until_closed<W: Word>(
    word: W,
    config: Config,
    took: Duration,
) -> Option<(usize, Duration)> {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let breaker = Breaker::builder(config, &clock)
        .word(word)
        .observer(&diary)
        .build();
    let mut under_way = VecDeque::new();
    breaker.trip();
    for tenth in 0..24 * 36_000_u32 {
        let now = TENTH * tenth;
        while under_way.front().is_some_and(|(ends, _)| *ends <= now) {
            under_way
                .pop_front()
                .map(|(_, permit): (_, Permit<_>)| permit.success());
        }
        if breaker.state() == State::Closed {
            let reported = diary.causes();
            let lost = reported.iter().filter(|cause| **cause == Cause::ProbeLost);
            return Some((lost.count(), now));
        }
        if let Ok(permit) = breaker.acquire() {
            under_way.push_back((now + took, permit));
        }
        clock.advance(TENTH);
    }
    None
}

/// A call that succeeds shows that its resource works, however many leases ago the call began. A call of 31 s
/// used to close after 71 s, one of 300 s after 760 s, and one of 480 s never.
#[test]
fn healthy_calls_that_take_longer_than_the_lease_close_when_the_first_one_succeeds() {
    let open = Duration::from_secs(10);
    for seconds in [31, 45, 61, 100, 119, 121, 300, 470, 600, 900] {
        let took = Duration::from_secs(seconds);
        for config in [Config::new(), Config::new().probes(4).close_after(4)] {
            let config = config.open_for(open);
            let wide = lost_until_closed(AtomicU64::new(0), config, took);
            let narrow = lost_until_closed(AtomicU32::new(0), config, took);
            for closed in [wide, narrow] {
                let (lost, at) = closed.unwrap_or_else(|| panic!("never: {seconds} s"));
                assert!((1..=4).contains(&lost), "{seconds} s: {lost}");
                let late = at.checked_sub(open + took).unwrap();
                assert!(late <= 5 * TENTH, "{seconds} s: {late:?}");
            }
        }
    }
}

/// Four rounds are counted, of at most 16 leases each: a call from an earlier round is forgotten.
#[test]
fn healthy_calls_shorter_than_80_leases_close() {
    let took = |leases: u32| (DEFAULT_LEASE * leases).saturating_sub(ms(100));
    for leases in [32, 40, 60, 64, 79] {
        let closed = lost_until_closed(AtomicU64::new(0), Config::new(), took(leases));
        let (_, at) = closed.unwrap_or_else(|| panic!("never: {leases} leases"));
        let late = at.checked_sub(took(leases)).unwrap();
        assert!(late <= DEFAULT_LEASE * 16, "{leases} leases: {late:?}");
    }
    let longer = lost_until_closed(AtomicU64::new(0), Config::new(), took(82));
    assert_eq!(longer, None, "as documented");
}

/// One success per round used to be forgotten with the next round, so calls of 16.9 leases never closed a breaker that
/// needs two.
#[test]
fn healthy_calls_shorter_than_80_leases_close_a_breaker_that_asks_for_several() {
    for tenths in [159, 161, 169, 250, 400, 640, 790] {
        for (probes, needed) in [(1, 2), (2, 2), (3, 3), (3, 7), (15, 15)] {
            let took = DEFAULT_LEASE * tenths / 10;
            let config = Config::new().probes(probes).close_after(needed);
            let wide = lost_until_closed(AtomicU64::new(0), config, took);
            let narrow = lost_until_closed(AtomicU32::new(0), config, took);
            for closed in [wide, narrow] {
                let Some((_, at)) = closed else {
                    panic!(
                        "never: {tenths} tenths of a lease, {probes} probes, {needed} successes"
                    );
                };
                // One success per round, once the lease has grown.
                let rounds = DEFAULT_LEASE * 16 * (needed + 2);
                assert!(at <= took + rounds, "{tenths}, {probes}, {needed}: {at:?}");
            }
        }
    }
}

#[test]
fn healthy_calls_shorter_than_the_lease_lose_no_round() {
    for seconds in [0, 1, 29] {
        let took = Duration::from_secs(seconds);
        let closed = lost_until_closed(AtomicU64::new(0), Config::new().close_after(3), took);
        assert_eq!(closed.unwrap().0, 0, "{seconds} s");
    }
}

/// Makes ten calls a second for a day, each of which hangs forever. Returns when they were admitted.
fn admissions_of_a_day<W: Word>(word: W, config: Config) -> Vec<Duration> {
    let clock = ManualClock::new();
    let breaker = Breaker::over(word, config.open_for(ms(0)), &clock);
    breaker.trip();
    let mut admitted = Vec::new();
    for tenth in 0..24 * 36_000 {
        if let Ok(permit) = breaker.acquire() {
            let _hangs = permit.into_token();
            admitted.push(TENTH * tenth);
        }
        clock.advance(TENTH);
    }
    admitted
}

#[test]
fn a_resource_that_hangs_costs_at_most_one_probe_per_lease() {
    let lease = DEFAULT_LEASE;
    let check = |admitted: &[Duration]| {
        for (lost, pair) in (0..).zip(admitted.windows(2)) {
            let lost = lost.min(4);
            let wait = lease * 2_u32.pow(lost);
            let between = pair[1].checked_sub(pair[0]).unwrap();
            assert!(between >= wait, "after {lost} lost rounds");
            // A call comes each tenth of a second; a time in a 32-bit word is up to two ticks late.
            assert!(
                between <= wait + TENTH + ms(128),
                "after {lost} lost rounds"
            );
        }
    };
    let wide = admissions_of_a_day(AtomicU64::new(0), Config::new());
    check(&wide);
    let narrow = admissions_of_a_day(AtomicU32::new(0), Config::new());
    check(&narrow);
    // After the first four, one per 16 leases of 30 s.
    assert_eq!([wide.len(), narrow.len()], [184, 184]);
}

#[test]
fn several_probes_that_hang_are_followed_by_one_at_a_time() {
    let admitted = admissions_of_a_day(AtomicU64::new(0), Config::new().probes(4));
    let first = admitted.iter().filter(|at| **at < Duration::from_secs(30));
    assert_eq!(first.count(), 4);
    assert_eq!(admitted.len(), 4 + 183);
}

fn the_lease_doubles_with_each_round_lost_in_a_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)), &clock);
    let _lost = breaker.acquire().unwrap().into_token();
    for lost in 0..3 + u32::from(W::MAX_LOST_ROUNDS) {
        let counted = lost.min(W::MAX_LOST_ROUNDS.into());
        assert_eq!(u32::from(breaker.snapshot().lost_rounds()), counted);
        let lease = (100_u64 << counted).min(W::LONGEST.into());
        let wait = breaker.acquire().unwrap_err().wait();
        assert_eq!(wait, Wait::AtMost(ms(lease)), "after {lost}");
        clock.advance(ms(lease - 1));
        assert!(breaker.acquire().is_err(), "after {lost}");
        clock.advance(ms(1));
        let _lost = breaker.acquire().unwrap().into_token();
    }
}

fn after_a_lost_round_there_is_one_probe_at_a_time<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().probes(3).close_after(5).probe_lease(ms(100));
    let breaker = half_open::<W>(config, &clock);
    let _lost = [(); 3].map(|()| breaker.acquire().unwrap().into_token());
    clock.advance(ms(100));
    for successes in 0..5 {
        assert_eq!(breaker.snapshot().successes(), successes);
        let probe = breaker.acquire().unwrap();
        assert!(breaker.acquire().is_err(), "the second after {successes}");
        clock.advance(ms(150));
        probe.success();
    }
    assert_eq!(breaker.state(), State::Closed);
}

fn lost_rounds_are_forgotten_when_half_open_ends<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().probes(2).probe_lease(ms(100));
    let breaker = half_open::<W>(config, &clock);
    for end in [Permit::success, Permit::failure] {
        let _lost = [(); 2].map(|()| breaker.acquire().unwrap().into_token());
        clock.advance(ms(100));
        let _lost = breaker.acquire().unwrap().into_token();
        clock.advance(ms(200));
        let probe = breaker.acquire().unwrap();
        assert_eq!(breaker.snapshot().lost_rounds(), 2);
        end(probe);
        if breaker.state() == State::HalfOpen {
            end(breaker.acquire().unwrap());
        }
        breaker.trip();
        assert_eq!(breaker.snapshot().lost_rounds(), 0);
        clock.advance(breaker.snapshot().retry_in().unwrap());
        let _probe = breaker.acquire().unwrap().into_token();
        assert_eq!(breaker.snapshot().lost_rounds(), 0);
        let _probe = breaker.acquire().unwrap().into_token();
        let wait = breaker.acquire().unwrap_err().wait();
        assert_eq!(wait, Wait::AtMost(ms(100)), "the lease as configured");
        breaker.trip();
        clock.advance(breaker.snapshot().retry_in().unwrap());
    }
}

fn successes_outlast_lost_rounds_but_no_trip<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().probe_lease(ms(100)).open_for(ms(10)).close_after(4);
    let breaker = half_open::<W>(config, &clock);
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    for lost in 0..6 {
        let _lost = breaker.acquire().unwrap().into_token();
        clock.advance(ms(100 << lost.min(4)));
        assert_eq!(breaker.snapshot().successes(), 1);
    }
    let probe = breaker.acquire().unwrap();
    assert_eq!(
        (
            breaker.snapshot().successes(),
            breaker.snapshot().lost_rounds()
        ),
        (1, 4)
    );
    probe.success();
    assert_eq!(breaker.snapshot().successes(), 2);
    breaker.acquire().unwrap().failure();
    clock.advance(breaker.snapshot().retry_in().unwrap());
    for successes in 0..4 {
        assert_eq!(
            breaker.snapshot().successes(),
            successes,
            "a trip forgets them"
        );
        breaker.acquire().unwrap().success();
    }
    assert_eq!(breaker.state(), State::Closed);
}

fn a_lost_round_keeps_the_trips_in_a_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules()
        .probe_lease(ms(100))
        .open_for(ms(10))
        .exponential(2, ms(80));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().failure();
    clock.advance(ms(20));
    let _lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(100));
    let probe = breaker.acquire().unwrap();
    assert_eq!(breaker.snapshot().trips(), 2);
    probe.failure();
    assert_eq!(
        breaker.snapshot().retry_in(),
        Some(ms(40)),
        "the third trip"
    );
}

/// The lease used to be rounded up to a tick and doubled then: after four rounds up to 14 ticks late.
#[test]
fn a_doubled_lease_is_at_most_two_ticks_late() {
    for lease in [65, 70, 100, 129, 1_000, 30_000] {
        let clock = ManualClock::starting_at(1);
        let config = Config::new().open_for(ms(0)).probe_lease(ms(lease));
        let breaker = Breaker::over(AtomicU32::new(0), config, &clock);
        breaker.trip();
        clock.advance(ms(64));
        for lost in 0..6_u32 {
            let _lost = breaker.acquire().unwrap().into_token();
            let wait = breaker.snapshot().wait();
            let Some(Wait::AtMost(wait)) = wait else {
                panic!("{wait:?}")
            };
            let exact = ms(lease << lost.min(4));
            assert!(
                (exact..=exact + ms(128)).contains(&wait),
                "{lease}, {lost}: {wait:?}"
            );
            clock.advance(wait);
        }
    }
}

/// A released breaker has not tripped; its first lost round counts as a trip.
fn a_lost_round_after_a_release_counts_as_the_first_trip<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().probe_lease(ms(100)), &clock);
    breaker.force_open();
    breaker.release();
    assert_eq!(breaker.snapshot().trips(), 0);
    let _lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(100));
    let probe = breaker.acquire().unwrap();
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.trips(), snapshot.lost_rounds()), (1, 1));
    assert_eq!(snapshot.state(), State::HalfOpen);
    assert_eq!(breaker.check(), Ok(()));
    probe.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn a_probe_given_back_after_a_lost_round_frees_its_slot_at_once<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)).close_after(2), &clock);
    let _lost = breaker.acquire().unwrap().into_token();
    clock.advance(ms(100));
    for _ in 0..3 {
        drop(breaker.acquire().unwrap());
        assert_eq!(breaker.snapshot().probes_in_flight(), 0);
    }
    let _probe = breaker.acquire().unwrap().into_token();
    let snapshot = breaker.snapshot();
    assert_eq!(
        (snapshot.lost_rounds(), snapshot.probes_in_flight()),
        (1, 1)
    );
    assert_eq!(
        snapshot.wait(),
        Some(Wait::AtMost(ms(200))),
        "still doubled"
    );
}

fn each_lost_round_is_reported<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let breaker = observed::<W>(rules().open_for(ms(0)).probe_lease(ms(100)), &clock, &diary);
    breaker.trip();
    let _lost = breaker.acquire().unwrap().into_token();
    for lost in 0..3 {
        diary.transitions.take();
        clock.advance(ms(100 << lost));
        let _lost = breaker.acquire().unwrap().into_token();
        let reported = diary.transitions.borrow();
        assert_eq!(reported.len(), 1);
        let (from, to, cause) = (reported[0].from, reported[0].to, reported[0].cause);
        assert_eq!((from, to), (State::HalfOpen, State::HalfOpen));
        assert_eq!((cause, reported[0].trips), (Cause::ProbeLost, 1));
    }
}

on_both_words!(
    the_lease_doubles_with_each_round_lost_in_a_row,
    after_a_lost_round_there_is_one_probe_at_a_time,
    lost_rounds_are_forgotten_when_half_open_ends,
    successes_outlast_lost_rounds_but_no_trip,
    a_lost_round_keeps_the_trips_in_a_row,
    a_lost_round_after_a_release_counts_as_the_first_trip,
    a_probe_given_back_after_a_lost_round_frees_its_slot_at_once,
    each_lost_round_is_reported,
);
