//! Breakers that processes of one machine share: pre-forked workers, services, tools.
//!
//! | | one breaker | one for each key |
//! |---|---|---|
//! | in a file (Linux and Android), for all who open it | [`open`] | [`MappedSlabBuilder::open`] |
//! | without a file, for this process and those that it forks later | [`for_forks`] | [`MappedSlabBuilder::for_forks`] |
//!
//! A worker that is killed holds up nobody: its probe is taken for lost after the
//! [lease](atomic_breaker::Config::probe_lease), a file or a slot that it was making is finished by the next one.
//! Any bits that a damaged file may hold are safe: a word that is no state is taken for a closed breaker.
//!
//! # The file
//!
//! - It belongs in a directory of the service in `/run` (`RuntimeDirectory=` of systemd), or in `/dev/shm`: there
//!   nothing is ever written to a disk. It is made with the rights 0600, without following a link, and with all its
//!   room reserved, so that a file system which fills up later does no harm.
//! - All who open it must agree on the rules, the clock, the capacity and the version of the format, run as the same
//!   user and on a machine with the same byte order. Otherwise it is a [`MappedError`] that names the file. The
//!   [seed](atomic_breaker::Config::seed) of the jitter may differ.
//! - A file from before a restart of the machine is replaced by a fresh one, closed, as its times mean nothing
//!   any more: [`Origin::AfterRestart`].
//! - Who removes the file parts the processes: those that have it keep it, and who comes later makes a new one.
//!   Stop them all first.
//! - **Who can write the file can end the processes that use it**: if it is truncated, the kernel sends `SIGBUS` to
//!   whoever touches it. Nothing can keep its owner (or root) from that; 0600 keeps others. Where that is too
//!   much, [`for_forks`] has no file.
//! - File systems that machines share (NFS, SMB, Ceph and others) and those that a program serves (FUSE, 9P)
//!   are rejected. In a container, a file in its own layers is seen by that container only: mount a directory of
//!   the host, and run as the same user. Another time namespace is rejected. So is another boot id, as some
//!   containers have one of their own, while the file is in use; later it is taken for a restart.
//!
//! # What is not shared
//!
//! Observers hear of transitions of their own process. The memory for a
//! [failure ratio](atomic_breaker::Config::failure_ratio) is not shared either, so such rules are rejected.

mod clock;
mod error;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod file;
mod layout;
mod memory;
mod setup;
mod sip;
mod slab;
mod slab_builder;
mod slot;
mod word;

pub use clock::MachineClock;
pub use error::MappedError;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use file::open;
pub use slab::{MappedEntry, MappedSlab, NoSlot, SlotBreaker};
pub use slab_builder::MappedSlabBuilder;
pub use word::{MappedBreaker, MappedBuilder, MappedWord, for_forks};

/// How memory that processes share came to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// This process made it.
    Created,
    /// It was there already.
    Joined,
    /// This process made it in place of one from before a restart of the machine.
    AfterRestart,
    /// This process made it in place of one of other rules, which nobody used:
    /// `replace_unused` of the builders.
    AfterOtherRules,
}
