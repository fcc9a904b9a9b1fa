// SPDX-License-Identifier: MIT OR Apache-2.0
//! Growth that does not fit, and factors as they are kept.

use std::time::Duration;

use atomic_breaker::config::Growth;
use atomic_breaker::word::Layout;
use atomic_breaker::{Config, ManualClock};

use super::support::{breaker, ms, opened_for};

fn rejected_wide(config: Config) -> String {
    config.check(Layout::WIDE).unwrap_err().to_string()
}

fn rejected_narrow(config: Config) -> String {
    config.check(Layout::NARROW).unwrap_err().to_string()
}

/// Both layouts must reject it for the same reason.
fn rejected(config: Config) -> String {
    assert_eq!(rejected_wide(config), rejected_narrow(config));
    rejected_wide(config)
}

#[test]
fn limits_of_growth_by_fractions_and_steps() {
    let from = |ms_open| Config::new().open_for(ms(ms_open));
    let no_growth = "an open time that grows needs a factor of at least 2 (more than 100 percent) \
                     or a step: raise it or leave out the growth";
    assert_eq!(
        rejected(from(1_000).exponential_percent(100, ms(2_000))),
        no_growth
    );
    assert_eq!(
        rejected(from(1_000).exponential_percent(0, ms(2_000))),
        no_growth
    );
    assert_eq!(
        rejected(from(1_000).linear(Duration::ZERO, ms(2_000))),
        no_growth
    );
    assert!(
        from(1_000)
            .exponential_percent(101, ms(1_060))
            .check(Layout::NARROW)
            .is_ok()
    );
    assert!(
        from(1_000)
            .linear(ms(1), ms(1_006))
            .check(Layout::NARROW)
            .is_ok()
    );
    assert!(rejected_narrow(from(1_000).linear(ms(1), ms(1_007))).contains("never reached"));
    assert!(
        from(1_000)
            .linear(ms(1), ms(1_030))
            .check(Layout::WIDE)
            .is_ok()
    );
    assert!(rejected_wide(from(1_000).linear(ms(1), ms(1_031))).contains("never reached"));
    assert!(rejected(from(1_000).linear(ms(1), ms(999))).contains("is below open_for"));
    // Absurd numbers do not overflow; what does not fit is rejected.
    assert!(
        from(1)
            .exponential(u32::MAX, ms(1_000))
            .check(Layout::NARROW)
            .is_ok()
    );
    assert!(
        rejected_wide(from(1).linear(Duration::MAX, Duration::MAX)).contains("longer than 2^31 ms")
    );
}

#[test]
fn a_factor_in_percent_is_kept_in_256ths_rounded_up() {
    let max = 1 << 30;
    let exact = |percent: u32| (u64::from(percent) * 256).div_ceil(100);
    let one = 1_u32 << 20;
    let after = |percent| {
        let clock = ManualClock::new();
        let config = Config::new()
            .open_for(ms(one.into()))
            .exponential_percent(percent, ms(max));
        let breaker = breaker::<atomic_breaker::word::AtomicU64>(config, &clock);
        breaker.trip();
        clock.advance(opened_for(&breaker));
        breaker.acquire().unwrap().failure();
        opened_for(&breaker).as_millis() as u64
    };
    for percent in (130..=40_000).step_by(7) {
        let grown = ((u64::from(one) * exact(percent)) >> 8).min(max);
        // The word keeps an open time with eleven significant bits, but its deadline is exact.
        assert_eq!(after(percent), grown, "{percent}");
        assert_eq!(
            Growth::exponential(percent, 1),
            Config::new()
                .exponential_percent(percent, ms(1))
                .growth
                .unwrap()
        );
    }
    // Larger ones fill the field, and do not wrap.
    for percent in [1_677_721_600, 1_677_721_599, u32::MAX] {
        assert_eq!(after(percent), max);
    }
}
