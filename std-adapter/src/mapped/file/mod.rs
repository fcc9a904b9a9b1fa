//! How a file is opened, created and replaced, so that processes doing so at once agree, and one that is killed in
//! between holds up no other.
//!
//! A process that uses the file keeps a shared lock on it (`flock`), which the kernel releases when the last process
//! that has it ends. A process that writes the header, or removes the file, needs the lock exclusively, and looks again
//! once it has it. So
//!
//! - a file that is not complete, and that no process has locked, was left by a process that died: it is made again;
//! - a file that is no longer valid is never changed, but removed and made again, so that no mapping of it shrinks;
//! - a lock on a file that is no longer at the path is worthless: start again.

mod check;
mod digest;
mod fault;
mod header;
mod lock;
mod machine;
mod opening;

pub use opening::open;

use std::fs::{self, File};
use std::io;
use std::mem::discriminant;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate};
use rustix::io::Errno;

use super::Origin;
use super::memory::Memory;
use check::{is_at, open_or_create, trusted};
pub(super) use fault::Fault;
use header::{Content, Expected, HEADER_BYTES, Header};
use lock::Locked;

/// How long to wait for other processes. They need a few system calls.
const PATIENCE: Duration = Duration::from_secs(2);
const ZEROS: [u8; 1 << 12] = [0; 1 << 12];
const PAUSE: Duration = Duration::from_millis(1);

enum Step {
    Mapped(Memory),
    /// It was made, or removed: try again.
    Done(Option<Origin>),
    /// Another process is busy with it: try again, but if that does not end, this is the fault.
    Wait(Fault),
}

fn take_up(
    path: &Path,
    expected: &Expected,
    replace_unused: bool,
) -> Result<(Memory, Origin), Fault> {
    let begun = Instant::now();
    // The origin if this process makes the file.
    let mut reason = Origin::Created;
    let mut origin = Origin::Joined;
    loop {
        match step(path, expected, replace_unused)? {
            Step::Mapped(memory) => return Ok((memory, origin)),
            Step::Done(Some(replaced)) => reason = replaced,
            Step::Done(None) => origin = reason,
            Step::Wait(why) if begun.elapsed() > PATIENCE => return Err(why),
            Step::Wait(_) => thread::sleep(PAUSE),
        }
    }
}

fn step(path: &Path, expected: &Expected, replace_unused: bool) -> Result<Step, Fault> {
    let Some(file) = open_or_create(path)? else {
        return Ok(Step::Wait(Fault::Locked));
    };
    let Some(shared) = Locked::new(&file, FlockOperation::NonBlockingLockShared)? else {
        return Ok(Step::Wait(Fault::Locked));
    };
    let Some(content) = examine(path, &file, expected)? else {
        return Ok(Step::Wait(Fault::Locked));
    };
    let replaced = match content {
        Content::Same => {
            reserve(&file, expected.bytes())?;
            let memory = map(&file, expected)?;
            shared.keep();
            return Ok(Step::Mapped(memory.keep_open(file)));
        }
        Content::Empty => None,
        Content::Zeros | Content::Unfinished => Some(Origin::Created),
        Content::OfAnotherBoot => Some(Origin::AfterRestart),
        Content::OfOtherRules if replace_unused => Some(Origin::AfterOtherRules),
        Content::OfOtherRules => return Err(Fault::OtherRules),
    };
    // Two processes that each waited for the other's shared lock would wait forever.
    drop(shared);
    let Some(_exclusive) = Locked::new(&file, FlockOperation::NonBlockingLockExclusive)? else {
        return Ok(Step::Wait(match content {
            Content::OfAnotherBoot => Fault::OtherBootInUse,
            Content::OfOtherRules => Fault::OtherRules,
            _ => Fault::Locked,
        }));
    };
    let Some(again) = examine(path, &file, expected)? else {
        return Ok(Step::Wait(Fault::Locked));
    };
    if discriminant(&again) != discriminant(&content) {
        return Ok(Step::Wait(Fault::Locked));
    }
    if matches!(content, Content::Zeros) && !is_zero(&file)? {
        return Err(Fault::Foreign);
    }
    match replaced {
        None => make(path, &file, expected).map(|()| Step::Done(None)),
        Some(origin) => match fs::remove_file(path) {
            Ok(()) => Ok(Step::Done(Some(origin))),
            Err(error) => Err(Fault::Io("cannot be replaced, remove it by hand", error)),
        },
    }
}

/// What is in the file; `None` if it is no longer the one at the path.
fn examine(path: &Path, file: &File, expected: &Expected) -> Result<Option<Content>, Fault> {
    let Some(length) = trusted(file)? else {
        return Ok(None);
    };
    if !is_at(path, file)? {
        return Ok(None);
    }
    if length == 0 {
        return Ok(Some(Content::Empty));
    }
    let mut header = Header([0; HEADER_BYTES]);
    read(file, &mut header.0, 0)?;
    if header.is_zero() {
        return Ok(Some(Content::Zeros));
    }
    header.content(length, expected).map(Some)
}

fn make(path: &Path, file: &File, expected: &Expected) -> Result<(), Fault> {
    let made = fill(file, expected.bytes()).and_then(|()| map(file, expected));
    match made {
        Ok(memory) => {
            header::write(memory.words(), expected);
            Ok(())
        }
        Err(error) => {
            // Leave nothing behind of what did not fit.
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}

fn map(file: &File, expected: &Expected) -> Result<Memory, Fault> {
    Memory::of_file(file, expected.shape.words())
        .map_err(|error| Fault::Io("cannot be mapped", error.into()))
}

/// Fills it with zeros and reserves the space for them, so that no write into the mapping meets a full file system.
fn fill(file: &File, length: u64) -> Result<(), Fault> {
    if reserve(file, length)? {
        return Ok(());
    }
    // A file system without reservations: what was written has its space.
    let mut at = 0;
    while at < length {
        let part = (length - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..part as usize], at)
            .map_err(no_room)?;
        at += part;
    }
    Ok(())
}

/// Reserves the space, if the file system can; returns whether it could. Cheap if the space is already reserved.
fn reserve(file: &File, length: u64) -> Result<bool, Fault> {
    loop {
        return match fallocate(file, FallocateFlags::empty(), 0, length) {
            Ok(()) => Ok(true),
            Err(Errno::INTR) => continue,
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(no_room(error.into())),
        };
    }
}

fn no_room(error: io::Error) -> Fault {
    Fault::Io(
        "there is no room for it, free some or take fewer keys",
        error,
    )
}

/// Reads the whole file, so that no foreign data is removed. Only for the process that has the file exclusively:
/// processes that read side by side would each find it in use by the others.
fn is_zero(file: &File) -> Result<bool, Fault> {
    let mut part = ZEROS;
    for at in (0..).step_by(part.len()) {
        let found = read(file, &mut part, at)?;
        if part[..found] != ZEROS[..found] {
            return Ok(false);
        }
        if found < part.len() {
            break;
        }
    }
    Ok(true)
}

/// Reads as many bytes as there are, and returns how many.
fn read(file: &File, bytes: &mut [u8], at: u64) -> Result<usize, Fault> {
    let mut found = 0;
    while found < bytes.len() {
        match file.read_at(&mut bytes[found..], at + found as u64) {
            Ok(0) => break,
            Ok(more) => found += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(Fault::Io("cannot be read", error)),
        }
    }
    Ok(found)
}
