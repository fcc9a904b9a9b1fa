// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens, creates and replaces files such that processes that do so at once agree, and one that is killed in between
//! holds up no other.
//!
//! A process that uses the file keeps a shared lock on it (`flock`), which the kernel releases when the last process
//! that has it ends. A process that writes the header, or removes the file, needs the lock exclusively, and looks again
//! once it has it. So
//!
//! - a file that is not complete, and that no process has locked, was left by a process that died: it is created again;
//! - a file that is no longer valid is never changed, but removed and created again, so that no mapping of it shrinks;
//! - a lock on a file that is no longer at the path is worthless: start again.

mod check;
mod header;
mod machine;

pub(crate) use header::{Expected, digest};
pub(crate) use machine::Machine;

use std::fs::{self, File};
use std::io::{self, Read};
use std::mem::forget;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::{Errno, retry_on_intr};

use crate::MemoryOrigin;
use crate::error::{MappedError, MappedErrorKind};
use crate::memory::Memory;
use check::{open_or_create, trusted};
use header::{Content, FOREIGN, Header};

/// The time to wait for other processes. They need a few system calls.
const PATIENCE: Duration = Duration::from_secs(2);
const ZEROS: [u8; 1 << 12] = [0; 1 << 12];
const PAUSE: Duration = Duration::from_millis(1);

/// The kind of an error, and what is said.
type ErrorText = (MappedErrorKind, &'static str);

const LOCKED: ErrorText = (
    MappedErrorKind::Busy,
    "has been locked by another process for 2 s, perhaps by one that was stopped while it wrote the file: let it go on \
     or end it (`fuser` names it), then try again",
);
const OTHER_BOOT: ErrorText = (
    MappedErrorKind::Disagreement,
    "is in use by processes that see another boot id, such as those of a container that has its own: use another path",
);
const OTHER_RULES: ErrorText = (
    MappedErrorKind::Disagreement,
    "was made with other rules than those of this process: give all the same configuration; after a change stop the \
     processes that use it and remove it, or set `replace_unused`",
);
const OTHER_RULES_IN_USE: ErrorText = (
    MappedErrorKind::Disagreement,
    "was made with other rules than those of this process, and is in use, so that it is not replaced: stop the \
     processes that use it (`fuser` names them), or use another path for other rules",
);

enum Step {
    Mapped(Memory),
    Made,
    /// The file cannot be used, for this reason.
    Removed(MemoryOrigin),
    /// Another process is busy with it: try again, but if that does not end, this is what is wrong.
    Wait(ErrorText),
}

const BUSY: Step = Step::Wait(LOCKED);

/// The memory of the file, and where it came from.
pub(crate) fn open(
    path: &Path,
    expected: &Expected,
    replace_unused: bool,
) -> Result<(Memory, MemoryOrigin), MappedError> {
    let begun = Instant::now();
    // The origin if this process makes the file.
    let mut reason = MemoryOrigin::Created;
    let mut origin = MemoryOrigin::Joined;
    loop {
        match step(path, expected, replace_unused)? {
            Step::Mapped(memory) => return Ok((memory, origin)),
            Step::Made => origin = reason,
            Step::Removed(why) => reason = why,
            Step::Wait(why) if begun.elapsed() > PATIENCE => {
                return Err(MappedError::new(why.0, why.1));
            }
            Step::Wait(_) => thread::sleep(PAUSE),
        }
    }
}

fn step(path: &Path, expected: &Expected, replace_unused: bool) -> Result<Step, MappedError> {
    let Some(file) = open_or_create(path)? else {
        return Ok(BUSY);
    };
    let Some(shared) = Locked::new(&file, FlockOperation::NonBlockingLockShared)? else {
        return Ok(BUSY);
    };
    let Some(content) = examine(path, &file, expected)? else {
        return Ok(BUSY);
    };
    if content == Content::Same {
        reserve(&file, expected.bytes()).map_err(no_room)?;
        shared.keep();
        return Memory::map(Some(file), expected.shape.words())
            .map(Step::Mapped)
            .map_err(|error| MappedError::io("cannot be mapped", error));
    }
    if content == Content::Stale(MemoryOrigin::AfterOtherRules) && !replace_unused {
        return Err(MappedError::new(OTHER_RULES.0, OTHER_RULES.1));
    }
    // Two processes that each waited for the other's shared lock would wait forever.
    drop(shared);
    let Some(_exclusive) = Locked::new(&file, FlockOperation::NonBlockingLockExclusive)? else {
        return Ok(match content {
            Content::Stale(MemoryOrigin::AfterRestart) => Step::Wait(OTHER_BOOT),
            Content::Stale(MemoryOrigin::AfterOtherRules) => Step::Wait(OTHER_RULES_IN_USE),
            _ => BUSY,
        });
    };
    if examine(path, &file, expected)? != Some(content) {
        return Ok(BUSY);
    }
    let why = match content {
        Content::Empty => return make(path, &file, expected).map(|()| Step::Made),
        Content::Zeros if !is_zero(&file)? => {
            return Err(MappedError::new(MappedErrorKind::Foreign, FOREIGN));
        }
        Content::Stale(why) => why,
        Content::Zeros | Content::Same => MemoryOrigin::Created,
    };
    match fs::remove_file(path) {
        Ok(()) => Ok(Step::Removed(why)),
        Err(error) => Err(MappedError::io(
            "cannot be replaced, remove it by hand",
            error,
        )),
    }
}

/// The content of the file; `None` if it is no longer the one at the path.
fn examine(path: &Path, file: &File, expected: &Expected) -> Result<Option<Content>, MappedError> {
    let Some(length) = trusted(path, file)? else {
        return Ok(None);
    };
    if length == 0 {
        return Ok(Some(Content::Empty));
    }
    let mut header = Header::default();
    read(file, header.as_flattened_mut(), 0)?;
    expected.compare(&header, length).map(Some)
}

/// Fills it with zeros, whose space is reserved so that no write into a mapping meets a full file system, and then with
/// the header.
fn make(path: &Path, mut file: &File, expected: &Expected) -> Result<(), MappedError> {
    let mut write = || {
        if !reserve(file, expected.bytes())? {
            // A file system without reservations: what was written has its space.
            io::copy(&mut io::repeat(0).take(expected.bytes()), &mut file)?;
        }
        expected.write(file)
    };
    write().map_err(|error| {
        // Leave nothing behind of what did not fit.
        let _ = fs::remove_file(path);
        no_room(error)
    })
}

/// Reserves the space, if the file system can; returns whether it could. Cheap if the space is already reserved.
fn reserve(file: &File, length: u64) -> io::Result<bool> {
    match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, length)) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn no_room(error: io::Error) -> MappedError {
    MappedError::io(
        "there is no room for it, free some or use fewer keys",
        error,
    )
}

