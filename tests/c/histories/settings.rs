// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules at run time: what fits is accepted, what does not fit is refused with the field to change.

use atomic_breaker::config::Fault;
use atomic_breaker::{Config, Rules};
use atomic_breaker_c::types::{CPermit, CRules, CSettings, CSnapshot, CToken};
use std::mem::MaybeUninit;

use super::through::Side;

fn init<S: Side>(settings: CSettings) -> Option<&'static str> {
    let mut rules = MaybeUninit::<CRules<S>>::uninit();
    S::init(rules.as_mut_ptr(), &settings)
}

#[test]
fn the_defaults_of_c_are_those_of_rust() {
    let defaults = <u32 as Side>::defaults();
    assert_eq!(defaults, <u64 as Side>::defaults());
    let config = Config::new();
    assert_eq!(init::<u32>(defaults), None);
    assert_eq!(init::<u64>(defaults), None);
    let longest = atomic_breaker::word::Layout::NARROW.max_ms();
    assert_eq!(
        config.trip,
        atomic_breaker::TripRule::Consecutive {
            failures: defaults.failures
        }
    );
    assert_eq!(config.open_for_ms, defaults.open_ms);
    assert_eq!(config.probes, defaults.probes as u16);
    assert_eq!(config.cancel_limit_ms, defaults.cancel_limit_ms);
    assert_eq!(config.lease_ms(longest), defaults.probe_lease_ms);
    assert_eq!(
        config.longest_retry_after_ms(longest),
        defaults.max_retry_after_ms
    );
    let off = CSettings {
        failures: 0,
        open_ms: 0,
        probes: 0,
        cancel_limit_ms: 0,
        probe_lease_ms: 0,
        max_retry_after_ms: 0,
        ..defaults
    };
    assert_eq!(off, CSettings::default(), "everything else is off");
}

#[test]
fn both_languages_lay_the_types_out_alike() {
    macro_rules! sizes {
        ($($kind:ty),*) => { [$(size_of::<$kind>() as u32),*] };
    }
    use atomic_breaker::word::{AtomicU32, AtomicU64, Retained};
    let narrow = sizes!(
        AtomicU32,
        Retained<AtomicU32>,
        CRules<u32>,
        CToken<u32>,
        CPermit<u32>,
        CSnapshot,
        CSettings
    );
    let wide = sizes!(
        AtomicU64,
        Retained<AtomicU64>,
        CRules<u64>,
        CToken<u64>,
        CPermit<u64>,
        CSnapshot,
        CSettings
    );
    assert_eq!(<u32 as Side>::sizes(), narrow);
    assert_eq!(<u64 as Side>::sizes(), wide);
}

/// A field, and values of it that do not fit, with 32 bits and with 64.
type Wrong = (
    fn(&mut CSettings, u32),
    &'static str,
    &'static [u32],
    &'static [u32],
);

const WRONG: &[Wrong] = &[
    (
        |s, x| s.failures = x,
        "failures",
        &[0, 256, u32::MAX],
        &[0, 65_536, u32::MAX],
    ),
    (
        |s, x| s.window_ms = x,
        "window_ms",
        &[(1 << 20) + 1, u32::MAX],
        &[(1 << 31) + 1, u32::MAX],
    ),
    (
        |s, x| s.lasting_ms = x,
        "lasting_ms",
        &[(1 << 20) + 1, u32::MAX],
        &[(1 << 31) + 1, u32::MAX],
    ),
    (
        |s, x| (s.failures, s.lasting_ms) = (x, 100),
        "lasting_ms",
        &[0, 128, u32::MAX],
        &[0, 32_768, u32::MAX],
    ),
    (
        |s, x| (s.window_ms, s.lasting_ms) = (x, 100),
        "lasting_ms",
        &[1, 1_000],
        &[1, 1_000],
    ),
    (
        |s, x| s.open_ms = x,
        "open_ms",
        &[(1 << 20) + 1, u32::MAX],
        &[(1 << 31) + 1, u32::MAX],
    ),
    (
        |s, x| s.jitter_percent = x,
        "jitter_percent",
        &[101, 256, u32::MAX],
        &[101, 300, u32::MAX],
    ),
    (
        |s, x| s.max_open_ms = x,
        "max_open_ms",
        &[1, 10_000],
        &[1, 10_000],
    ),
    (
        |s, x| (s.growth_percent, s.max_open_ms) = (x, 10_000),
        "growth_percent",
        &[1, 100],
        &[1, 100],
    ),
    (
        |s, x| (s.growth_percent, s.max_open_ms) = (200, x),
        "max_open_ms",
        &[0, 4_999, 5_000 << 7],
        &[0, 4_999],
    ),
    (
        |s, x| (s.growth_step_ms, s.max_open_ms) = (1, x),
        "max_open_ms",
        &[5_007],
        &[5_031],
    ),
    (
        |s, x| (s.growth_step_ms, s.growth_percent, s.max_open_ms) = (1, 200, x),
        "max_open_ms",
        &[5_001],
        &[5_001],
    ),
    (
        |s, x| (s.open_ms, s.jitter_percent) = (x, 100),
        "open_ms",
        &[(1 << 19) + 1],
        &[(1 << 30) + 1],
    ),
    (
        |s, x| s.max_retry_after_ms = x,
        "max_retry_after_ms",
        &[(1 << 20) + 1, u32::MAX],
        &[(1 << 31) + 1],
    ),
    (
        |s, x| s.probes = x,
        "probes",
        &[0, 16, 256, 65_536, u32::MAX],
        &[0, 256, 65_536, u32::MAX],
    ),
    (
        |s, x| (s.probes, s.close_after) = (3, x),
        "close_after",
        &[1, 2, 16, u32::MAX],
        &[1, 2, 256, u32::MAX],
    ),
    (
        |s, x| s.probe_lease_ms = x,
        "probe_lease_ms",
        &[0, (1 << 20) + 1],
        &[0, (1 << 31) + 1],
    ),
    (
        |s, x| s.cancel_limit_ms = x,
        "cancel_limit_ms",
        &[(1 << 20) + 1],
        &[(1 << 31) + 1],
    ),
    (
        |s, x| s.slow_call_ms = x,
        "slow_call_ms",
        &[1 << 31, u32::MAX],
        &[1 << 31, u32::MAX],
    ),
    (
        |s, x| (s.return_first_percent, s.return_over_ms) = (x, 1_000),
        "return_first_percent",
        &[0, 101, 257, u32::MAX],
        &[0, 101, 257, u32::MAX],
    ),
    (
        |s, x| (s.return_first_percent, s.return_over_ms) = (10, x),
        "return_over_ms",
        &[0, (1 << 20) + 1],
        &[0, (1 << 31) + 1],
    ),
];

