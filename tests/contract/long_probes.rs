// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that take longer than the lease of a probe: healthy ones close the breaker, and those that hang cost little.

use std::collections::VecDeque;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Cause, Config, ManualClock, Permit, State};

use super::support::{Diary, ms};

const TENTH: Duration = Duration::from_millis(100);

/// The default of [`Config::probe_lease`].
const DEFAULT_LEASE: Duration = Duration::from_secs(30);

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

/// [`lost_until_closed`] on both words.
fn closed_on_both(config: Config, took: Duration) -> [Option<(usize, Duration)>; 2] {
    [
        lost_until_closed(AtomicU64::new(0), config, took),
        lost_until_closed(AtomicU32::new(0), config, took),
    ]
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
            for closed in closed_on_both(config, took) {
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
            for closed in closed_on_both(config, took) {
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
