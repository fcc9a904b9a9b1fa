// SPDX-License-Identifier: MIT OR Apache-2.0
//! The causes of transitions that a test expects.

use atomic_breaker::Cause;

/// All but these two.
pub fn all_but(two: [Cause; 2]) -> impl Iterator<Item = Cause> {
    Cause::ALL
        .iter()
        .copied()
        .filter(move |cause| !two.contains(cause))
}