#[test]
fn settings_that_do_not_fit_are_refused_with_the_field_to_change() {
    fn refused<S: Side>(settings: CSettings, field: &str) {
        let message = init::<S>(settings).unwrap_or_else(|| panic!("{field}: {settings:?}"));
        assert!(message.starts_with(field), "{message}: {settings:?}");
        let (_, fix) = message
            .split_once(": ")
            .expect("a field and what it may be");
        assert!(fix.len() > 3 && message.is_ascii());
    }
    for &(set, field, narrow, wide) in WRONG {
        for &value in narrow {
            let mut settings = <u32 as Side>::defaults();
            set(&mut settings, value);
            refused::<u32>(settings, field);
        }
        for &value in wide {
            let mut settings = <u64 as Side>::defaults();
            set(&mut settings, value);
            refused::<u64>(settings, field);
        }
    }
}

#[test]
fn random_settings_are_accepted_by_c_exactly_when_rust_accepts_them() {
    let mut random = tests::random::Random::stream(u64::from(std::process::id()));
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..200_000 {
        let mut any = |often: u32| match random.below(8) {
            0 => random.next_u32() >> random.below(32),
            1 => 0,
            _ => often,
        };
        let settings = CSettings {
            failures: any(3),
            window_ms: any(0),
            lasting_ms: any(0),
            open_ms: any(2_000),
            growth_percent: any(200),
            growth_step_ms: any(0),
            max_open_ms: any(60_000),
            jitter_percent: any(20),
            seed: any(7),
            max_retry_after_ms: any(300_000),
            probes: any(1),
            close_after: any(0),
            probe_lease_ms: any(30_000),
            cancel_limit_ms: any(250),
            slow_call_ms: any(0),
            return_first_percent: any(0),
            return_over_ms: any(0),
        };
        let of_rust = settings
            .config()
            .ok()
            .map(|config| Rules::<u32>::try_new(config).is_ok());
        let of_c = init::<u32>(settings).is_none();
        assert_eq!(of_c, of_rust == Some(true), "{settings:?}");
        *(if of_c { &mut accepted } else { &mut refused }) += 1;
    }
    assert!(
        accepted > 10_000 && refused > 10_000,
        "{accepted} accepted, {refused} refused"
    );
}

#[test]
fn every_fault_that_settings_of_c_can_have_has_a_text() {
    // Those of a failure ratio, of memory, and of times of zero that C takes for "off".
    let others = Fault::ALL.iter().filter(|fault| {
        let name = format!("{fault:?}");
        ["Ratio", "MinCalls", "SlowShare"]
            .iter()
            .any(|start| name.starts_with(start))
    });
    let others = others.count()
        + [
            "NoRoomForRules",
            "TallyOnlyNeverTrips",
            "LastingOfNoTime",
            "WindowOfNoTime",
            "SlowCallOfNoTime",
        ]
        .len();
    assert_eq!(
        Fault::ALL.len() - others,
        24,
        "a new fault needs a text for C in core/c/src/texts.rs"
    );
}
