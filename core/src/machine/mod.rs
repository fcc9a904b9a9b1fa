// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine: pure functions from one circuit to the next.
//!
//! Nothing here touches an atomic: [`Breaker`](crate::Breaker) applies the functions in one compare-and-swap loop, in
//! `apply`. The first line of a function names the arrows of the [life cycle](crate::state) that it takes.
//!
//! A step that changes the state, or begins a new round of probes, raises the epoch by one and names a cause; any other
//! step keeps the epoch. [`Now`](crate::clock::Now) is read on demand, so that a step that needs no time reads no clock.

mod admit;
mod control;
mod lasting;
mod open;
mod probe;
mod report;
mod restore;
mod returning;

pub(crate) use control::Command;

use core::marker::PhantomData;

use crate::circuit::Circuit;
use crate::config::{Config, Rules};
use crate::observer::Cause;
use crate::word::Bits;

/// The inputs of every step: the rules and, through its type, the shape of the word.
#[derive(Clone, Copy)]
pub(crate) struct Machine<'a, B> {
    pub(crate) config: &'a Config,
    bits: PhantomData<B>,
}

/// The result of a step for the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Step<B> {
    /// Nothing to change.
    Keep,
    /// A change within the epoch: a count, a slot, a deadline.
    Update(Circuit<B>),
    /// A transition.
    Transition(Circuit<B>, Cause),
}

impl<'a, B: Bits> Machine<'a, B> {
    pub(crate) const fn new(rules: &'a Rules<B>) -> Self {
        Self {
            config: rules.config(),
            bits: PhantomData,
        }
    }
}
