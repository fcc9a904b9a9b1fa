//! Where epochs alias, exactly: the documented limit, no less and no more.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Config, Failure, ManualClock, State, Token};

/// A closed permit, reported as a failure after every number of transitions up to `most`.
fn transitions_after_which_a_closed_permit_counts(word: &impl Word, most: u32) -> Vec<u32> {
    let clock = ManualClock::new();
    let breaker = Breaker::over(word, Config::new(), &clock);
    let (granted, started) = breaker.acquire().unwrap().into_token().into_raw();
    let mut counts = Vec::new();
    for transitions in 1..=most {
        breaker.reset();
        breaker
            .resume(Token::from_raw(granted, started))
            .report(Failure::weighing(1));
        if breaker.snapshot().failures() != 0 {
            counts.push(transitions);
            breaker.acquire().unwrap().success();
        }
    }
    counts
}

#[test]
fn a_closed_permit_is_taken_for_a_new_one_after_exactly_the_documented_transitions() {
    let narrow = transitions_after_which_a_closed_permit_counts(&AtomicU32::new(0), 40);
    assert_eq!(narrow, [16, 32]);
    let wide = transitions_after_which_a_closed_permit_counts(&AtomicU64::new(0), 1_100);
    assert_eq!(wide, [512, 1_024]);
}

/// A probe that hangs while `transitions` pass, of which the last admits another probe after
/// `pause`; answers whether its late success closes.
fn a_late_probe_closes(word: &impl Word, transitions: u32, pause: Duration) -> bool {
    let clock = ManualClock::starting_at(1_024);
    let config = Config::new().open_for(Duration::ZERO);
    let breaker = Breaker::over(word, config, &clock);
    breaker.trip();
    let hanging = breaker.acquire().unwrap().into_token();
    for _ in 0..transitions - 1 {
        breaker.trip();
    }
    clock.advance(pause);
    let current = breaker.acquire().unwrap();
    breaker.resume(hanging).success();
    let closed = breaker.state() == State::Closed;
    current.cancel();
    closed
}

#[test]
fn a_probe_is_taken_for_a_new_one_only_if_epoch_and_time_match() {
    let wrap = Duration::from_millis(64 << 15);
    let tick = Duration::from_millis(64);
    let narrow = |transitions, pause| a_late_probe_closes(&AtomicU32::new(0), transitions, pause);
    assert!(narrow(16, wrap), "the documented alias");
    assert!(!narrow(16, wrap + tick));
    assert!(!narrow(16, tick));
    for transitions in (2..16).chain(17..32) {
        assert!(!narrow(transitions, wrap), "{transitions}");
    }

    let wrap = Duration::from_millis(1 << 32);
    let tick = Duration::from_millis(1);
    let wide = |transitions, pause| a_late_probe_closes(&AtomicU64::new(0), transitions, pause);
    assert!(wide(512, wrap), "the documented alias");
    assert!(!wide(512, wrap + tick));
    assert!(!wide(512, tick));
    for transitions in (2..512).chain(513..1_024) {
        assert!(!wide(transitions, wrap), "{transitions}");
    }
}
