// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pauses: their bounds, and that they differ.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker_tower::{Backoff, RetryConfig, RetryLayer};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::ServiceExt;

use crate::server::Request::Read;
use crate::server::{LENIENT, Server, always, hinted};
use crate::{MS, SECOND, budget};

const DEFAULT: Backoff = Backoff::new();

fn most_paused(backoff: Backoff, tries: u32) -> Duration {
    let config = RetryConfig::new().backoff(backoff).tries(tries);
    config.most_paused()
}

#[test]
fn pauses_double_up_to_the_longest() {
    let most = [1, 2, 3, 4, 5, 6, 7, 1_000, u32::MAX].map(|retry| DEFAULT.most(retry).as_millis());
    assert_eq!(
        most,
        [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000, 2_000]
    );
    assert_eq!(DEFAULT.most(0), DEFAULT.most(1));
    assert_eq!(most_paused(DEFAULT, 3), 300 * MS);
    assert_eq!(most_paused(DEFAULT, 8), 7_100 * MS);
}

#[test]
fn no_number_overflows() {
    let longest = Backoff::new().longest(Duration::MAX).factor(u32::MAX);
    assert!(longest.check().is_ok());
    assert_eq!(longest.most(1), 100 * MS);
    assert_eq!(longest.most(9), Duration::MAX);
    assert_eq!(most_paused(longest, u32::MAX), Duration::MAX);
    let _ = longest.draw(u32::MAX);
    // Constant pauses, and as many as can be counted.
    let constant = Backoff::new().factor(1).first(MS).longest(SECOND);
    assert_eq!(constant.most(u32::MAX), MS);
    assert_eq!(most_paused(constant, u32::MAX), (u32::MAX - 1) * MS);
    assert_eq!(most_paused(constant, 1), Duration::ZERO);
    let shortest = Backoff::new().first(Duration::from_nanos(1));
    assert_eq!(shortest.draw(1), Duration::ZERO);
}

#[test]
fn numbers_that_make_no_sense_are_errors_that_say_what_to_do() {
    let error = |backoff: Backoff| backoff.check().unwrap_err().to_string();
    assert!(error(DEFAULT.first(Duration::ZERO)).ends_with("lengthen it"));
    assert!(error(DEFAULT.longest(99 * MS)).contains("lengthen it or shorten the first"));
    assert!(error(DEFAULT.factor(0)).contains("set 1"));
    let error = |config: RetryConfig| config.check().unwrap_err().to_string();
    assert!(error(RetryConfig::new().tries(0)).contains("set at least 1"));
    assert!(error(RetryConfig::new().within(Duration::ZERO)).contains("lengthen it"));
    assert!(error(RetryConfig::new().backoff(DEFAULT.factor(0))).contains("set 1"));
}

/// Pearson's chi-squared over 20 equal bins. With 19 degrees of freedom, even pauses are above 80 once in 10⁹
/// runs.
#[test]
fn the_pauses_are_spread_evenly() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    fastrand::seed(seed);
    for retry in [1, 2, 6] {
        let most = DEFAULT.most(retry);
        let mut bins = [0_u32; 20];
        for _ in 0..20_000 {
            let pause = DEFAULT.draw(retry);
            assert!(pause < most);
            bins[(pause.as_nanos() * 20 / most.as_nanos()) as usize] += 1;
        }
        let chi_squared: f64 = bins
            .iter()
            .map(|&seen| (f64::from(seen) - 1_000.0).powi(2) / 1_000.0)
            .sum();
        assert!(chi_squared < 80.0, "{chi_squared}: {bins:?}");
    }
}

/// A mistake of tower's own maker: it clones its generator as it is, so that all requests pause equally.
#[tokio::test(start_paused = true)]
async fn requests_that_are_alike_pause_differently() {
    let mut seen = HashSet::new();
    let retry = RetryLayer::new(RetryConfig::new(), budget(), always);
    let mut requests = JoinSet::new();
    for _ in 0..4 {
        // All clones of one layer, as in a service.
        let server = Server::failing(LENIENT, usize::MAX);
        let client = server.client(retry);
        requests.spawn(async move {
            assert!(client.oneshot(Read).await.is_err());
            server.calls()
        });
    }
    for calls in requests.join_all().await {
        let pauses: Vec<_> = calls.windows(2).map(|two| two[1] - two[0]).collect();
        // tokio rounds up to the next millisecond.
        assert!(pauses[0] <= 101 * MS && pauses[1] <= 201 * MS, "{pauses:?}");
        assert_eq!(pauses.len(), 2);
        seen.insert(pauses);
    }
    assert!(seen.len() > 1, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn the_pauses_of_a_request_grow() {
    let config = RetryConfig::new().tries(8).within(60 * SECOND);
    let mut longest = [Duration::ZERO; 7];
    for _ in 0..300 {
        let server = Server::failing(LENIENT, usize::MAX);
        let client = server.client(RetryLayer::new(config, budget(), always));
        assert!(client.oneshot(Read).await.is_err());
        for (longest, two) in longest.iter_mut().zip(server.calls().windows(2)) {
            *longest = two[1].duration_since(two[0]).max(*longest);
        }
    }
    // The longest of 300 is below nine tenths of the most once in 10¹³ runs.
    for (retry, longest) in (1..).zip(longest) {
        let most = DEFAULT.most(retry);
        assert!(
            longest >= most * 9 / 10 && longest <= most + MS,
            "{retry}: {longest:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_584_years_and_more_is_answered_at_once() {
    let years = Backoff::new().first(Duration::MAX).longest(Duration::MAX);
    let server = Server::failing(LENIENT, usize::MAX);
    let config = RetryConfig::new().backoff(years).within(Duration::MAX);
    let retry = RetryLayer::new(config, budget(), hinted(|_| Some(Duration::MAX)));
    let begin = Instant::now();
    assert!(server.client(retry).oneshot(Read).await.is_err());
    assert_eq!((begin.elapsed(), server.calls().len()), (Duration::ZERO, 1));
}
