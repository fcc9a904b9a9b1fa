// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that a path leads to a file that can be trusted.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fstatfs};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::geteuid;

use super::header::{FOREIGN, has_foreign_mark};
use crate::error::{MappedError, MappedErrorKind};

/// Only its owner reads and writes it.
const MODE: u32 = 0o600;

/// The file at the path, created if there is none. `None` if it appeared or vanished meanwhile.
pub(super) fn open_or_create(path: &Path) -> Result<Option<File>, MappedError> {
    // A pipe must not block this.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(flags.bits().cast_signed());
    match options.open(path) {
        Ok(file) => return no_standard_stream(file).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => (),
        Err(error) => return Err(why_not_opened(path, error)),
    }
    match options.create_new(true).mode(MODE).open(path) {
        Ok(file) => {
            // Whatever the umask of the process.
            complete(&file)?;
            no_standard_stream(file).map(Some)
        }
        // Not found above, yet it exists: usually another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(MappedError::io(
            "cannot be created, make its directory first",
            error,
        )),
        Err(error) => Err(MappedError::io("cannot be created", error)),
    }
}

/// In a program that was started without one of the standard streams, a file gets its number: what is logged would be
/// written over the breakers.
fn no_standard_stream(file: File) -> Result<File, MappedError> {
    const FIRST_OTHER: i32 = 3;
    if file.as_raw_fd() >= FIRST_OTHER {
        return Ok(file);
    }
    fcntl_dupfd_cloexec(&file, FIRST_OTHER)
        .map(File::from)
        .map_err(|error| MappedError::io("cannot be opened", error))
}

/// Sets the permissions of a new file.
fn complete(file: &File) -> Result<(), MappedError> {
    file.set_permissions(Permissions::from_mode(MODE))
        .map_err(|error| MappedError::io("its permissions cannot be set", error))
}

/// Names the obstacle, rather than the kernel's error number.
fn why_not_opened(path: &Path, error: io::Error) -> MappedError {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => MappedError::new(
            MappedErrorKind::NotTrusted,
            "is a symbolic link, which is not followed: use the path that it leads to",
        ),
        Ok(found) if !found.is_file() => MappedError::new(MappedErrorKind::NotTrusted, NOT_A_FILE),
        Ok(found) if error.kind() == ErrorKind::PermissionDenied => {
            if let Err(other) = owner(&found) {
                return other;
            }
            if found.mode() & 0o7777 != MODE {
                return mode(&found, None);
            }
            let text = "cannot be opened, although its owner and mode are right: perhaps it is immutable (`lsattr`), or SELinux, \
                AppArmor or the service manager forbids it; use another path";
            MappedError::io(text, error)
        }
        _ => MappedError::io("cannot be opened", error),
    }
}

const NOT_A_FILE: &str = "is not a regular file: use another path";

fn owner(found: &Metadata) -> Result<(), MappedError> {
    let (found, own) = (found.uid(), geteuid().as_raw());
    if found == own {
        return Ok(());
    }
    let text = format!(
        "belongs to user {found}, but this process runs as {own}: run all processes that share it as the same \
         user, or use another path"
    );
    Err(MappedError::new(MappedErrorKind::NotTrusted, text))
}

/// The file, if it can be read: a user who sets the mode of a wrong file as advised has changed it for nothing.
fn mode(found: &Metadata, file: Option<&File>) -> MappedError {
    let mode = found.mode() & 0o7777;
    let text = if file.is_some_and(has_foreign_mark) {
        format!("has mode {mode:04o}, and {FOREIGN}")
    } else {
        format!("has mode {mode:04o}: set 0600, so that only its owner reads and writes it")
    };
    MappedError::new(MappedErrorKind::NotTrusted, text)
}

/// The length of the file in bytes, if it can be trusted; `None` if it is no longer at the path.
pub(super) fn trusted(path: &Path, file: &File) -> Result<Option<u64>, MappedError> {
    let found = file.metadata().map_err(not_examined)?;
    if !found.is_file() {
        return Err(MappedError::new(MappedErrorKind::NotTrusted, NOT_A_FILE));
    }
    owner(&found)?;
    // Between its creation and the setting of its permissions.
    let is_new = found.len() == 0 && found.mode() & 0o7777 & !MODE == 0;
    if found.mode() & 0o7777 != MODE && !is_new {
        return Err(mode(&found, Some(file)));
    }
    if found.nlink() > 1 {
        return Err(MappedError::new(
            MappedErrorKind::NotTrusted,
            format!(
                "has {} names (hard links), through which others may reach it: remove it, or use another path",
                found.nlink()
            ),
        ));
    }
    if is_remote(file)? {
        return Err(MappedError::new(
            MappedErrorKind::NotTrusted,
            "is in a file system that is shared between machines or served by a program, where processes do not see the \
             same memory: use a path in /run or /dev/shm",
        ));
    }
    let is_there = fs::symlink_metadata(path)
        .is_ok_and(|there| (there.dev(), there.ino()) == (found.dev(), found.ino()));
    if is_there && is_new {
        // Its creator may have been killed; if not, it does the same.
        complete(file)?;
    }
    Ok(is_there.then_some(found.len()))
}

fn not_examined(error: io::Error) -> MappedError {
    MappedError::io("cannot be examined", error)
}

/// File systems in which two machines may map the same file, each with its own memory: numbers from Linux's
/// `statfs(2)`.
const REMOTE: [u32; 10] = [
    0x0000_6969, // NFS
    0x0000_517B, // SMB
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB 2
    0x0102_1997, // 9P
    0x00C3_6400, // Ceph
    0x6573_5546, // FUSE
    0x0BD0_0BD0, // Lustre
    0x4750_4653, // GPFS
    0x5346_414F, // AFS
];

#[expect(
    clippy::cast_sign_loss,
    reason = "the sign depends on the architecture; the 32 bits of the number do not"
)]
fn is_remote(file: &File) -> Result<bool, MappedError> {
    let found = fstatfs(file).map_err(|error| not_examined(error.into()))?;
    Ok(REMOTE.contains(&(found.f_type as u32)))
}
