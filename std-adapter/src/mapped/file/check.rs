//! Whether a path leads to a file that can be trusted.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fstatfs};
use rustix::process::geteuid;

use super::fault::Fault;

/// Only its owner reads and writes it.
const RIGHTS: u32 = 0o600;

/// The file at the path, created if there is none. `None` if it appeared or vanished meanwhile.
pub(super) fn open_or_create(path: &Path) -> Result<Option<File>, Fault> {
    // A pipe must not block this.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(flags.bits().cast_signed());
    match options.open(path) {
        Ok(file) => return Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (),
        Err(error) => return Err(why_not_opened(path, error)),
    }
    match options.create_new(true).mode(RIGHTS).open(path) {
        Ok(file) => {
            // Whatever the umask of the process.
            let rights = file.set_permissions(Permissions::from_mode(RIGHTS));
            rights.map_err(|error| Fault::Io("its rights cannot be set", error))?;
            Ok(Some(file))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Not found above, yet it exists: usually another process was faster.
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Fault::Io(
            "cannot be created, make its directory first",
            error,
        )),
        Err(error) => Err(Fault::Io("cannot be created", error)),
    }
}

/// What stands in the way, rather than the kernel's error number.
fn why_not_opened(path: &Path, error: io::Error) -> Fault {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Fault::Io("cannot be opened", error);
    };
    let own = geteuid().as_raw();
    if found.is_symlink() {
        Fault::Link
    } else if !found.is_file() {
        Fault::NotAFile
    } else if error.kind() != io::ErrorKind::PermissionDenied {
        Fault::Io("cannot be opened", error)
    } else if found.uid() == own {
        Fault::Rights(found.mode() & 0o7777)
    } else {
        Fault::Owner {
            found: found.uid(),
            own,
        }
    }
}

/// The length of the file in bytes, if it can be trusted; `None` if it was unlinked meanwhile, or is still being
/// created.
pub(super) fn trusted(file: &File) -> Result<Option<u64>, Fault> {
    let found = metadata(file)?;
    let own = geteuid().as_raw();
    if !found.is_file() {
        return Err(Fault::NotAFile);
    }
    if found.uid() != own {
        return Err(Fault::Owner {
            found: found.uid(),
            own,
        });
    }
    if found.mode() & 0o7777 != RIGHTS {
        // Between its creation and the setting of its rights.
        if found.len() == 0 && found.mode() & 0o7777 & !RIGHTS == 0 {
            return Ok(None);
        }
        return Err(Fault::Rights(found.mode() & 0o7777));
    }
    match found.nlink() {
        0 => return Ok(None),
        1 => (),
        links => return Err(Fault::HardLinks(links)),
    }
    if is_remote(file)? {
        return Err(Fault::Remote);
    }
    Ok(Some(found.len()))
}

/// Whether the path still leads to this file.
pub(super) fn is_at(path: &Path, file: &File) -> Result<bool, Fault> {
    let own = metadata(file)?;
    Ok(fs::symlink_metadata(path)
        .is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())))
}

fn metadata(file: &File) -> Result<fs::Metadata, Fault> {
    file.metadata()
        .map_err(|error| Fault::Io("cannot be examined", error))
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
fn is_remote(file: &File) -> Result<bool, Fault> {
    let found = fstatfs(file).map_err(|error| Fault::Io("cannot be examined", error.into()))?;
    Ok(REMOTE.contains(&(found.f_type as u32)))
}
