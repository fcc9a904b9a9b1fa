//! What the properties draw from.

use std::time::Duration;

use atomic_breaker::{Failure, Outcome};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use tests::reference::{Grain, Order, Report, Rules, Trip};

/// So many cases each, and failures kept beside the source.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource(
            "proptest-regressions",
        ))),
        ..ProptestConfig::default()
    }
}

/// Times of all sizes, milliseconds to weeks.
pub(crate) fn times() -> impl Strategy<Value = u64> {
    (0_u32..31).prop_flat_map(|bits| 0..=1_u64 << bits)
}

pub(crate) fn reports() -> impl Strategy<Value = Report> {
    prop_oneof![
        6 => Just(Report::Success),
        6 => (0_u32..5).prop_map(Report::Failure),
        1 => Just(Report::TripAtOnce),
        1 => times().prop_map(Report::RetryAfter),
        2 => Just(Report::Nothing),
    ]
}

pub(crate) fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        3 => Just(Order::Trip),
        1 => Just(Order::ForceOpen),
        2 => Just(Order::Release),
        1 => Just(Order::Reset),
        1 => Just(Order::Disable),
        2 => Just(Order::Enable),
        2 => Just(Order::ProbeNow),
    ]
}

/// Ticks of 32-bit words, as powers of two.
pub(crate) fn ticks() -> impl Strategy<Value = u32> {
    prop_oneof![Just(6), 0_u32..=16]
}

/// Rules that fit the word, without jitter.
pub(crate) fn rules(grain: Grain) -> impl Strategy<Value = Rules> {
    rules_with_jitter(grain, Just((0, 0)))
}

/// Rules that fit the word.
pub(crate) fn rules_with_jitter(
    grain: Grain,
    jitter: impl Strategy<Value = (u64, u32)>,
) -> impl Strategy<Value = Rules> {
    let (most_failures, most_probes) = match grain.significant {
        5 => (255_u32, 15_u32),
        _ => (65_535, 255),
    };
    let longest = grain.longest * grain.tick;
    let time = move |least: u64| times().prop_map(move |time| time.clamp(least, longest));
    let failures = prop_oneof![3 => 1..10_u32, 1 => 1..=most_failures];
    let trip = prop_oneof![
        failures.clone().prop_map(Trip::InARow),
        (failures, time(1)).prop_map(|(failures, window)| Trip::Within(failures, window)),
    ];
    let growth = prop::option::of((2_u64..10, 1_u64..=1 << 20));
    let probes = prop_oneof![3 => 1..4_u32, 1 => 1..=most_probes];
    (
        (trip, time(0), growth, jitter),
        (probes, 0_u32..4, time(1)),
        (prop::option::of(time(1)), prop::option::of(1_u64..10_000)),
    )
        .prop_map(move |(opening, probing, (max_retry_after, slow))| {
            let (trip, open_for, growth, jitter) = opening;
            let (probes, extra, lease) = probing;
            // Room for the jitter, rounded up.
            let longest = match jitter.0 {
                0 => longest,
                percent => longest * 100 / (100 + percent) - 1,
            };
            let open_for = open_for.min(longest);
            // A maximum within reach, or no growth.
            let growth = growth.and_then(|(factor, max)| {
                let steps = grain.most_trips - 1;
                let reach = open_for.saturating_mul(factor.saturating_pow(steps));
                let max = (open_for + max).min(reach).min(longest);
                (max >= open_for && open_for > 0).then_some((factor, max))
            });
            Rules {
                trip,
                open_for,
                growth,
                jitter,
                max_retry_after: max_retry_after.map(|limit| limit.min(longest)),
                probes: probes as usize,
                close_after: (probes + extra).min(most_probes),
                lease,
                slow,
                grain,
            }
        })
}

/// A report as the real breaker takes it.
pub(crate) fn outcome(report: Report) -> Outcome {
    match report {
        Report::Success => Outcome::Success,
        Report::Failure(weight) => Failure::weighing(weight as u16).into(),
        Report::TripAtOnce => Failure::tripping().into(),
        Report::RetryAfter(time) => Failure::retry_after(Duration::from_millis(time)).into(),
        Report::Nothing => Outcome::Ignored,
    }
}
