//! Jobs of durable steps, in any store: read, tried again, cancelled.

mod change;
mod read;

pub(super) use change::obey;
pub(super) use read::{counts, list, one};
