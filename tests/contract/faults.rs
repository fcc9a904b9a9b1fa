// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks of a configuration, to the millisecond, and the texts of its errors.

use std::time::Duration;

use atomic_breaker::Config;
use atomic_breaker::config::Fault;
use atomic_breaker::word::Layout;

use super::support::ms;

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn a_time_with_jitter_fits_exactly_when_its_longest_draw_does() {
    let longest = u64::from(Layout::NARROW.max_ms());
    for percent in 0..=100_u64 {
        let most = longest * 100 / (100 + percent);
        for time in most - 3..=most + 3 {
            let fits = time + (time * percent).div_ceil(100) <= longest;
            let config = Config::new()
                .open_for(ms(time))
                .max_retry_after(ms(1))
                .jitter_percent(percent as u32);
            assert_eq!(
                config.check(Layout::NARROW).is_ok(),
                fits,
                "{time} {percent}"
            );
        }
    }
}

/// Each would be a sensible number if its high bits were cut off.
#[test]
fn numbers_that_are_too_large_are_errors_and_never_wrap() {
    for (config, fault) in [
        (Config::new().jitter_percent(256), Fault::TooMuchJitter),
        (Config::new().gradual_return(266, DAY), Fault::ReturnShare),
        (Config::new().probes(65_537), Fault::TooManyProbes),
        (Config::new().close_after(65_537), Fault::CloseAfterTooMany),
    ] {
        let found = config.check(Layout::WIDE).unwrap_err();
        assert_eq!(found.fault(), fault, "{config:?}");
    }
}

#[test]
fn durations_are_rounded_up_to_milliseconds_and_never_wrap() {
    let stored = |time| Config::new().open_for(time).open_for_ms;
    let most = Duration::from_millis(u32::MAX.into());
    assert_eq!(stored(Duration::from_nanos(1)), 1);
    assert_eq!(stored(Duration::from_micros(999)), 1);
    assert_eq!(stored(Duration::from_micros(1_001)), 2);
    assert_eq!(stored(Duration::from_micros(1_999_001)), 2_000);
    assert_eq!(stored(most), u32::MAX);
    for more in [Duration::from_nanos(1), ms(1), ms(704), ms(705), DAY] {
        assert_eq!(stored(most + more), u32::MAX, "{more:?}");
    }
    let less = Duration::from_nanos(u64::from(u32::MAX) * 1_000_000 - 1);
    assert_eq!(stored(less), u32::MAX);
    assert_eq!(stored(ms(u64::from(u32::MAX) - 1)), u32::MAX - 1);
    assert_eq!(stored(Duration::MAX), u32::MAX);
}

#[test]
fn each_fault_has_a_message_of_its_own_that_its_error_shows() {
    let messages: std::collections::HashSet<_> =
        Fault::ALL.iter().map(|fault| fault.message()).collect();
    assert_eq!(messages.len(), Fault::ALL.len());
    let error = Config::new().probes(0).check(Layout::WIDE).unwrap_err();
    assert_eq!(error.fault(), Fault::NoProbes);
    assert_eq!(error.message(), Fault::NoProbes.message());
    assert_eq!(
        format!("{error:?}"),
        format!("ConfigError({:?})", error.message())
    );
}
