//! What can be wrong with a file, and what to do about it.

use std::fmt;
use std::io;

use super::header::THIS_VERSION;
use crate::mapped::layout::Shape;

#[derive(Debug)]
pub(in crate::mapped) enum Fault {
    Io(&'static str, io::Error),
    Link,
    NotAFile,
    HardLinks(u64),
    Owner { found: u32, own: u32 },
    Rights(u32),
    Remote,
    Locked,
    Foreign,
    OtherByteOrder,
    OtherVersion(u64),
    OtherShape { found: (u64, u64), expected: Shape },
    OtherLength { found: u64, expected: u64 },
    OtherClock,
    OtherTimeNamespace,
    OtherRules,
    OtherBootInUse,
}

const REMOVE: &str = "stop the processes that use it and remove it, or take another path";

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(what, error) => write!(f, "{what}: {error}"),
            Self::Link => f.write_str(
                "is a symbolic link, which is not followed: take the path that it leads to",
            ),
            Self::NotAFile => f.write_str("is not a regular file: take another path"),
            Self::HardLinks(links) => write!(
                f,
                "has {links} names (hard links), through which others may reach it: remove it, or take another path"
            ),
            Self::Owner { found, own } => write!(
                f,
                "belongs to user {found}, and this process runs as {own}: run all processes that share it as the \
                 same user, or take another path"
            ),
            Self::Rights(mode) => write!(
                f,
                "has the rights {mode:04o}: set 0600, so that its owner alone reads and writes it"
            ),
            Self::Remote => f.write_str(
                "lies in a file system that machines share, or that a program serves, where processes do not see \
                 the same memory: take a path in /run or /dev/shm",
            ),
            Self::Locked => f.write_str(
                "is locked by another process for 2 s, which was perhaps stopped while it wrote the file: let it \
                 go on or end it (`fuser` names it), then try again",
            ),
            Self::Foreign => f.write_str("is not a file of breakers: take another path"),
            Self::OtherByteOrder => {
                write!(f, "was written by a program of another byte order: {REMOVE}")
            }
            Self::OtherVersion(version) => write!(
                f,
                "has version {version} of the format, and this program has {THIS_VERSION}: {REMOVE}"
            ),
            Self::OtherShape { found, expected } => {
                let expected = (expected.capacity.into(), expected.key_bytes.into());
                let (found, expected) = (Described(*found), Described(expected));
                write!(f, "holds {found}, and this process wants {expected}: {REMOVE}")
            }
            Self::OtherLength { found, expected } => write!(
                f,
                "was truncated or extended: it has {found} bytes and should have {expected}: {REMOVE}"
            ),
            Self::OtherClock => write!(
                f,
                "is timed by another clock than this process takes: take the same one everywhere, or another path"
            ),
            Self::OtherTimeNamespace => write!(
                f,
                "is used in another time namespace, where clocks read differently: take another path"
            ),
            Self::OtherRules => write!(
                f,
                "was made by other rules than those of this process: give all the same configuration; after a \
                 change {REMOVE}, or set `replace_unused`"
            ),
            Self::OtherBootInUse => write!(
                f,
                "is in use by processes that see another boot id, as in a container that has one of its own: take \
                 another path"
            ),
        }
    }
}

/// Keys that fit, and the bytes of each.
struct Described((u64, u64));

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            (0, _) => f.write_str("a single breaker"),
            (keys, bytes) => write!(f, "{keys} keys of up to {bytes} bytes"),
        }
    }
}