/// Reads the whole file, so that no foreign data is removed. Only for the process that has the file exclusively:
/// processes that read side by side would each find it in use by the others.
fn is_zero(file: &File) -> Result<bool, MappedError> {
    let mut part = ZEROS;
    for at in (0..).step_by(part.len()) {
        match read(file, &mut part, at)? {
            0 => break,
            found if part[..found] != ZEROS[..found] => return Ok(false),
            _ => (),
        }
    }
    Ok(true)
}

/// Reads as many bytes as there are, and returns how many.
fn read(file: &File, bytes: &mut [u8], at: u64) -> Result<usize, MappedError> {
    let mut found = 0;
    while found < bytes.len() {
        match file.read_at(&mut bytes[found..], at + found as u64) {
            Ok(0) => break,
            Ok(more) => found += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(MappedError::io("cannot be read", error)),
        }
    }
    Ok(found)
}

/// A lock on a file, released when dropped. It is unlocked explicitly: a process that another thread forks meanwhile
/// has it as well, and would keep it for as long as it lives.
struct Locked<'a>(&'a File);

impl<'a> Locked<'a> {
    /// `None` if it is excluded by a lock held elsewhere.
    fn new(file: &'a File, operation: FlockOperation) -> Result<Option<Self>, MappedError> {
        match retry_on_intr(|| flock(file, operation)) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(MappedError::io("cannot be locked", error)),
        }
    }

    /// Keeps it for as long as the file is open, here and in processes that are forked.
    fn keep(self) {
        forget(self);
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}
