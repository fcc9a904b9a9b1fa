// SPDX-License-Identifier: MIT OR Apache-2.0
//! The causes of transitions that a test expects.

use atomic_breaker::Cause;

/// All but these.
pub fn all_but<const N: usize>(others: [Cause; N]) -> impl Iterator<Item = Cause> {
    Cause::ALL
        .iter()
        .copied()
        .filter(move |cause| !others.contains(cause))
}
