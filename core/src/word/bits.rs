// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value in a word: `u32` or `u64`.

use core::fmt;

use super::layout::Layout;
use super::peek::fault;
use crate::error::CorruptWord;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl<const N: u32> Sealed for super::TickBits<N> {}
}

/// The bits of a word: `u64` with the wide layout, `u32` with the narrow one. Sealed.
pub trait Bits: sealed::Sealed + Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// The positions of the fields.
    const LAYOUT: Layout;

    /// A fresh, closed breaker: all bits zero.
    const FRESH: Self;

    /// Widens the bits.
    fn to_u64(self) -> u64;

    /// The low bits of `bits`; the layout of this width uses no others.
    #[doc(hidden)]
    fn from_u64(bits: u64) -> Self;

    /// Returns the bits if they are a valid state: for words that come from outside.
    fn check(self) -> Result<Self, CorruptWord> {
        match fault(self) {
            None => Ok(self),
            Some(fault) => Err(CorruptWord::new(self.to_u64(), fault)),
        }
    }
}

impl Bits for u32 {
    const LAYOUT: Layout = Layout::NARROW;
    const FRESH: Self = 0;

    #[inline]
    fn to_u64(self) -> u64 {
        self.into()
    }

    #[inline]
    fn from_u64(bits: u64) -> Self {
        bits as Self
    }
}

impl Bits for u64 {
    const LAYOUT: Layout = Layout::WIDE;
    const FRESH: Self = 0;

    #[inline]
    fn to_u64(self) -> u64 {
        self
    }

    #[inline]
    fn from_u64(bits: u64) -> Self {
        bits
    }
}

/// The bits of [`Ticks`](super::Ticks): the 32-bit layout with ticks of 2ᴺ milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(transparent)]
pub struct TickBits<const N: u32>(pub u32);

impl<const N: u32> Bits for TickBits<N> {
    const LAYOUT: Layout = {
        assert!(N <= 16, "a tick is at most 2^16 ms (65.5 s): lower N");
        Layout::NARROW.with_tick_log2(N)
    };
    const FRESH: Self = Self(0);

    #[inline]
    fn to_u64(self) -> u64 {
        self.0.into()
    }

    #[inline]
    fn from_u64(bits: u64) -> Self {
        Self(bits as u32)
    }
}
