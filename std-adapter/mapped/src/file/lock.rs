//! Locks on files, which the kernel releases when a process dies.

use std::fs::File;
use std::mem::forget;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use crate::MappedError;

/// A lock on a file, released when dropped. It is unlocked explicitly: a process that another thread forks meanwhile
/// has it as well, and would keep it for as long as it lives.
pub(super) struct Locked<'a>(&'a File);

impl<'a> Locked<'a> {
    /// `None` if it is excluded by a lock held elsewhere.
    pub(super) fn new(
        file: &'a File,
        operation: FlockOperation,
    ) -> Result<Option<Self>, MappedError> {
        match retry_on_intr(|| flock(file, operation)) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(MappedError::io("cannot be locked", error)),
        }
    }

    /// Keeps it for as long as the file is open, here and in processes that are forked.
    pub(super) fn keep(self) {
        forget(self);
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}
