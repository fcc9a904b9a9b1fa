// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mapped memory as a slice of atomics: the only unsafe code in this package.
//!
//! Miri cannot map shared memory, so it runs nothing below; the tests run it with real processes. Whatever other
//! processes write there, any 64 bits are a valid `u64`, read and written as an atomic here.
#![expect(unsafe_code, reason = "maps memory; each block says why it is sound")]

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::unix::fs::MetadataExt;
use std::ptr::{NonNull, null_mut, slice_from_raw_parts_mut};

use atomic_breaker_std::word::AtomicU64;
use rustix::io;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Words shared with other processes, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    words: NonNull<[AtomicU64]>,
    /// Its lock shows other processes that the file is in use.
    file: Option<KeptOpen>,
}

/// A file that is open, closed when dropped if it still is that file.
#[derive(Debug)]
struct KeptOpen {
    file: ManuallyDrop<File>,
    /// Device and number.
    identity: Option<(u64, u64)>,
}

impl KeptOpen {
    fn new(file: File) -> Self {
        let identity = identity(&file);
        let file = ManuallyDrop::new(file);
        Self { file, identity }
    }
}

fn identity(file: &File) -> Option<(u64, u64)> {
    let found = file.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

impl Drop for KeptOpen {
    fn drop(&mut self) {
        // A daemon may have closed all descriptors after opening: by now another file or socket has the number.
        if self.identity.is_some() && identity(&self.file) == self.identity {
            // SAFETY: it is dropped here alone.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

// SAFETY: it is a slice of atomics, which any thread may use, and belongs to this value alone.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// The first `words` words of a file, which stays open for as long as they are mapped. Touching words beyond its end
    /// would end the process, so it must be that long, and stay so: see the documentation of the crate. Without a file,
    /// zeros that this process shares with those that it forks from now on.
    pub(crate) fn map(file: Option<File>, words: usize) -> io::Result<Self> {
        let bytes = mappable(words)?;
        let file = file.map(KeptOpen::new);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: no address is demanded, so the new mapping replaces no other.
        let start = unsafe {
            match &file {
                Some(file) => mmap(null_mut(), bytes, access, MapFlags::SHARED, &*file.file, 0),
                None => mmap_anonymous(null_mut(), bytes, access, MapFlags::SHARED),
            }
        }?;
        let words = NonNull::new(slice_from_raw_parts_mut(start.cast(), words));
        let words = words.expect("a mapping is not at address 0 unless demanded");
        Ok(Self { words, file })
    }

    /// Returns whether the file has no name any more.
    pub(crate) fn is_removed(&self) -> bool {
        let Some(kept) = &self.file else { return false };
        let found = kept.file.metadata();
        found.is_ok_and(|found| {
            // Otherwise a daemon has closed it: that says nothing.
            kept.identity == Some((found.dev(), found.ino())) && found.nlink() == 0
        })
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page, so it is aligned; it has that many words, and stays until this value is
        // dropped. All code in this process reaches it through this slice of atomics.
        unsafe { self.words.as_ref() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let bytes = self.words.len() * size_of::<AtomicU64>();
        // SAFETY: the mapping is this value's own, and no borrow of it outlives the value.
        let unmapped = unsafe { munmap(self.words.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "a whole mapping can be unmapped");
    }
}

/// The number of bytes to map: a slice has at most `isize::MAX`, which matters where pointers have 32 bits.
fn mappable(words: usize) -> io::Result<usize> {
    let bytes = words.checked_mul(size_of::<AtomicU64>());
    bytes
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or(io::Errno::NOMEM)
}
