// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers shared by the processes of one machine: pre-forked workers, services, tools.
//!
//! ```
//! use atomic_breaker_mapped::{Config, MappedSlab, for_forks};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = for_forks(Config::new())?;
//! // One for each key.
//! let hosts = MappedSlab::builder(Config::new()).capacity(500).for_forks()?;
//!
//! // Fork the workers here. In each of them:
//! let _ = database.call(|| Err::<(), _>("no answer"));
//! let _ = hosts.breaker("a.example")?.call(|| Ok::<_, &str>(7));
//! # Ok(()) }
//! ```
//!
//! # What it has
//!
//! | | one breaker | one for each key: [`MappedSlab::builder`] |
//! |---|---|---|
//! | in a file (Linux and Android), for all processes that open it | [`open`] | `open` |
//! | without a file, for this process and those that it forks later | [`for_forks`] | `for_forks` |
//!
//! A worker that is killed holds up no other process: its probe is presumed lost after the
//! [lease](Config::probe_lease), and a file or a slot that it was creating is finished by the next one.
//! Any bits that a damaged file may hold are safe: a word that is not a valid state is read as a closed breaker.
//!
//! # The file
//!
//! - It belongs in a directory of the service in `/run` (`RuntimeDirectory=` of systemd), or in `/dev/shm`: there
//!   nothing is ever written to a disk. It is created with mode 0600, without following a link, and with all its space
//!   reserved, so that a file system which fills up later does no harm.
//! - All processes that open it must agree on the rules, the clock, the capacity and the version of the format, and run
//!   as the same user on a machine with the same byte order. Otherwise opening it is a [`MappedError`] that names the
//!   file. The [seed](Config::seed) of the jitter may differ.
//! - A file from before a restart of the machine is replaced by a fresh one, closed, as its times no longer mean
//!   anything: [`MemoryOrigin::AfterRestart`].
//! - Removing the file separates the processes: those that have it open keep it, and later ones create a new one. Stop
//!   them all first.
//! - **Write access to the file is enough to end the processes that use it**: if it is truncated, the kernel sends `SIGBUS` to
//!   each process that touches it. Nothing can keep its owner (or root) from truncating it; mode 0600 keeps others out.
//!   Where that is too great a risk, [`for_forks`] needs no file.
//! - File systems shared between machines (NFS, SMB, Ceph and others) and those served by a program (FUSE, 9P) are
//!   rejected. In a container, a file in its own layers is visible to that container only: mount a directory of the
//!   host, and run as the same user. Another time namespace is rejected. So is another boot id while the file is in
//!   use, as some containers have a boot id of their own; later it is treated as a restart.
//!
//! # What is not shared
//!
//! Observers are notified of their own process's transitions only. The memory for a [failure
//! ratio](Config::failure_ratio) is not shared either, so such rules are rejected.
//!
//! The parts of `atomic-breaker-std` that breakers in memory need are re-exported here, so begin with this package
//! alone. There are no features.
#![cfg(all(unix, target_has_atomic = "64"))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![deny(unsafe_code)] // allowed in `memory.rs`

// The modules, in the order in which to read them:
// - `error`, `builder`: why there is no memory; the settings of both kinds
// - `memory`: memory as words, the only unsafe code
// - `machine_clock`, `layout`: a clock that all processes read alike; where each word is
// - `file`: a file that is opened, checked and made by one process at a time
// - `single`, `open`: one breaker, and the short way to it
// - `slot`, `slab`: one for each key

mod builder;
mod error;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod file;
mod layout;
mod machine_clock;
mod memory;
mod open;
mod single;
mod slab;
mod slot;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[doc(no_inline)]
pub use atomic_breaker_std::CoarseClock;
#[doc(no_inline)]
pub use atomic_breaker_std::{
    AnyBreaker, BootClock, Breaker, CallError, Cause, Clock, Config, ConfigError, ManualClock,
    Observer, OnTransition, Permit, Ratio, Rejected, Rules, SharedClock, Snapshot, State,
    Transition, Wait, word,
};
pub use builder::{KeyedWords, MappedBuilder, SingleWord};
pub use error::{MappedError, MappedErrorKind};
pub use machine_clock::MachineClock;
pub use open::for_forks;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use open::open;
pub use single::{MappedBreaker, MappedWord};
pub use slab::{MappedSlab, NoSlot, SlotBreaker};

/// The README, whose code is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// The origin of memory that processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryOrigin {
    /// This process created it.
    Created,
    /// The file was there already.
    Joined,
    /// This process created it in place of one from before a restart of the machine.
    AfterRestart,
    /// This process created it in place of one with other rules that no process used: `replace_unused` of the builders.
    AfterOtherRules,
}
