//! The protocol of one instance, in time that a test moves.

mod alone;
mod attacked;
mod probing;
mod support;
mod voting;
