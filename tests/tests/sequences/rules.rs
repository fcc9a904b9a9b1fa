// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random rules that fit a word.

use proptest::prelude::*;
use tests::reference::{Grain, Growth, Ratio, Return, Rules, Trip};

use super::any::times;

/// The optional features of the rules.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Plain,
    /// Open times are drawn at random.
    WithJitter,
    /// A failure ratio of at most this many calls may trip, too.
    WithRatio(usize),
}

/// The rules of a history: those at the start, and others that may take over.
pub(crate) fn rule_sets(grain: Grain, kind: Kind) -> impl Strategy<Value = Vec<Rules>> {
    prop::collection::vec(rules(grain, kind), 1..4)
}

/// Rules that fit the word.
pub(crate) fn rules(grain: Grain, kind: Kind) -> impl Strategy<Value = Rules> {
    let most_percent = match kind {
        Kind::WithJitter => 100,
        _ => 0,
    };
    let jitter = (0_u64..=most_percent, any::<u32>());
    let opening = (time(grain, 0), growths(), jitter, limit(time(grain, 0)));
    let tripping = (trips(grain), ratios(kind), limit(1_u64..10_000));
    (opening, tripping, probing(grain)).prop_map(move |(opening, tripping, probing)| {
        let (open_for, growth, jitter, max_retry_after) = opening;
        let (trip, ratio, slow) = tripping;
        let (probes, extra, lease, cancel_limit, returning) = probing;
        // Room for the jitter, rounded up.
        let longest = match jitter.0 {
            0 => grain.longest_ms(),
            percent => grain.longest_ms() * 100 / (100 + percent) - 1,
        };
        let open_for = open_for.min(longest);
        Rules {
            trip: match (trip, ratio) {
                (Trip::ByRatio, None) => Trip::InARow(1),
                (trip, _) => trip,
            },
            ratio,
            slow,
            open_for,
            growth: growth.and_then(|growth| within_reach(growth, open_for, longest, grain)),
            jitter,
            max_retry_after: max_retry_after.map(|limit| limit.min(longest)),
            probes: probes as usize,
            close_after: (probes + extra).min(most_probes(grain)),
            lease,
            cancel_limit,
            returning,
            grain,
        }
    })
}

/// Times that the word holds.
fn time(grain: Grain, least: u64) -> impl Strategy<Value = u64> + Clone {
    times().prop_map(move |time| time.clamp(least, grain.longest_ms()))
}

fn limit<S: Strategy>(strategy: S) -> impl Strategy<Value = Option<S::Value>> {
    prop::option::of(strategy)
}

fn trips(grain: Grain) -> impl Strategy<Value = Trip> {
    let most = if grain.is_wide() { 65_535_u32 } else { 255 };
    let failures = prop_oneof![3 => 1..10_u32, 1 => 1..=most];
    prop_oneof![
        3 => failures.clone().prop_map(Trip::InARow),
        3 => (failures.clone(), time(grain, 1))
            .prop_map(|(failures, window)| Trip::Within(failures, window)),
        3 => (failures, time(grain, 1))
            .prop_map(move |(failures, time)| Trip::Lasting(failures.min(grain.most_lasting), time)),
        1 => Just(Trip::ByRatio),
    ]
}

fn ratios(kind: Kind) -> BoxedStrategy<Option<Ratio>> {
    let Kind::WithRatio(most) = kind else {
        return Just(None).boxed();
    };
    let ratio = (1_u32..=100, 1..=most).prop_flat_map(|(percent, of_last)| {
        limit(1..=of_last).prop_map(move |min_calls| Ratio {
            percent,
            of_last,
            min_calls,
        })
    });
    prop::option::weighted(0.8, ratio).boxed()
}

/// Growth up to this much more than the open time.
fn growths() -> impl Strategy<Value = Option<Growth>> {
    let more = 1_u64..=1 << 20;
    limit(prop_oneof![
        (2_u64..10, more.clone()).prop_map(|(factor, more)| Growth::Times(factor, more)),
        (101_u64..1_000, more.clone()).prop_map(|(percent, more)| Growth::Percent(percent, more)),
        (1_u64..1 << 20, more).prop_map(|(step, more)| Growth::Plus(step, more)),
    ])
}

/// The growth with a maximum that can be reached; `None` if there is none.
fn within_reach(growth: Growth, open_for: u64, longest: u64, grain: Grain) -> Option<Growth> {
    let to = |max| match growth {
        Growth::Times(factor, _) => Growth::Times(factor, max),
        Growth::Percent(percent, _) => Growth::Percent(percent, max),
        Growth::Plus(step, _) => Growth::Plus(step, max),
    };
    let most = to((open_for + growth.max()).min(longest));
    let reach = (1..grain.most_trips).fold(open_for, |open, _| most.after(open));
    (reach > open_for).then(|| to(reach))
}

fn most_probes(grain: Grain) -> u32 {
    if grain.is_wide() { 255 } else { 15 }
}

type Probing = (u32, u32, u64, u64, Option<Return>);

/// Probes, how many more successes close, the lease, the limit of a dropped probe, and the return.
fn probing(grain: Grain) -> impl Strategy<Value = Probing> {
    let probes = prop_oneof![3 => 1..4_u32, 1 => 1..=most_probes(grain)];
    let cancel_limit = prop_oneof![Just(250), times()];
    let cancel_limit = cancel_limit.prop_map(move |limit: u64| limit.min(grain.longest_ms()));
    let returning = (1_u64..=100, time(grain, 1)).prop_map(|(first_percent, over)| Return {
        first_percent,
        over,
    });
    (
        probes,
        0_u32..4,
        time(grain, 1),
        cancel_limit,
        limit(returning),
    )
}
