// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slice of time that a shard is in.

/// Slices in a span.
pub(super) const SLICES: u32 = 8;

/// Readings of two threads cross, and clocks step back a little: this many milliseconds before the start of a
/// slice still count as that slice, as in the words of breakers.
const GUARD_MS: u32 = 1 << 16;

const MANTISSA_BITS: u32 = 18;
const CODE_BITS: u32 = MANTISSA_BITS + 5;
const NUMBER_BITS: u32 = 9;

/// The length of a slice: an eighth of the span, rounded up to milliseconds, and from 262 s on by up to
/// 1/131072, so that it fits into 23 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    code: u32,
}

impl Span {
    /// Marks a shard that counts nothing.
    const NONE: Self = Self { code: 0 };

    #[inline]
    pub(super) const fn of(within_ms: u32) -> Self {
        let slice_ms = within_ms.div_ceil(SLICES);
        if slice_ms == 0 {
            Self { code: 1 }
        } else if slice_ms < 1 << MANTISSA_BITS {
            Self { code: slice_ms }
        } else {
            Self::of_long(slice_ms)
        }
    }

    #[cold]
    const fn of_long(slice_ms: u32) -> Self {
        let exponent = slice_ms.ilog2() + 1 - MANTISSA_BITS;
        let mantissa = slice_ms.div_ceil(1 << exponent);
        if mantissa >> MANTISSA_BITS == 0 {
            return Self {
                code: exponent << MANTISSA_BITS | mantissa,
            };
        }
        Self {
            code: (exponent + 1) << MANTISSA_BITS | mantissa >> 1,
        }
    }

    /// The milliseconds of a slice.
    #[inline]
    pub(super) const fn slice_ms(self) -> u32 {
        let mantissa = self.code & ((1 << MANTISSA_BITS) - 1);
        mantissa << (self.code >> MANTISSA_BITS)
    }

    /// Some bits that differ between most spans.
    pub(super) const fn digest(self) -> u64 {
        (self.code.wrapping_mul(0x9E37_79B9) >> 27) as u64
    }
}

/// The slice that a shard is in, as stored in its first word. Any bits are valid.
///
/// ```text
/// 63          32 31             9 8        0
/// ┌─────────────┬────────────────┬──────────┐
/// │ start    32 │ slice in ms 23 │ number 9 │
/// └─────────────┴────────────────┴──────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head(pub(super) u64);

impl Head {
    const fn new(start_ms: u32, span: Span, number: u64) -> Self {
        let number = number % (1 << NUMBER_BITS);
        Self((start_ms as u64) << 32 | (span.code as u64) << NUMBER_BITS | number)
    }

    pub(super) const fn start_ms(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) const fn span(self) -> Span {
        let code = self.0 as u32 >> NUMBER_BITS & ((1 << CODE_BITS) - 1);
        Span { code }
    }

    #[inline]
    pub(super) const fn number(self) -> u64 {
        self.0 % (1 << NUMBER_BITS)
    }

    /// Returns whether a call that is made now belongs to this slice. This is the hot path, so it has no
    /// division.
    #[inline]
    pub(super) fn is_current(self, span: Span, now_ms: u32) -> bool {
        self.span() == span && now_ms.wrapping_sub(self.start_ms()) < span.slice_ms()
    }

    /// The number of slices that have begun since this one, and the milliseconds of the last of them that have passed.
    pub(super) fn passed(self, now_ms: u32) -> (u32, u32) {
        let since = now_ms.wrapping_sub(self.start_ms());
        let slice_ms = self.span().slice_ms().max(1);
        if since > u32::MAX - GUARD_MS {
            return (0, 0);
        }
        if since < slice_ms {
            return (0, since);
        }
        (since / slice_ms, since % slice_ms)
    }

    /// Returns whether everything that was counted up to this slice has left the span, or nothing is counted
    /// at all.
    pub(super) fn is_over(self, now_ms: u32) -> bool {
        self.span() == Span::NONE || self.passed(now_ms).0 >= SLICES
    }

    /// The slice at this time, and how many slices begin up to and including it, at most all eight. For
    /// another span, everything that was counted is old.
    pub(super) fn at(self, span: Span, now_ms: u32) -> (Self, u32) {
        if self.span() != span {
            // On a grid, so that the shards change slices together.
            let start = now_ms - now_ms % span.slice_ms();
            return (
                Self::new(start, span, self.number() + u64::from(SLICES)),
                SLICES,
            );
        }
        let (passed, _) = self.passed(now_ms);
        let start = self
            .start_ms()
            .wrapping_add(passed.wrapping_mul(span.slice_ms()));
        let begun = passed.min(SLICES);
        (
            Self::new(start, span, self.number() + u64::from(begun)),
            begun,
        )
    }

    /// A head that counts nothing until it is used again.
    pub(super) const fn retired(self) -> Self {
        Self::new(0, Span::NONE, self.number())
    }
}
