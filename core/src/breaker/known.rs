// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that are known when the program is compiled: handles of size zero.

use core::fmt;
use core::marker::PhantomData;

use crate::config::{AsRules, Rules};
use crate::word::{Word, forward_word};

/// A breaker that is known when the program is compiled: what [`static_breaker!`](crate::static_breaker) implements for
/// the handles that it makes.
pub trait StaticBreaker: 'static {
    /// The word that holds its state.
    type Word: Word;

    /// Its rules.
    const RULES: Rules<<Self::Word as Word>::Bits>;

    /// The one word.
    fn word() -> &'static Self::Word;
}

/// The word and the rules of a [`StaticBreaker`]. Takes no memory: the type says where the word is, and the rules are
/// constants.
pub struct Known<H>(PhantomData<fn() -> H>);

impl<H> Known<H> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<H> fmt::Debug for Known<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Known")
    }
}

forward_word!([H: StaticBreaker] Known<H>: |_known| H::word(), H::Word);

impl<H: StaticBreaker> AsRules<<H::Word as Word>::Bits> for Known<H> {
    #[inline]
    fn as_rules(&self) -> &Rules<<H::Word as Word>::Bits> {
        const { &H::RULES }
    }
}
