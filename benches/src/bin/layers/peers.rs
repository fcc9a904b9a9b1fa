// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layers of others, each set up like its users do: with its nearest rules, its own default clock, no telemetry.

use std::fmt;
use std::time::Duration;

use benches::rounds::Case;
use layered::Layer;
use seatbelt::breaker::{Breaker, BreakerId};
use seatbelt::{RecoveryInfo, ResilienceContext};
use tick::Clock;
use tower_resilience_circuitbreaker::CircuitBreakerLayer;

use crate::requests::{Answers, RUNTIME, Request, by_layered, by_tower, case};

/// The fastest of those without a key.
pub(crate) const FASTEST: &str = "seatbelt 0.11.0, `layered`, its fast clock";
pub(crate) const BY_KEY: &str = "seatbelt 0.11.0, tower, by key";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        tower_resilience(),
        case(
            "seatbelt 0.11.0, tower",
            || seatbelt(default_clock(), false),
            by_tower,
        ),
        case(
            "seatbelt 0.11.0, `layered`",
            || seatbelt(default_clock(), false),
            by_layered,
        ),
        case(
            FASTEST,
            || seatbelt(default_clock().with_fast_instant(true), false),
            by_layered,
        ),
        case(BY_KEY, || seatbelt(default_clock(), true), by_tower),
    ]
}

fn tower_resilience() -> Case {
    let make = || {
        let layer = CircuitBreakerLayer::builder()
            .consecutive_failures(5)
            .wait_duration_in_open(Duration::from_secs(5))
            .permitted_calls_in_half_open(1)
            .build()
            .expect("the rules are sound");
        layer.layer_fn(Answers)
    };
    case("tower-resilience-circuitbreaker 0.14.0", make, by_tower)
}

/// It has a share over time only.
fn seatbelt(clock: Clock, is_by_key: bool) -> Breaker<Request, Result<usize, fmt::Error>, Answers> {
    let context = ResilienceContext::new(clock);
    let layer = Breaker::layer("hosts", &context)
        .recovery_with(|result: &Result<usize, fmt::Error>, _| match result {
            Ok(_) => RecoveryInfo::never(),
            Err(_) => RecoveryInfo::retry(),
        })
        .rejected_input(|_, _| unreachable!("it is closed"))
        .failure_threshold(0.5)
        .min_throughput(20)
        .sampling_duration(Duration::from_secs(10))
        .break_duration(Duration::from_secs(5));
    let layer = if is_by_key {
        // The key that its documentation calls the fastest besides numbers.
        layer.breaker_id(|request: &Request| BreakerId::from(request.host))
    } else {
        layer
    };
    layer.layer(Answers)
}

/// The clock that its users on tokio have.
fn default_clock() -> Clock {
    let _runtime = RUNTIME.enter();
    Clock::new_tokio()
}
