// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shares in hundredths of a percent.

use atomic_breaker::Ratio;

/// One call in a hundred is 100 basis points, one in a thousand 10; one basis point less is not reached.
#[test]
fn shares_below_a_percent_are_exact() {
    for (points, calls) in [
        (1, 10_000_u32),
        (10, 1_000),
        (99, 10_000),
        (100, 100),
        (10_000, 7),
    ] {
        let ratio = Ratio::basis_points(points).of_last(calls).min_calls(1);
        assert_eq!(ratio.trips_at_basis_points(), points);
        let failed = (calls * points).div_ceil(10_000);
        assert!(ratio.is_reached(calls, failed), "{points}");
        assert!(!ratio.is_reached(calls + 1, failed), "{points}");
        assert!(!ratio.is_reached(calls, failed - 1), "{points}");
    }
    assert!(!Ratio::basis_points(1).is_reached(u32::MAX, u32::MAX / 10_000 - 1));
    assert!(Ratio::basis_points(1).is_reached(u32::MAX, u32::MAX / 10_000 + 1));
    assert_eq!(Ratio::percent(50), Ratio::basis_points(5_000));
}
